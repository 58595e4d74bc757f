/**
 * The conflicts of two-way tables in the bookkeeping. Losers are kept permanently: a cell as SQLite holds it, a whole row as a JSON object of its
 * columns. Input: conflicts of the merge. Output: lines of `sync_conflicts`.
 */
import { must } from '../base/assert.ts';
import { sql } from '../base/sql.ts';
import type { TwoWayTable } from './table.ts';
import type { Conflict } from '../reconcile/merge.ts';
import type { Resolution } from '../replica/bookkeeping/conflicts.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { readKeptRow } from '../replica/kept-rows.ts';
import { queryNumbers, queryRows } from '../replica/query.ts';
import { evidenceText, type Stored, storedFromValue, valueFromStored } from '../replica/rows.ts';
import type { Row, Value } from '../wire/schema.ts';
import { addConflict, closeQuestion, updateQuestion } from '../replica/bookkeeping/conflicts.ts';

/** open: waits for a person · decided: by the policy · settled: both sides agree · resolved, discarded: by a person. */
export type ConflictState = 'open' | 'decided' | 'settled' | 'resolved' | 'discarded';

/** A conflict as it is kept. */
export interface StoredConflict {
  readonly id: number;
  readonly tableId: number;
  readonly rowId: number;
  readonly kind: Conflict['kind'] | 'inserted';
  readonly columnSeq: number | null;
  readonly base: Stored;
  readonly local: Stored;
  readonly remote: Stored;
  readonly state: ConflictState;
  readonly resolution: Resolution | null;
  readonly value: Stored;
}

interface NewConflict {
  readonly rowId: number;
  readonly kind: StoredConflict['kind'];
  /** Index in the table's columns; null for whole rows. */
  readonly column: number | null;
  readonly base: Stored;
  readonly local: Stored;
  readonly remote: Stored;
  readonly winner: Conflict['winner'];
}

/** Keeps the conflicts of a merged row. An open conflict is updated instead. */
export function storeConflicts(
  tx: Tx,
  table: TwoWayTable,
  found: {
    readonly rowId: number;
    readonly conflicts: readonly Conflict[];
    readonly at: string;
  },
): void {
  for (const conflict of found.conflicts) {
    const parts = partsOf(table, conflict);
    const line = { rowId: found.rowId, kind: conflict.kind, winner: conflict.winner, ...parts };
    const isAsked = conflict.winner === 'nobody';
    if (isAsked && updateOpen(tx, table, line)) continue;
    // A policy decided what a person was asked before.
    if (!isAsked) closeQuestion(tx, { tableId: table.id, rowId: line.rowId, seq: columnOf(table, line).seq });
    insertConflict(tx, table, line, { state: isAsked ? 'open' : 'decided', at: found.at });
  }
}

/**
 * Keeps the discarded edits of a row: a line per cell, or one for the row. `sent` is the text of its sent values. For a new row that was deleted here
 * while in doubt, this is the only record.
 */
export function storeDiscarded(
  tx: Tx,
  table: TwoWayTable,
  row: {
    readonly rowId: number;
    readonly base: Row | null;
    readonly local: Row | null;
    readonly columns: readonly number[];
    readonly sent?: Stored;
  },
  at: string,
): void {
  const { rowId, base, local, sent = null } = row;
  const keep = (line: Omit<NewConflict, 'rowId' | 'winner'>): void =>
    insertConflict(tx, table, { ...line, rowId, winner: 'origin' }, { state: 'discarded', at });
  const text = (kept: Row | null): Stored => (kept === null ? null : evidenceText(table, kept));
  if (base === null) {
    const own = local === null ? sent : text(local);
    keep({ kind: 'inserted', column: null, base: null, local: own, remote: null });
  } else if (local === null)
    keep({ kind: 'deletedHere', column: null, base: text(base), local: null, remote: text(base) });
  else {
    for (const column of row.columns) {
      const before = cell(base, column);
      keep({ kind: 'cell', column, base: before, local: cell(local, column), remote: before });
    }
  }
}

