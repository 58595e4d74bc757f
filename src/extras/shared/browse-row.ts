/**
 * Reads one row for people: its cells, what waits to be pushed, its conflicts, files and failures, and the rows it
 * refers to. Long values are cut.
 */
import { ident, joinSql, sql, type Sql } from '../../base/sql.ts';
import { cutCell, cutCells, type BrowsedTable, type Cell, type CutCell } from './rows-page.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryAll, queryFirst, queryNumber, queryNumbers, queryRows, queryText } from '../../replica/query.ts';
import { objectText } from '../../replica/rows.ts';
import { baseName } from '../../replica/user-tables.ts';
import { CONFLICT_LINE, type ConflictLine } from '../../replica/bookkeeping/conflicts.ts';
import type { FailureLine } from '../../replica/reader.ts';

/** Characters of a cell that the page of a row shows. */
const SHOWN_CHARS = 4_000;
/** Conflicts, failures, changes and files of one row that are shown. */
const LINES_MAX = 200;
/** Characters of a waiting cell: one more than the page shows whole (extras/page/values.ts). */
const WAITING_CHARS_MAX = 20_001;

export interface WaitingCell {
  readonly rowId: number;
  readonly kind: string;
  /** Null for the row as a whole. */
  readonly column: string | null;
  readonly base: Cell;
  readonly local: Cell;
  readonly state: string;
  readonly since: string;
}

export interface RowFile {
  readonly id: number;
  readonly column: string;
  readonly revision: number;
  readonly name: string;
  readonly type: string | null;
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly author: string | null;
  readonly createdAt: string | null;
  readonly state: string;
  readonly reason: string | null;
  readonly vanishedAt: string | null;
}

export function readRowCells(from: Connection, table: BrowsedTable, id: number): readonly CutCell[] | null {
  const cells = table.columns.flatMap(({ name }) => cutCell(ident(name), SHOWN_CHARS, Number.MAX_SAFE_INTEGER));
  const text = sql`SELECT ${joinSql([sql`_id`, ...cells])} FROM ${ident(table.name)} WHERE _id = ?`;
  const [row] = queryRows(from, text, [id]);
  return row === undefined ? null : cutCells(row.slice(1));
}

/** One cell, whole; undefined where there is no such row. */
export function readFullCell(
  from: Connection,
  { name: table }: BrowsedTable,
  { id, column }: { readonly id: number; readonly column: string },
): Cell | undefined {
  const [row] = queryRows(from, sql`SELECT ${ident(column)} FROM ${ident(table)} WHERE _id = ?`, [id]);
  return row === undefined ? undefined : (row[0] ?? null);
}

export function readNeighbours(
  from: Connection,
  { name }: BrowsedTable,
  id: number,
): { readonly before: number | null; readonly after: number | null } {
  const text = sql`SELECT (SELECT max(_id) FROM ${ident(name)} WHERE _id < @id) AS before,
      (SELECT min(_id) FROM ${ident(name)} WHERE _id > @id) AS after`;
  return queryFirst(from, text, [{ id }]) as ReturnType<typeof readNeighbours>; // the columns just listed
}

/** What the next push would send of rows, or what of them waits, the longest texts cut; numbers keep every digit. */
export function readWaitingCells(
  from: Connection,
  table: BrowsedTable,
  ids: readonly number[],
): readonly WaitingCell[] {
  if (!table.isTwoWay) return [];
  const cut = (cell: Sql): Sql => sql`iif(typeof(${cell}) = 'text', substr(${cell}, 1, ${WAITING_CHARS_MAX}), ${cell})`;
  const text = sql`
    SELECT row_id AS rowId, kind, "column", ${cut(sql`base`)} AS base, ${cut(sql`local`)} AS local, state, since FROM sync_changes
    WHERE "table" = ? AND row_id IN (SELECT value FROM json_each(?)) LIMIT ${LINES_MAX * ids.length}`;
  const lines = from.prepare(text).safeIntegers().all(table.name, JSON.stringify(ids));
  return (lines as (Omit<WaitingCell, 'rowId'> & { readonly rowId: bigint })[]) // the columns just listed
    .map((line) => ({ ...line, rowId: Number(line.rowId) }));
}

/** Who changed a row at the origin last, and when, as far as its columns tell. */
export function readLastChange(
  from: Connection,
  table: BrowsedTable | undefined,
  id: number,
): { readonly by: string | null; readonly at: string | null } {
  const cell = (kind: string): Sql => {
    const column = table?.columns.find((each) => each.kind === kind);
    return column === undefined ? sql`NULL` : ident(column.name);
  };
  if (table === undefined) return { by: null, at: null };
  const text = sql`SELECT ${cell('LastModifiedBy')}, ${cell('DateModified')} FROM ${ident(table.name)} WHERE _id = ?`;
  const [[by, at] = []] = queryRows(from, text, [id]);
  return { by: typeof by === 'string' ? by : null, at: typeof at === 'string' ? at : null };
}

/** A row of a two-way table as the origin last confirmed it, as a JSON object; null for a row that it does not know. */
export function readBaseRow(from: Connection, table: BrowsedTable, id: number): string | null {
  const names = table.columns.flatMap(({ name, originName }) => (originName === '' ? [] : [name]));
  const text = sql`SELECT ${joinSql(names.map(ident))} FROM ${ident(baseName(table.id))} WHERE _id = ?`;
  const [row] = queryRows(from, text, [id]);
  return row === undefined ? null : objectText(names.map((name, index) => [name, row[index] ?? null]));
}

