/**
 * The conflicts of two-way tables in the bookkeeping. Losers are kept permanently: a cell as SQLite holds it, a whole row as a JSON object of its
 * columns. `sync_conflicts` shows them.
 */
import { oneOf } from '../base/assert.ts';
import type { ConflictKind, KeptConflict, OpenQuestion } from '../reconcile/outcome.ts';
import { sql, type Sql } from '../base/sql.ts';
import type { TwoWayTable } from './table.ts';
import type { Resolution } from '../replica/bookkeeping/conflicts.ts';
import type { Connection, Tx, Stored } from '../replica/connection.ts';
import { readKeptRow } from '../replica/kept-rows.ts';
import { queryNumbers, queryRows } from '../replica/query.ts';
import { evidenceText, storedFromValue, valueFromStored } from '../replica/rows.ts';
import type { Row, Value } from '../wire/schema.ts';
import { addConflict, renewQuestion } from '../replica/bookkeeping/conflicts.ts';

/** open: waits for a person · decided: by the policy · settled: both sides agree · resolved, discarded: by a person. */
type ConflictState = 'open' | 'decided' | 'settled' | 'resolved' | 'discarded';

/** A conflict as it is kept. */
export interface StoredConflict extends Readonly<Record<'base' | 'local' | 'remote', Stored>> {
  readonly id: number;
  readonly tableId: number;
  readonly rowId: number;
  readonly kind: ConflictKind;
  readonly columnSeq: number | null;
  readonly state: ConflictState;
  readonly resolution: Resolution | null;
  readonly value: Stored;
}

/** Open questions about rows, by row. */
export function readOpenQuestions(
  from: Connection,
  table: TwoWayTable,
  ids: readonly number[],
): ReadonlyMap<number, OpenQuestion[]> {
  const text = sql`SELECT id, row_id, kind, column_seq FROM _rowsync_conflicts
      WHERE table_id = ? AND state = 'open' AND row_id IN (SELECT value FROM json_each(?)) ORDER BY id`;
  const byRow = new Map<number, OpenQuestion[]>();
  for (const [id, rowId, kind, seq] of queryRows(from, text, [table.id, JSON.stringify(ids)])) {
    const column = seq === null ? null : table.columns.findIndex((known) => known.seq === Number(seq));
    const question = { id: Number(id), kind: oneOf(CONFLICT_KINDS, kind), column };
    const known = byRow.get(Number(rowId));
    if (known === undefined) byRow.set(Number(rowId), [question]);
    else known.push(question);
  }
  return byRow;
}

/** Keeps lines about a row; one that renews an open question changes its versions, and keeps its base. */
export function keepConflicts(
  tx: Tx,
  table: TwoWayTable,
  { rowId, lines, at }: { readonly rowId: number; readonly lines: readonly KeptConflict[]; readonly at: string },
): void {
  const textOf = (side: Row | Value): Stored =>
    typeof side === 'object' && side !== null ? evidenceText(table, side) : storedFromValue(side);
  for (const { kind, column, winner, state, renews, ...sides } of lines) {
    const [base, local, remote] = [textOf(sides.base), textOf(sides.local), textOf(sides.remote)];
    if (renews !== null) {
      renewQuestion(tx, renews, { local, remote });
      continue;
    }
    const { seq = null, localName: name = null } = (column === null ? null : table.columns[column]) ?? {};
    const versions = { base, local, remote };
    addConflict(tx, {
      tableId: table.id,
      tableName: table.localName,
      rowId,
      kind,
      seq,
      name,
      ...versions,
      winner,
      at,
      state,
    });
  }
}

const CONFLICT_COLUMNS = sql`id, table_id, row_id, kind, column_seq, base, local, remote, state, resolution, value`;

/** One conflict, or null. */
export function readConflict(from: Connection, id: number): StoredConflict | null {
  const text = sql`SELECT ${CONFLICT_COLUMNS} FROM _rowsync_conflicts WHERE id = ?`;
  return queryConflicts(from, text, id)[0] ?? null;
}

/** Conflicts of a table that a person decided by SQL and that are not carried out yet, oldest first. */
export function readRequests(from: Connection, tableId: number): readonly StoredConflict[] {
  const text = sql`SELECT ${CONFLICT_COLUMNS} FROM _rowsync_conflicts
      WHERE table_id = +? AND requested = 1 AND resolution IS NOT NULL ORDER BY id`;
  return queryConflicts(from, text, tableId);
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

const CONFLICT_KINDS = ['cell', 'deletedHere', 'deletedThere', 'inserted'] as const;

function queryConflicts(from: Connection, text: Sql, bound: number): readonly StoredConflict[] {
  return queryRows(from, text, [bound]).map(([id, tableId, rowId, kind, seq, ...rest]): StoredConflict => {
    const [base = null, local = null, remote = null, state, resolution, value = null] = rest;
    return {
      id: Number(id),
      tableId: Number(tableId),
      rowId: Number(rowId),
      kind: oneOf(CONFLICT_KINDS, kind),
      columnSeq: seq === null ? null : Number(seq),
      base,
      local,
      remote,
      state: oneOf(['open', 'decided', 'settled', 'resolved', 'discarded'], state),
      resolution: resolution === null ? null : oneOf<Resolution>(['local', 'remote', 'base', 'value'], resolution),
      value,
    };
  });
}
