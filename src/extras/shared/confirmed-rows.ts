/**
 * Reads rows as the origin confirmed them: from the base of a two-way table. Each read is short, since a long one
 * keeps the write-ahead log growing.
 */
import { readColumns, type ColumnRecord } from '../../replica/bookkeeping/columns.ts';
import { queryAll, queryNumber, queryRows } from '../../replica/query.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { type TableRecord, readTables } from '../../replica/bookkeeping/tables.ts';
import { ALL_ROWS } from '../../replica/bookkeeping/changed-rows.ts';
import { ident, joinSql, sql } from '../../base/sql.ts';
import { baseName, columnList, hasBase, readPhysicalColumns } from '../../replica/user-tables.ts';
import { readStored } from './sql-client.ts';

/** A table as a sink sends it; `columns` also has those that the origin does not show any more. */
export interface SinkSource {
  readonly table: TableRecord;
  /** The table that holds what the origin confirmed. */
  readonly source: string;
  readonly columns: readonly ColumnRecord[];
}

/** Returns a check for the snapshot of each read: whether all names still mean what they meant. */
export function namesCheck(from: Connection, sources: readonly SinkSource[]): () => boolean {
  const namesOf = (source: SinkSource | undefined): string =>
    JSON.stringify([source?.source, source?.columns.map(({ seq, localName }) => [seq, localName])]);
  let known: number | null = null;
  return () => {
    const version = queryNumber(from, sql`PRAGMA schema_version`);
    if (version === known) return true;
    const now = new Map(readSources(from).map((source) => [source.table.id, source]));
    if (!sources.every((source) => namesOf(source) === namesOf(now.get(source.table.id)))) return false;
    known = version;
    return true;
  };
}

export interface ChangedRowLine {
  readonly tableId: number;
  readonly rowId: number;
  readonly seq: number;
}

/** A row: its id, what may be done with it, then its columns. */
export type SourceRow = readonly [id: bigint, allow: string | null, ...values: Stored[]];

/** Runs reads in one snapshot; `read` must not await. */
export function inSnapshot<T>(from: Connection, read: () => T): T {
  from.prepare(sql`BEGIN`).run();
  try {
    return read();
  } finally {
    from.prepare(sql`COMMIT`).run();
  }
}

/** Every table in the file, by origin id. */
export function readSources(from: Connection): readonly SinkSource[] {
  return readTables(from).flatMap((table): readonly SinkSource[] => {
    const source = hasBase(from, table.id) ? baseName(table.id) : table.localName;
    const standing = new Set(readPhysicalColumns(from, source).map((name) => name.toLowerCase()));
    if (!standing.has('_id') || !standing.has('_allow')) return [];
    const columns = readColumns(from, table.id).filter(({ localName }) => standing.has(localName.toLowerCase()));
    return [{ table, source, columns }];
  });
}

/** The number of the last touched line; 0 for none. */
export function readHead(from: Connection): number {
  return queryNumber(from, sql`SELECT coalesce(max(seq), 0) FROM _rowsync_touched`);
}

export function readLines(from: Connection, after: number, limit: number): readonly ChangedRowLine[] {
  const text = sql`SELECT table_id AS tableId, row_id AS rowId, seq FROM _rowsync_touched WHERE seq > ? ORDER BY seq LIMIT ?`;
  return queryAll(from, text, [after, limit]) as ChangedRowLine[]; // columns and types are ours
}

/** The last line that covers all rows of a table, by table. */
export function readTableChanges(from: Connection): ReadonlyMap<number, number> {
  const rows = queryRows(from, sql`SELECT table_id, seq FROM _rowsync_touched WHERE row_id = ${ALL_ROWS}`, []);
  return new Map(rows.map(([tableId, seq]) => [Number(tableId), Number(seq)]));
}

/** Rows of these ids that are there. */
export function readSourceRows(
  from: Connection,
  { source, columns }: SinkSource,
  ids: readonly number[],
): readonly SourceRow[] {
  const which = sql`_id IN (SELECT value FROM json_each(?)) AND _id > 0`;
  const text = sql`SELECT ${columnList(columns)} FROM ${ident(source)} WHERE ${which} ORDER BY _id`;
  return queryRows(from, text, [JSON.stringify(ids)]) as readonly unknown[] as SourceRow[]; // the columns just listed
}

/** Reads blocks of a table by id: at most `limit` rows behind `after`, only those with an id of the origin. */
export function blockReader(
  from: Connection,
  { source, columns }: SinkSource,
): (after: bigint, limit: number) => readonly SourceRow[] {
  const statement = from
    .prepare(sql`SELECT ${columnList(columns)} FROM ${ident(source)} WHERE _id > ? ORDER BY _id LIMIT ?`)
    .safeIntegers()
    .raw();
  return (after, limit) => statement.all(after < 0n ? 0n : after, limit) as SourceRow[]; // the columns just listed
}

/** All rows of a table, in order of their ids. */
export function readAllRows(from: Connection, { source, columns }: SinkSource): IterableIterator<SourceRow> {
  const text = sql`SELECT ${columnList(columns)} FROM ${ident(source)} WHERE _id > 0 ORDER BY _id`;
  return readStored(from, text) as IterableIterator<readonly unknown[]> as IterableIterator<SourceRow>; // the columns just listed
}

export function readView(from: Connection, name: string, columns: readonly string[]): ReturnType<typeof readStored> {
  return readStored(from, sql`SELECT ${joinSql(columns.map(ident))} FROM ${ident(name)}`);
}

/** The number of the last entry of the history; 0 without one. */
export function readLastSeq(from: Connection): number {
  return queryNumber(from, sql`SELECT coalesce(max(seq), 0) FROM _rowsync_history`);
}

/** A row of which values were forgotten, by the name of its table here; null for all rows, which lost a column. */
export interface ForgottenEntry {
  readonly table: string;
  readonly rowId: number | null;
}

/** The rows of which values were forgotten in entries of the history behind one, up to another. */
export function readForgotten(
  from: Connection,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): readonly ForgottenEntry[] {
  const text = sql`SELECT DISTINCT "table", row_id AS rowId FROM sync_history WHERE id > ? AND id <= ? AND kind = 'forgotten'`;
  return queryAll(from, text, [after, upTo]) as ForgottenEntry[]; // as selected
}

/** Entries of the history behind one, in order, all or those of some numbers; those of tables kept out are left out. */
export function readHistory(
  from: Connection,
  columns: readonly string[],
  given: {
    readonly after: number;
    /** The last entry to read. */
    readonly upTo: number;
    readonly limit: number;
    /** Null for all. */
    readonly ids: readonly number[] | null;
    readonly out: ReadonlySet<string>;
  },
): readonly (readonly Stored[])[] {
  const { after, upTo, limit, ids, out } = given;
  const list = ids && JSON.stringify(ids);
  const text = sql`SELECT ${joinSql(columns.map(ident))} FROM sync_history
      WHERE id > ? AND id <= ? AND (? IS NULL OR id IN (SELECT value FROM json_each(?)))
        AND coalesce("table", '') NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`;
  return queryRows(from, text, [after, upTo, list, list, JSON.stringify([...out]), limit]);
}
