/**
 * The replica beside the origin, cell by cell, without any code of the pull. The origin is asked through the sandbox's
 * store, the replica through a SQLite connection of its own.
 *
 *    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
 *
 * Both give every row of every table under the replica's names, by `_id`, every value as SQLite stores it. A whole
 * number is a bigint, a Checkbox 0n or 1n.
 */
import Database from 'better-sqlite3';
import type { Sandbox } from '../../src/sandbox/main.ts';
import type { Value } from '../../src/wire/schema.ts';

/** A value as SQLite returns it, with whole numbers as bigint. */
export type Cell = null | string | number | bigint | Buffer;

/** The rows of each table; each row by column. */
export type Tables = Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>>;

/** Every row at the origin, as the replica should hold it. */
export function readOrigin({ store }: Pick<Sandbox, 'store'>): Tables {
  return Object.fromEntries(
    store.catalog.tables.map(({ name }) => {
      const rows = store.rows(name).map(({ id, values }) => ({
        _id: BigInt(id),
        ...Object.fromEntries(Object.entries(values).map(([column, value]) => [column, cellFromValue(value)])),
      }));
      return [name, rows];
    }),
  );
}

/** Every row in the replica, under the names that the origin gives to tables and columns. */
export function readReplica(path: string): Tables {
  return withDatabase(path, (db) => {
    const columns = db
      .prepare<[], { table: string; column: string; origin_table: string; origin_column: string }>(
        `SELECT "table", "column", origin_table, origin_column FROM sync_columns WHERE state = 'live'`,
      )
      .all();
    const tables = new Map(columns.map((column) => [column.origin_table, column.table]));
    return Object.fromEntries(
      [...tables].map(([originTable, table]) => {
        const named = columns
          .filter((column) => column.table === table)
          .map((column) => `, ${quoted(column.column)} AS ${quoted(column.origin_column)}`);
        return [originTable, readCells(db, `SELECT _id${named.join('')} FROM ${quoted(table)} ORDER BY _id`)];
      }),
    );
  });
}

/** All rows of a query, whole numbers as bigint. */
export function readCells(db: Database.Database, query: string): readonly Readonly<Record<string, Cell>>[] {
  return db.prepare<[], Record<string, Cell>>(query).safeIntegers().all();
}

/** Opens a file read-only for the time of `read`. */
export function withDatabase<T>(path: string, read: (db: Database.Database) => T): T {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

/** What SQLite itself says of the file's structure: `ok`, or what is broken. */
export function integrity(path: string): unknown {
  return withDatabase(path, (db) => db.pragma('integrity_check', { simple: true }));
}

/**
 * Pages that have an ETag although a row of theirs is missing, or whose page map contradicts itself, in words. None may
 * ever be seen, whatever was cut off (an ETag never stands without its rows).
 */
export function brokenPages(path: string): readonly string[] {
  return withDatabase(path, (db) => {
    const pages = db
      .prepare<[], { table: string; page: number; etag: string | null; rowCount: number; rowIds: string | null }>(
        `SELECT t.local_name AS "table", p.page, p.etag, p.row_count AS rowCount, r.row_ids AS rowIds
         FROM _rowsync_pages p JOIN _rowsync_tables t ON t.id = p.table_id
         LEFT JOIN _rowsync_page_rows r ON r.table_id = p.table_id AND r."window" = p."window" AND r.page = p.page`,
      )
      .all();
    return pages.flatMap(({ table, page, etag, rowCount, rowIds }) => {
      const ids = JSON.parse(rowIds ?? '[]') as number[];
      if (rowIds === null || ids.length !== rowCount)
        return [`${table}, page ${page}: ${rowCount} rows, map ${rowIds}`];
      if (etag === null) return []; // to be read again in any case
      const missing = db
        .prepare<[string], number>(
          `SELECT value FROM json_each(?) WHERE value NOT IN (SELECT _id FROM ${quoted(table)})`,
        )
        .pluck()
        .all(rowIds);
      return missing.length === 0 ? [] : [`${table}, page ${page}: rows ${missing.join(', ')} are missing`];
    });
  });
}

/** Tables whose row count in `sync_status` is not the number of rows that are there. */
export function wrongCounts(path: string): readonly string[] {
  return withDatabase(path, (db) =>
    db
      .prepare<[], { table: string; rows: number }>('SELECT "table", rows FROM sync_status')
      .all()
      .flatMap(({ table, rows }) => {
        // A table that was not described yet is not in the file.
        const isThere = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined;
        const text = isThere ? `SELECT count(*) FROM ${quoted(table)}` : 'SELECT 0';
        const count = db.prepare<[], number>(text).pluck().get();
        return count === rows ? [] : [`${table}: ${rows} in sync_status, ${count} in the table`];
      }),
  );
}

/** A name in double quotes. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function cellFromValue(value: Value): Cell {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;
}
