/**
 * What users edited, found by comparing each two-way table with its base. Marks say where to look; where they may miss something
 * (another client dropped a trigger, a new process begins, a unique index of the user's lets REPLACE remove rows unseen), all
 * rows are compared. This is the interface that push stands on:
 *
 *   captureChanges    makes the marks true; in one transaction, before anything is planned
 *   readChanges       the changes cell by cell, a block of rows at a time
 *   settleRows    what the origin says of rows of a push (settle.ts)    moveRows    everything else that happens (marks.ts)
 */
import { must } from '../base/assert.ts';
import { isChanged } from '../reconcile/merge.ts';
import { isSameValue } from '../reconcile/diff.ts';
import { isInFlight, nextRowState, ROW_STATES, type RowState } from '../reconcile/row-state.ts';
import { areMarksReliable, baseTarget, dropEqualMarks, markDiffering, readForeignIds } from '../replica/compare.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { readTable, storeCompareDue, storeCreatesDoubted } from '../replica/ledger.ts';
import { distrustMirrors } from '../replica/mirrors.ts';
import { BLOCK_ROWS, blocks, queryNumbers, queryRows } from '../replica/query.ts';
import { readRowsById, writeRows } from '../replica/rows.ts';
import { anyOf, ident, isOther, joinSql, literal, sql, type Sql } from '../replica/sql.ts';
import { baseName, isStrict, requireShape } from '../replica/tables.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { forgetSentCells, readBatches } from './batches.ts';
import { isKeptOfNew, storeConflicts } from './conflicts.ts';
import { doubtCreates } from './doubt.ts';
import { hasMarks, moveRows, readRowStates, renumberRow, takeLocalId } from './marks.ts';
import { settleQuestions } from './questions.ts';
import { readOvertakenRefusals } from './refusals.ts';
import { readRawTexts, writeKeepingRaw } from './raw-text.ts';
import { cellName, missingRule, valueRules, type CellRule } from './rules.ts';
import type { TwoWayColumn, TwoWayTable } from './table.ts';

/** What became of one row: inserted (no base), updated, or deleted (no local). */
export interface RowChange {
  readonly rowId: number;
  readonly kind: 'insert' | 'update' | 'delete';
  /** Only `edited` rows may be sent. */
  readonly state: RowState;
  readonly base: Row | null;
  readonly local: Row | null;
  /** Indexes of the writable cells that differ from base; of an insert those that have a value. */
  readonly columns: readonly number[];
  /** Why the origin would refuse values that came in around the triggers; without the values. */
  readonly problems: readonly string[];
}

/**
 * Makes the marks of a table true: every row that differs from its base has one, and no other row is edited.
 * @throws RowsyncError `replica.schema` where another client gave the table a shape in which edits cannot be told.
 */
export function captureChanges(tx: Tx, table: TwoWayTable, at: string): void {
  requireShape(tx, table);
  const { compareDue, doubtCreatesFrom } = readTable(tx, table.id);
  if (compareDue || !areMarksReliable(tx, table)) {
    tx.countUncaptured(markDiffering(tx, table, at));
    moveRows(tx, table.id, readOvertakenRefusals(tx, table), { event: 'localEdit', at });
    storeCompareDue(tx, table.id, false);
  }
  const isMarked = hasMarks(tx, table.id);
  const renumbered = isMarked ? readForeignIds(tx, table).map((id) => renumberForeign(tx, table, id)) : [];
  if (doubtCreatesFrom !== null) {
    doubtCreates(tx, table, { from: doubtCreatesFrom, renumbered, at });
    storeCreatesDoubted(tx, table.id);
  }
  if (isMarked) {
    dropEqualMarks(tx, table, SETTLING);
    for (const ids of blocks(readUnwritableEdits(tx, table))) putBack(tx, table, ids, at);
  }
  settleQuestions(tx, table, at);
}

/** States of rows whose mark goes when they turn out equal to base; those in flight are settled by their answer. */
const SETTLING = ROW_STATES.filter((state) => !isInFlight(state) && nextRowState(state, 'settled') === 'clean');

/** A row that another client put under an id of the origin's, around the triggers, becomes a new row like any other. */
function renumberForeign(tx: Tx, table: TwoWayTable, id: number): number {
  const newId = takeLocalId(tx, table.id);
  tx.prepare(sql`UPDATE ${ident(table.localName)} SET _id = ?, _allow = NULL WHERE _id = ?`).run(newId, id);
  distrustMirrors(tx);
  renumberRow(tx, table.id, id, newId);
  return newId;
}

