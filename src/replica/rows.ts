/**
 * Rows in and out of user tables, with values as SQLite stores them. One upsert statement writes many rows, and leaves
 * unchanged rows alone (I9). A delete keeps the last values as evidence.
 */
import { must } from '../base/assert.ts';
import { onceFor } from '../base/memoize.ts';
import { ident, joinSql, sql, type Sql } from '../base/sql.ts';
import { readColumns } from './bookkeeping/columns.ts';
import { addToRowCount, readTable, storeFacts } from './bookkeeping/tables.ts';
import { areRowsNoted, endMoment, touchRows } from './bookkeeping/changed-rows.ts';
import type { Connection, Stored, Tx, WrittenTable } from './connection.ts';
import {
  baseName,
  columnList,
  hasBase,
  readPhysicalColumns,
  readStanding,
  rowsDiffer,
  COLOR_COLUMN,
} from './user-tables.ts';
import { requireHarmlessTriggers } from './triggers.ts';
import { TYPE_RULES } from '../wire/column-types.ts';
import { numericToPlain } from '../wire/decimal.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { clearSuspects } from './bookkeeping/suspects.ts';
import { forgetUnreadable } from './bookkeeping/unreadable-rows.ts';
import { storeDeleted } from './bookkeeping/deleted-rows.ts';
import { queryNumber, queryNumbers, queryRows } from './query.ts';

/** Values bound by one upsert, about; a few hundred gain no more (measured: 10 rows of 18 columns, 50 of 4). */
const STATEMENT_VALUES = 200;

const INT64_MIN = -(2n ** 63n);

const INT64_MAX = 2n ** 63n - 1n;

/** A user table as rows are written to it; `columns` are the live ones, in the order of each row's values. */
export interface RowTarget {
  readonly id: number;
  readonly localName: string;
  readonly columns: readonly { readonly localName: string; readonly type: ColumnType }[];
}

export interface RowChanges {
  readonly insertedCount: number;
  readonly updatedCount: number;
}

/** What SQLite stores for a value, as safe integers read it; integers beyond 64 bits as text with every digit. */
export function storedFromValue(value: Value): Stored {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'bigint') return storedInteger(value);
  if (Number.isSafeInteger(value)) return BigInt(value);
  return Number.isInteger(value) ? storedInteger(BigInt(numericToPlain(value))) : value;
}

function storedInteger(value: bigint): Stored {
  return value >= INT64_MIN && value <= INT64_MAX ? value : value.toString();
}

/** The value that a stored one means, however a user spelled it; every INTEGER is read as a bigint. */
export function valueFromStored(stored: Stored, type: ColumnType): Value {
  if (typeof stored === 'string') return TYPE_RULES[type].valueFromText(stored);
  if (typeof stored !== 'bigint') {
    const isLong = typeof stored === 'number' && Number.isInteger(stored) && !Number.isSafeInteger(stored);
    return isLong ? BigInt(numericToPlain(stored)) : stored;
  }
  if (type === 'Checkbox') return stored !== 0n;
  const double = Number(stored);
  return Number.isSafeInteger(double) ? double : stored;
}

/** Writes rows of one page; those that are there already as they are, are not written. */
export function upsertRows(tx: Tx, target: RowTarget, rows: readonly Row[]): RowChanges {
  const ids = [...new Set(rows.map(({ id }) => id))];
  const insertedCount = ids.length - countStanding(tx, target, ids);
  const changedCount = writeRows(tx, target, rows);
  if (insertedCount > 0) addToRowCount(tx, target.id, insertedCount);
  return { insertedCount, updatedCount: changedCount - insertedCount };
}

/** Indexes of columns in which a row differs from what is known: 2 columns of 14 are written in a third of the time. */
export function changedAmong(rows: readonly Row[], known: ReadonlyMap<number, Row>): ReadonlySet<number> {
  const changed = new Set<number>();
  for (const { id, values } of rows) {
    const before = known.get(id)?.values;
    values.forEach((value, index) => {
      if (value !== before?.[index]) changed.add(index);
    });
  }
  return changed;
}