/** Ids of edited rows of a table, behind one of them, and how many there are in all. */
export function readWaitingIds(
  from: Connection,
  { id: tableId }: BrowsedTable,
  { after, limit }: { readonly after: number; readonly limit: number },
): { readonly ids: readonly number[]; readonly count: number } {
  const edited = sql`FROM _rowsync_rows WHERE table_id = ?`;
  const ids = sql`SELECT row_id ${edited} AND row_id > ? ORDER BY row_id LIMIT ?`;
  const count = queryNumber(from, sql`SELECT count(*) ${edited}`, [tableId]);
  return { ids: queryNumbers(from, ids, [tableId, after, limit]), count };
}

/** Open conflicts of a row, then older ones. */
export function readRowConflicts(from: Connection, table: BrowsedTable, id: number): readonly ConflictLine[] {
  const text = sql`SELECT ${CONFLICT_LINE} FROM sync_conflicts WHERE id IN (SELECT id FROM _rowsync_conflicts WHERE table_id = ? AND row_id = ?)
      ORDER BY state <> 'open', id DESC LIMIT ${LINES_MAX}`;
  return queryAll(from, text, [table.id, id]) as ConflictLine[]; // the columns just listed
}

export function readRowFailures(from: Connection, table: BrowsedTable, id: number): readonly FailureLine[] {
  const text = sql`SELECT id, "table", row_id AS rowId, kind, "column", reason, since, status, code, sent, retry_at AS retryAt
      FROM sync_failures WHERE "table" = ? AND row_id = ? LIMIT ${LINES_MAX}`;
  return queryAll(from, text, [table.name, id]) as FailureLine[]; // the columns just listed
}

const FILES = sql`
  SELECT f.id, coalesce(c.local_name, f.column_name) AS "column", f.revision, f.name, f.type, f.bytes, f.sha256, f.author,
         f.created_at AS createdAt, f.state, f.reason, f.vanished_at AS vanishedAt, f.row_id AS rowId
  FROM _rowsync_files f
  LEFT JOIN _rowsync_columns c ON c.table_id = f.table_id AND c.id = f.column_id AND c.state = 'live'`;

/** Every revision of the files of a row, the newest of each column first. */
export function readRowFiles(from: Connection, table: BrowsedTable, id: number): readonly RowFile[] {
  const text = sql`${FILES} WHERE f.table_id = ? AND f.row_id = ? ORDER BY 2, f.revision DESC LIMIT ${LINES_MAX}`;
  return queryAll(from, text, [table.id, id]) as RowFile[]; // the columns just listed
}

export function readFileLine(from: Connection, id: number): RowFile | null {
  return queryFirst(from, sql`${FILES} WHERE f.id = ?`, [id]) as RowFile | null; // as above
}

/** A row that was deleted here: when, why, and its last values as a JSON object; the last time it was. */
export function readDeletedRow(
  from: Connection,
  table: BrowsedTable,
  id: number,
): { readonly at: string; readonly reason: string; readonly lastValues: string } | null {
  const text = sql`SELECT deleted_at AS at, reason, row_values AS lastValues FROM _rowsync_deleted
    WHERE table_id = ? AND row_id = ? ORDER BY seq DESC LIMIT 1`;
  return queryFirst(from, text, [table.id, id]) as ReturnType<typeof readDeletedRow>; // ours
}

/** Where the values of a column lead: rows of one other table, by the key in the column. */
export interface Reference {
  readonly table: BrowsedTable;
  readonly idByKey: ReadonlyMap<string, number>;
}

/**
 * The rows that a column's values are keys of. A reference has the name of the table it leads to, and only values that
 * are keys there become links; where two tables would do, none does. The origin does not describe references itself.
 */
export function findReference(
  from: Connection,
  tables: readonly BrowsedTable[],
  input: { readonly table: BrowsedTable; readonly column: string; readonly values: readonly Cell[] },
): Reference | null {
  const { table, column, values } = input;
  const given = [
    ...new Set(values.flatMap((value) => (value === null || value instanceof Uint8Array ? [] : [String(value)]))),
  ];
  if (given.length === 0 || column === table.keyColumn) return null;
  const word = column.toLowerCase().replace(/\s+(?:id|key|no\.?|number|code)$/, '');
  const targets = tables.filter(
    ({ id, name, originName, keyColumn }) =>
      id !== table.id && keyColumn !== null && [name, originName].some((each) => each.toLowerCase() === word),
  );
  const [target] = targets;
  if (target === undefined || targets.length > 1 || target.keyColumn === null) return null;
  const key = ident(target.keyColumn);
  const keyText = sql`CAST(${key} AS TEXT)`;
  const text = sql`SELECT ${keyText}, _id FROM ${ident(target.name)} WHERE ${keyText} IN (SELECT value FROM json_each(?))`;
  const lines = queryRows(from, text, [JSON.stringify(given)]).map(([own, id]) => [String(own), Number(id)] as const);
  return lines.length === 0 ? null : { table: target, idByKey: new Map(lines) };
}

/** The problem of a push that a guard holds, as a person is shown it; null where none is held. */
export function readHeldPush(from: Connection, tableId: number): string | null {
  const text = sql`SELECT push_message FROM _rowsync_tables WHERE id = ? AND push_code GLOB 'guard.*'`;
  return queryText(from, text, [tableId]);
}