/**
 * Gives ids of ours to rows that another client put, around the triggers, under ids that the origin has given to other rows
 * since; they go on as new rows. Called with ids that the origin says rows have, before these are written. Returns whether
 * there were any.
 */
export function makeRoom(tx: Tx, table: TwoWayTable, ids: readonly number[], at: string): boolean {
  const foreign = readVersions(tx, table, ids).filter(
    ({ rowId, base, local }) => rowId > 0 && base === null && local !== null,
  );
  for (const { rowId } of foreign)
    moveRows(tx, table.id, [renumberForeign(tx, table, rowId)], { event: 'localEdit', at });
  return foreign.length > 0;
}

/** Marked rows with an edit that cannot be pushed at all, or with a value that was only spelled in another way. */
function readUnwritableEdits(from: Connection, table: TwoWayTable): readonly number[] {
  const differing = table.columns.flatMap(({ localName, writable, type }) => {
    const [here, base] = [sql`l.${ident(localName)}`, sql`b.${ident(localName)}`];
    if (!writable) return [isOther(here, base)];
    const canBeSame = respelled(type, here, base);
    return canBeSame === null ? [] : [sql`(${canBeSame} AND ${isOther(here, base)})`];
  });
  const text = sql`SELECT r.row_id FROM _rowsync_rows r JOIN ${ident(table.localName)} l ON l._id = r.row_id
      JOIN ${ident(baseName(table.id))} b ON b._id = r.row_id
      WHERE r.table_id = ? AND r.state NOT IN ('sending', 'unknown')
        AND ${anyOf([sql`l._allow IS NOT b._allow`, ...differing])}`;
  return queryNumbers(from, text, [table.id]);
}

/** Where two stored values that differ may be one value (`valueFromStored`); null for types that have one spelling of each. */
function respelled(type: ColumnType, here: Sql, base: Sql): Sql | null {
  switch (type) {
    case 'Numeric':
    case 'Duration':
      return sql`'text' IN (typeof(${here}), typeof(${base}))`;
    case 'Timestamp':
      return sql`instr(${here}, '.') > 0`;
    case 'Multiline':
      return sql`instr(${here}, char(13)) > 0`;
    default:
      return null;
  }
}

/** Puts cells that nobody may write back to base; what stood in them is kept like any loser of a conflict. */
function putBack(tx: Tx, table: TwoWayTable, ids: readonly number[], at: string): void {
  for (const { rowId, base, local } of readVersions(tx, table, ids)) {
    if (base === null || local === null) continue; // whole rows have no such cells
    const conflicts = table.columns.flatMap(({ type, writable }, column) => {
      const before = base.values[column] ?? null;
      const here = local.values[column] ?? null;
      if (writable || isSameValue(type, before, here)) return [];
      return [{ kind: 'cell', column, base: before, local: here, remote: before, winner: 'origin' } as const];
    });
    storeConflicts(tx, table, { rowId, conflicts, at });
    const values = table.columns.map(({ type, writable }, column) => {
      const before = base.values[column] ?? null;
      const here = local.values[column] ?? null;
      return !writable || isSameValue(type, before, here) ? before : here;
    });
    const row = { id: rowId, allow: base.allow, values };
    writeKeepingRaw(tx, table, row, readRawTexts(tx, table, local));
    if (!isChanged(base, row, table.columns)) moveRows(tx, table.id, [rowId], { event: 'settled', at });
  }
}

/**
 * Gives up the edits of columns that the origin no longer shows, or shows in another form: they can never be pushed. Each value is
 * kept in `sync_conflicts`, and the cell is put back to what the origin last confirmed; a row that only stands here keeps it.
 * Called before the columns (by `seq`) change, since both tables still have them under their names.
 */