/** Like `upsertRows`, for tables whose rows are not counted; returns how many rows were written. */
export function writeRows(tx: Tx, target: RowTarget, given: readonly Row[]): number {
  requireHarmlessTriggers(tx, target);
  const isKept = tx.history.isKept(target.id);
  // The history reads each row that it is told of; where one is given twice, the last one counts.
  const lastById = new Map(isKept ? given.map((row) => [row.id, row]) : []);
  const rows = isKept ? findUnlike(tx, target, [...lastById.values()]) : given;
  if (rows.length === 0) return 0;
  const ids = rows.map(({ id }) => id);
  if (isKept) tx.history.willChange(target, ids, tx.cause);
  const chunk = Math.max(1, Math.floor(STATEMENT_VALUES / (target.columns.length + 2)));
  return runNoted(tx, target, 'written', (run) => {
    const write = (at: number, count: number): number => run(upsertText(target, count), bindings(rows, at, count));
    let changedCount = 0;
    for (let from = 0; from < rows.length; from += chunk) {
      const isFull = from + chunk <= rows.length;
      if (isFull) changedCount += write(from, chunk);
      else for (let at = from; at < rows.length; at += 1) changedCount += write(at, 1);
    }
    return changedCount;
  });
}

/** Rows that are not stored just so, compared as the upsert does: another program may have written 7 for true. */
function findUnlike(from: Connection, target: RowTarget, rows: readonly Row[]): readonly Row[] {
  const ids = rows.map(({ id }) => id);
  const hereById = readStoredById(from, target, ids);
  return rows.filter(({ id, allow, values }) => {
    const here = hereById.get(id);
    return here?.[1] !== allow || values.some((value, index) => storedFromValue(value) !== here[index + 2]);
  });
}

/** Whether a sink wants to know what is written here: what counts of a two-way table is its base. */
function isNoted(from: Connection, { id, localName }: RowTarget): boolean {
  return areRowsNoted(from, id) && (localName === baseName(id) || !hasBase(from, id));
}

/** Runs statements that write or delete rows, notes these rows for sinks, and returns how many there were. */
function runNoted(
  tx: Tx,
  target: RowTarget,
  change: 'written' | 'deleted',
  work: (run: (text: Sql, values: readonly Stored[]) => number) => number,
): number {
  const changed: number[] | null = isNoted(tx, target) ? [] : null;
  const count = work((text, values) => {
    // Handed over one by one: better-sqlite3 takes longer to read them from an array.
    if (changed === null) return tx.prepare(text).run(...values).changes;
    const ids = queryNumbers(tx, sql`${text} RETURNING _id`, values);
    for (const id of ids) changed.push(id);
    return ids.length;
  });
  if (count > 0) endMoment(tx);
  if (changed !== null) touchRows(tx, target.id, changed, change);
  return count;
}

function bindings(rows: readonly Row[], from: number, count: number): readonly Stored[] {
  const values: Stored[] = [];
  for (let index = from; index < from + count; index += 1) {
    const row = must(rows[index], 'the caller counted the rows');
    values.push(row.id, row.allow);
    for (const value of row.values) values.push(storedFromValue(value));
  }
  return values;
}

/** The statements for numbers of rows of a table. */
const upsertTexts = onceFor(() => new Map<number, Sql>());

function upsertText(target: RowTarget, count: number): Sql {
  const texts = upsertTexts(target);
  const text = texts.get(count) ?? upsertSql(target, count);
  texts.set(count, text);
  return text;
}

function upsertSql(target: RowTarget, count: number): Sql {
  const marks = joinSql(Array.from({ length: target.columns.length + 2 }, () => sql`?`));
  const names = [sql`_allow`, ...target.columns.map(({ localName }) => ident(localName))];
  const table = ident(target.localName);
  // A table may be called "Excluded".
  return sql`INSERT INTO ${table} AS here (${columnList(target.columns)}) VALUES ${joinSql(Array.from({ length: count }, () => sql`(${marks})`))}
    ON CONFLICT (_id) DO UPDATE SET ${joinSql(names.map((name) => sql`${name} = excluded.${name}`))}
    WHERE ${rowsDiffer(target.columns, sql`here`, sql`excluded`)}`;
}