function partsOf(table: TwoWayTable, conflict: Conflict): Pick<NewConflict, 'column' | 'base' | 'local' | 'remote'> {
  if (conflict.kind === 'cell') {
    const { column, base, local, remote } = conflict;
    return {
      column,
      base: storedFromValue(base),
      local: storedFromValue(local),
      remote: storedFromValue(remote),
    };
  }
  if (conflict.kind === 'deletedHere') {
    const [base, remote] = [evidenceText(table, conflict.base), evidenceText(table, conflict.remote)];
    return { column: null, base, local: null, remote };
  }
  const [base, local] = [evidenceText(table, conflict.base), evidenceText(table, conflict.local)];
  return { column: null, base, local, remote: null };
}

function cell(row: Row, column: number): Stored {
  return storedFromValue(row.values[column] ?? null);
}

function columnOf(table: TwoWayTable, { column }: NewConflict): { seq: number | null; name: string | null } {
  const found = column === null ? undefined : table.columns[column];
  return { seq: found?.seq ?? null, name: found?.localName ?? null };
}

function insertConflict(
  tx: Tx,
  table: TwoWayTable,
  line: NewConflict,
  { state, at }: { readonly state: ConflictState; readonly at: string },
): void {
  const { seq, name } = columnOf(table, line);
  addConflict(tx, {
    tableId: table.id,
    tableName: table.localName,
    rowId: line.rowId,
    kind: line.kind,
    seq,
    name,
    base: line.base,
    local: line.local,
    remote: line.remote,
    winner: line.winner,
    at,
    state,
  });
}

/** The origin's value changed while a person was asked: the question stays, with its base. */
function updateOpen(tx: Tx, table: TwoWayTable, line: NewConflict): boolean {
  return updateQuestion(tx, {
    tableId: table.id,
    rowId: line.rowId,
    seq: columnOf(table, line).seq,
    kind: line.kind,
    local: line.local,
    remote: line.remote,
  });
}

const CONFLICT_COLUMNS = sql`id, table_id, row_id, kind, column_seq, base, local, remote, state, resolution, value`;

/** One conflict, or null. */
export function readConflict(from: Connection, id: number): StoredConflict | null {
  const text = sql`SELECT ${CONFLICT_COLUMNS} FROM _rowsync_conflicts WHERE id = ?`;
  const [row] = queryRows(from, text, [id]);
  return row === undefined ? null : conflictFromRow(row);
}

/** Conflicts of a table that a person decided by SQL and that are not carried out yet, oldest first. */
export function readRequests(from: Connection, tableId: number): readonly StoredConflict[] {
  const text = sql`SELECT ${CONFLICT_COLUMNS} FROM _rowsync_conflicts
      WHERE table_id = +? AND requested = 1 AND resolution IS NOT NULL ORDER BY id`;
  return queryRows(from, text, [tableId]).map(conflictFromRow);
}

/**
 * The values of a row that was kept as a JSON object, in the order of the table's columns. Removed columns are left out, and later ones have the
 * value that the origin confirmed.
 */
export function keptValues(tx: Tx, table: TwoWayTable, text: string, base: Row | null): readonly Value[] {
  const kept = readKeptRow(tx, text);
  return table.columns.map(({ localName, type }, index) => {
    const stored = kept.get(localName);
    return stored === undefined ? (base?.values[index] ?? null) : valueFromStored(stored, type);
  });
}

/** Ids of the tables with such decisions, including pruned tables. */
export function readRequestTables(from: Connection): readonly number[] {
  const text = sql`SELECT DISTINCT table_id FROM _rowsync_conflicts WHERE requested = 1 AND resolution IS NOT NULL`;
  return queryNumbers(from, text, []);
}

function conflictFromRow(row: readonly Stored[]): StoredConflict {
  const [id, tableId, rowId, kind, columnSeq, base, local, remote, state, resolution, value] = row;
  const oneOf = <T extends string>(known: readonly T[], text: Stored | undefined): T =>
    must(
      known.find((name) => name === text),
      'the bookkeeping allows these words only',
    );
  return {
    id: Number(id),
    tableId: Number(tableId),
    rowId: Number(rowId),
    kind: oneOf(['cell', 'deletedHere', 'deletedThere', 'inserted'], kind),
    columnSeq: columnSeq === null ? null : Number(columnSeq),
    base: base ?? null,
    local: local ?? null,
    remote: remote ?? null,
    state: oneOf(['open', 'decided', 'settled', 'resolved', 'discarded'], state),
    resolution: resolution === null ? null : oneOf<Resolution>(['local', 'remote', 'base', 'value'], resolution),
    value: value ?? null,
  };
}