export function giveUpColumns(tx: Tx, table: TwoWayTable, lost: ReadonlySet<number>, at: string): void {
  const indexes = table.columns.flatMap(({ seq }, index) => (lost.has(seq) ? [index] : []));
  const differing = indexes.map((index) => {
    const name = ident(columnAt(table, index).localName);
    return isOther(sql`l.${name}`, sql`b.${name}`);
  });
  if (differing.length === 0) return;
  const text = sql`SELECT l._id FROM ${ident(table.localName)} l LEFT JOIN ${ident(baseName(table.id))} b ON b._id = l._id
      WHERE ${anyOf(differing)}`;
  confirmTaken(tx, table, indexes);
  const columnsByRow = new Map<number, ReadonlySet<number>>();
  const sentByRow = readSentCells(tx, table, indexes);
  for (const ids of blocks([...new Set([...queryNumbers(tx, text, []), ...sentByRow.keys()])])) {
    const states = readRowStates(tx, table.id, ids);
    for (const { rowId, base, local } of readVersions(tx, table, ids)) {
      if (local === null) continue; // deleted here since it was sent
      const conflicts = indexes.flatMap((column) => {
        const confirmed = base?.values[column] ?? null;
        const here = local.values[column] ?? null;
        const { type } = columnAt(table, column);
        // Put back since it was sent, it is an edit of what is on its way.
        const before = isSameValue(type, confirmed, here) ? sentByRow.get(rowId)?.get(column) : confirmed;
        if (before === undefined || isSameValue(type, before, here)) return [];
        // It stays in the row, and the column may be hidden again and again.
        if (base === null && isKeptOfNew(tx, table, { rowId, column, local: here })) return [];
        return [{ kind: 'cell', column, base: before, local: here, remote: before, winner: 'origin' } as const];
      });
      storeConflicts(tx, table, { rowId, conflicts, at });
      // That may have been the cell that was wrong.
      if (states.get(rowId) === 'refused') moveRows(tx, table.id, [rowId], { event: 'localEdit', at });
      if (base === null || conflicts.length === 0) continue;
      const values = local.values.map((value, column) =>
        indexes.includes(column) ? (base.values[column] ?? null) : value,
      );
      writeKeepingRaw(tx, table, { ...local, values }, readRawTexts(tx, table, local));
      columnsByRow.set(rowId, new Set(conflicts.map(({ column }) => column)));
    }
  }
  if (columnsByRow.size > 0) forgetSentCells(tx, table, columnsByRow);
}

/** What the origin has taken of some columns is what it confirmed last of a row that it knew, though nobody could ask for it since. */
function confirmTaken(tx: Tx, table: TwoWayTable, indexes: readonly number[]): void {
  const base = baseTarget(table);
  for (const { id, cells, answer } of readBatches(tx, table).flatMap(({ rows }) => rows)) {
    if (answer?.as !== 'accepted' || answer.id !== id) continue;
    const taken = new Map(
      cells.flatMap(({ column, value, file }) =>
        file === undefined && indexes.includes(column) ? [[column, value]] : [],
      ),
    );
    const confirmed = taken.size === 0 ? [] : readRowsById(tx, base, [id]);
    writeRows(
      tx,
      base,
      confirmed.map((row) => ({
        ...row,
        values: row.values.map((value, index) => taken.get(index) ?? (taken.has(index) ? null : value)),
      })),
    );
  }
}

/** What is on its way of some columns, but for files: values by row and column. */
function readSentCells(
  from: Connection,
  table: TwoWayTable,
  indexes: readonly number[],
): ReadonlyMap<number, ReadonlyMap<number, Value>> {
  const rows = readBatches(from, table).flatMap((batch) => batch.rows);
  return new Map(
    rows.flatMap(({ id, cells, answer }): [number, ReadonlyMap<number, Value>][] => {
      if (answer?.as === 'look') return []; // not found there, so nothing of it is on its way
      const lost = cells.filter(({ column, file }) => file === undefined && indexes.includes(column));
      return lost.length === 0 ? [] : [[id, new Map(lost.map(({ column, value }) => [column, value]))]];
    }),
  );
}

function columnAt({ columns }: TwoWayTable, index: number): TwoWayColumn {
  return must(columns[index], 'an index of a column');
}

/** Base and local of rows, in the order of the ids. */
export function readVersions(
  from: Connection,
  table: TwoWayTable,
  ids: readonly number[],
): readonly { readonly rowId: number; readonly base: Row | null; readonly local: Row | null }[] {
  const localById = new Map(readRowsById(from, table, ids).map((row) => [row.id, row]));
  const baseById = new Map(readRowsById(from, baseTarget(table), ids).map((row) => [row.id, row]));
  return ids.map((rowId) => ({ rowId, base: baseById.get(rowId) ?? null, local: localById.get(rowId) ?? null }));
}

/**
 * The changes of marked rows above `after` in the order of their ids, at most `count` rows; the last one's id is the next
 * `after`. Empty at the end. Rows that wait for an answer or a person are among them, with their state.
 */