/** Brings rows of a two-way table to what their base holds; those that are so already are not written. */
export function copyFromBase(tx: Tx, to: RowTarget, ids: readonly number[]): void {
  const base = baseName(to.id);
  const names = [sql`_allow`, ...to.columns.map(({ localName }) => ident(localName))];
  const copied = (source: Sql): Sql => joinSql(names.map((name) => sql`${name} = ${source}.${name}`));
  const differs = (source: Sql): Sql => rowsDiffer(to.columns, sql`here`, source);
  const isKnown = countStanding(tx, to, ids) === ids.length;
  // A row comes back with columns that the origin hides: an empty cell would be an edit once they are shown again.
  const all = isKnown ? sql`` : joinSql(readStanding(tx, to.localName, readPhysicalColumns(tx, base)).map(ident));
  // Where all of them are here, an UPDATE takes two thirds of the time.
  const text = isKnown
    ? sql`UPDATE ${ident(to.localName)} AS here SET ${copied(sql`there`)} FROM ${ident(base)} there
          WHERE here._id IN (SELECT value FROM json_each(?)) AND there._id = here._id AND (${differs(sql`there`)})`
    : sql`INSERT INTO ${ident(to.localName)} AS here (${all})
          SELECT ${all} FROM ${ident(base)} WHERE _id IN (SELECT value FROM json_each(?))
          ON CONFLICT (_id) DO UPDATE SET ${copied(sql`excluded`)} WHERE ${differs(sql`excluded`)}`;
  requireHarmlessTriggers(tx, to);
  tx.history.willChange(to, ids, tx.cause);
  runNoted(tx, to, 'written', (run) => run(text, [JSON.stringify(ids)]));
}

function countStanding(from: Connection, target: RowTarget, ids: readonly number[]): number {
  const text = sql`SELECT count(*) FROM ${ident(target.localName)} WHERE _id IN (SELECT value FROM json_each(?))`;
  return queryNumber(from, text, [JSON.stringify(ids)]);
}

/** Forgets that rows which the origin no longer has are looked for, or could not be read. */
export function forgetGone(tx: Tx, tableId: number, ids: readonly number[]): void {
  const list = JSON.stringify(ids);
  clearSuspects(tx, tableId, list);
  forgetUnreadable(tx, tableId, list);
}

/** Keeps the last values of rows about to be deleted, also of columns that the origin no longer shows. */
export function keepEvidence(
  tx: Tx,
  target: RowTarget,
  rows: readonly Row[],
  why: { readonly reason: string; readonly at: string },
): void {
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  const keptById = readKeptTables(tx, target, ids);
  for (const row of rows) {
    storeDeleted(tx, target, { id: row.id, values: evidenceText(target, row, keptById.get(row.id)) }, why);
  }
}

/** The highest id that a table ever had, as far as its rows and those in `sync_deleted` tell; 0 for none. */
export function readHighestId(from: Connection, target: RowTarget): number {
  const text = sql`SELECT max(coalesce((SELECT max(_id) FROM ${ident(target.localName)}), 0),
      coalesce((SELECT max(row_id) FROM _rowsync_deleted WHERE table_id = ?), 0))`;
  return queryNumber(from, text, [target.id]);
}

type Pair = readonly [name: string, value: Stored];

/** Deletes rows without evidence; returns the number of deleted rows. */
export function removeRows(tx: Tx, target: RowTarget, ids: readonly number[]): number {
  requireHarmlessTriggers(tx, target);
  tx.history.willChange(target, ids, tx.cause);
  const text = sql`DELETE FROM ${ident(target.localName)} WHERE _id IN (SELECT value FROM json_each(?))`;
  return runNoted(tx, target, 'deleted', (run) => run(text, [JSON.stringify(ids)]));
}

/** A row as a JSON object of the replica's column names, with what else is kept of it; numbers keep every digit. */
export function evidenceText(target: RowTarget, row: Row, kept: readonly Pair[] = []): string {
  const pairs = target.columns.map(
    ({ localName }, index) => [localName, storedFromValue(row.values[index] ?? null)] as const,
  );
  return objectText([['_id', row.id], ...pairs, ...kept]);
}

/** Values under their names as a JSON object; numbers keep every digit. */
export function objectText(pairs: readonly (readonly [name: string, value: Stored])[]): string {
  const texts = pairs.map(
    ([name, value]) =>
      `${JSON.stringify(name)}:${typeof value === 'bigint' ? value.toString() : JSON.stringify(value)}`,
  );
  return `{${texts.join(',')}}`;
}

/** Reads rows by id; ids that are not here are left out. */
export function readRowsById(from: Connection, target: RowTarget, ids: readonly number[]): ReadonlyMap<number, Row> {
  const rows = new Map<number, Row>();
  if (ids.length === 0) return rows;
  for (const row of selectRows(from, target, ids)) {
    const id = Number(row[0]);
    const allow = row[1] as string | null; // a column of type TEXT
    // Not taken apart into the rest of an array, which would be copied.
    const values = target.columns.map(({ type }, index) => valueFromStored(row[index + 2] ?? null, type));
    rows.set(id, { id, allow, values });
  }
  return rows;
}

/** Ids, rights and values of rows as SQLite stores them, by id. */
export function readStoredById(
  from: Connection,
  target: RowTarget,
  ids: readonly number[],
): ReadonlyMap<number, readonly Stored[]> {
  return new Map(selectRows(from, target, ids).map((row) => [Number(row[0]), row]));
}

function selectRows(from: Connection, target: RowTarget, ids: readonly number[]): readonly (readonly Stored[])[] {
  const text = sql`SELECT ${columnList(target.columns)} FROM ${ident(target.localName)} WHERE _id IN (SELECT value FROM json_each(?))`;
  return queryRows(from, text, [JSON.stringify(ids)]);
}

export type MeasuredRow = readonly [id: number, ...values: (string | number | null)[]];

/** Some columns of the rows above an id in order, at most `count`, to be summed: long integers are rounded. */
export function readMeasured(
  from: Connection,
  { localName }: RowTarget,
  { columns, after, count }: { readonly columns: readonly string[]; readonly after: number; readonly count: number },
): readonly MeasuredRow[] {
  const list = joinSql([sql`_id`, ...columns.map(ident)]);
  const text = sql`SELECT ${list} FROM ${ident(localName)} WHERE _id > ? ORDER BY _id LIMIT ?`;
  return from.prepare(text).raw().all(after, count) as unknown as readonly MeasuredRow[]; // raw() gives arrays
}

/** What rows say in columns that the origin does not show any more, unless another client dropped these. */
function readKeptTables(
  from: Connection,
  { id, localName }: WrittenTable,
  ids: readonly number[],
): ReadonlyMap<number, readonly Pair[]> {
  const kept = readColumns(from, id).flatMap((column) => (column.state === 'live' ? [] : [column.localName]));
  const names = readStanding(from, localName, kept);
  if (names.length === 0) return new Map();
  const text = sql`SELECT _id, ${joinSql(names.map(ident))} FROM ${ident(localName)} WHERE _id IN (SELECT value FROM json_each(?))`;
  const rows = queryRows(from, text, [JSON.stringify(ids)]);
  return new Map(
    rows.map(([rowId, ...values]) => [Number(rowId), names.map((name, index) => [name, values[index] ?? null])]),
  );
}

/** Stores the colors with which rows came, after the rows themselves; a row without one has none any more. */
export function storeRowColors(tx: Tx, { id, localName }: WrittenTable, rows: readonly Row[]): void {
  const { rowColors } = readTable(tx, id);
  if (rowColors !== 'kept') {
    if (rowColors === 'seen' || rows.every(({ color }) => color === undefined)) return;
    storeFacts(tx, id, { row_colors: 'seen' });
    return;
  }
  const byColor = Map.groupBy(rows, ({ color }) => color ?? null);
  requireHarmlessTriggers(tx, { id, localName });
  for (const name of [localName, baseName(id)]) {
    if (readStanding(tx, name, [COLOR_COLUMN.localName]).length === 0) continue;
    const update = tx.prepare(
      sql`UPDATE ${ident(name)} SET _color = @color
          WHERE _id IN (SELECT value FROM json_each(@ids)) AND _color IS NOT @color`,
    );
    for (const [color, group] of byColor) update.run({ color, ids: JSON.stringify(group.map((row) => row.id)) });
  }
}