export function readChanges(
  from: Connection,
  table: TwoWayTable,
  { after, count }: { readonly after: number; readonly count: number },
): readonly RowChange[] {
  let last = after;
  for (;;) {
    const ids = readMarkedIds(from, table.id, last, count);
    const changes = ids.length === 0 ? [] : diffRows(from, table, ids);
    if (ids.length === 0 || changes.length > 0) return changes; // ends: every block lies above the last one
    last = ids.at(-1) ?? last;
  }
}

function readMarkedIds(from: Connection, tableId: number, after: number, count: number): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? AND row_id > ? ORDER BY row_id LIMIT ?`;
  return queryNumbers(from, text, [tableId, after, count]);
}

/** The changes of the given rows, in their order; rows without one are left out. */
export function diffRows(from: Connection, table: TwoWayTable, ids: readonly number[]): readonly RowChange[] {
  const states = readRowStates(from, table.id, ids);
  const problems = readProblems(from, table, ids);
  return readVersions(from, table, ids).flatMap(({ rowId, base, local }): readonly RowChange[] => {
    const state = states.get(rowId) ?? 'clean';
    // An answer is awaited, or may never come: the row is listed although nothing differs.
    if (!isChanged(base, local, table.columns) && (state === 'edited' || state === 'clean')) return [];
    const columns = table.columns.flatMap(({ type, writable }, column) => {
      const before = base?.values[column] ?? null;
      return local === null || !writable || isSameValue(type, before, local.values[column] ?? null) ? [] : [column];
    });
    const kind = base === null ? 'insert' : local === null ? 'delete' : 'update';
    const raw = readRawTexts(from, table, local).flatMap(({ column }) => {
      return columns.includes(column) ? [`${cellName(table, columnAt(table, column))} takes text in UTF-8`] : [];
    });
    return [{ rowId, kind, state, base, local, columns, problems: [...(problems.get(rowId) ?? []), ...raw] }];
  });
}

/** Every changed row of a table, read a block at a time. */
export function* readAllChanges(from: Connection, table: TwoWayTable): IterableIterator<RowChange> {
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const changes = readChanges(from, table, { after, count: BLOCK_ROWS });
    if (changes.length === 0) return; // ends: every block lies above the last one
    yield* changes;
    after = changes.at(-1)?.rowId ?? after;
  }
}

/** The rules of the triggers, asked about rows that stand already: they may have come in while a trigger was missing. */
function readProblems(
  from: Connection,
  table: TwoWayTable,
  ids: readonly number[],
): ReadonlyMap<number, readonly string[]> {
  const isTyped = isStrict(from, table.localName);
  const tests = table.columns.flatMap((column): readonly Sql[] => {
    if (!column.writable) return [];
    const name = ident(column.localName);
    const test = (when: Sql, rule: CellRule): Sql =>
      sql`WHEN ${when} AND (${rule.isBroken}) THEN ${literal(rule.sentence)}`;
    const isChangedCell = isOther(sql`NEW.${name}`, sql`b.${name}`);
    // What a table without STRICT may hold, and the origin has no value of.
    const noBytes = {
      isBroken: sql`typeof(NEW.${name}) = 'blob'`,
      sentence: `${cellName(table, column)} takes no bytes (BLOB)`,
    };
    const ofNew = missingRule(table, column, 'new');
    const ofKnown = missingRule(table, column, 'known');
    const whens = [
      ...(isTyped ? [] : [test(isChangedCell, noBytes)]),
      ...valueRules(table, column).map((rule) => test(isChangedCell, rule)),
      ...(ofNew === null ? [] : [test(sql`b._id IS NULL`, ofNew)]),
      ...(ofKnown === null ? [] : [test(sql`b._id IS NOT NULL AND ${isChangedCell}`, ofKnown)]),
    ];
    if (whens.length === 0) return [];
    // One result for each column: SQLite returns no more than a table may have.
    return [sql`${whens.reduce((text, when) => sql`${text} ${when}`, sql`CASE`)} END`];
  });
  if (tests.length === 0 || ids.length === 0) return new Map();
  const text = sql`SELECT NEW._id, ${joinSql(tests)} FROM ${ident(table.localName)} NEW
      LEFT JOIN ${ident(baseName(table.id))} b ON b._id = NEW._id
      WHERE NEW._id IN (SELECT value FROM json_each(?))`;
  return new Map(
    queryRows(from, text, [JSON.stringify(ids)]).map(([id, ...sentences]) => [
      Number(id),
      sentences.filter((sentence) => typeof sentence === 'string'),
    ]),
  );
}
