/**
 * The steps that bring the bookkeeping of an earlier release to this one, each from the release before it; 0.1.0 has version 5. A step says in
 * full what it makes, since the tables of today change again; views are made anew after the last one.
 */
import type Database from 'better-sqlite3';
import { sql } from '../base/sql.ts';

interface Migration {
  readonly why: string;
  readonly run: (db: Database.Database) => void;
}

export const RELEASED_VERSIONS: ReadonlySet<number> = new Set([5]);

function step(why: string, ...statements: readonly string[]): Migration {
  return { why, run: (db) => void db.exec(statements.join(';\n')) };
}

/** The steps by the version that they lead to. */
export const MIGRATIONS: Readonly<Record<number, Migration>> = {
  14: step(
    'following, windows, history, results of runs, filters and masks; options follow renamed tables; changes of the schema are listed',
    sql`ALTER TABLE _rowsync_tables ADD COLUMN missing_columns TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN watermark TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN followed_at TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN one_window TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN large_tail INTEGER NOT NULL DEFAULT 0`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN ignored_measures TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN compared_at TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN rows_filter TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN rows_wanted TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN left_out TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN page_rows INTEGER`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN row_colors TEXT`,
    sql`ALTER TABLE _rowsync_tables ADD COLUMN older_copy TEXT`,
    sql`UPDATE _rowsync_tables SET older_copy = iif(doubt_creates_from < 0, 'creates', 'edits')
        WHERE doubt_creates_from IS NOT NULL`,
    sql`ALTER TABLE _rowsync_identity ADD COLUMN names TEXT NOT NULL DEFAULT 'origin' CHECK (names IN ('origin', 'snake'))`,
    sql`ALTER TABLE _rowsync_columns ADD COLUMN mask TEXT`,
    sql`ALTER TABLE _rowsync_conflicts ADD COLUMN seen INTEGER NOT NULL DEFAULT 0`,
    // Added beside the old one, since SQLite renames no column while another program's view reads from a table that is missing.
    sql`ALTER TABLE _rowsync_conflicts ADD COLUMN requested INTEGER NOT NULL DEFAULT 0`,
    sql`UPDATE _rowsync_conflicts SET requested = wish`,
    sql`DROP TABLE IF EXISTS _rowsync_pushes`,
    sql`ALTER TABLE _rowsync_runs ADD COLUMN per_table TEXT`,
    sql`CREATE TABLE _rowsync_quarters (
      table_id INTEGER NOT NULL, quarter INTEGER NOT NULL, fare TEXT NOT NULL, went_well INTEGER NOT NULL,
      PRIMARY KEY (table_id, quarter)
    ) STRICT, WITHOUT ROWID`,
    // It kept one of each format, and only the one in use is current; the next pull asks anew.
    sql`DELETE FROM _rowsync_descriptors`,
    // The known pages are those of the first window.
    sql`CREATE TEMP TABLE pages_before AS SELECT * FROM _rowsync_pages`,
    sql`CREATE TEMP TABLE page_rows_before AS SELECT * FROM _rowsync_page_rows`,
    sql`DROP TABLE _rowsync_pages`,
    sql`DROP TABLE _rowsync_page_rows`,
    sql`CREATE TABLE _rowsync_pages (
      table_id INTEGER NOT NULL, "window" TEXT NOT NULL, page INTEGER NOT NULL, url TEXT NOT NULL, etag TEXT,
      row_count INTEGER NOT NULL, first_id INTEGER, last_id INTEGER, last_stamp TEXT, tie_count INTEGER NOT NULL,
      applied INTEGER NOT NULL, sweep INTEGER NOT NULL, verified_at TEXT NOT NULL,
      PRIMARY KEY (table_id, "window", page)
    ) STRICT`,
    sql`CREATE TABLE _rowsync_page_rows (
      table_id INTEGER NOT NULL, "window" TEXT NOT NULL, page INTEGER NOT NULL, row_ids TEXT NOT NULL,
      PRIMARY KEY (table_id, "window", page)
    ) STRICT`,
    sql`INSERT INTO _rowsync_pages (table_id, "window", page, url, etag, row_count, first_id, last_id, tie_count, applied, sweep, verified_at)
        SELECT table_id, '', page, url, etag, row_count, first_id, last_id, row_count, applied, sweep, verified_at FROM temp.pages_before`,
    sql`INSERT INTO _rowsync_page_rows (table_id, "window", page, row_ids)
        SELECT table_id, '', page, row_ids FROM temp.page_rows_before`,
    sql`DROP TABLE temp.pages_before`,
    sql`DROP TABLE temp.page_rows_before`,
    sql`CREATE TABLE _rowsync_history (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER, row_id INTEGER, kind TEXT NOT NULL, at INTEGER NOT NULL,
      not_before INTEGER, not_after INTEGER, origin_at INTEGER, origin_by TEXT, cause TEXT NOT NULL, run_id INTEGER,
      was_id INTEGER, cells TEXT
    ) STRICT`,
    sql`CREATE INDEX _rowsync_history_by_row ON _rowsync_history (row_id, table_id)`,
    sql`CREATE INDEX _rowsync_history_by_time ON _rowsync_history (strftime('%Y-%m-%dT%H:%M:%SZ', at, 'unixepoch'))`,
    sql`CREATE TABLE _rowsync_history_tables (
      table_id INTEGER PRIMARY KEY, begun_seq INTEGER, proven_at INTEGER, captured_at INTEGER,
      bytes INTEGER NOT NULL DEFAULT 0, oldest_at INTEGER, pruning_held TEXT
    ) STRICT`,
    sql`CREATE TABLE _rowsync_history_doubts (
      table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, proven_at INTEGER, PRIMARY KEY (table_id, row_id)
    ) STRICT, WITHOUT ROWID`,
    sql`CREATE TABLE _rowsync_history_edits (
      table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, cells BLOB, PRIMARY KEY (table_id, row_id)
    ) STRICT, WITHOUT ROWID`,
    sql`CREATE TABLE _rowsync_history_names (
      table_id INTEGER NOT NULL, column_seq INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (table_id, column_seq)
    ) STRICT, WITHOUT ROWID`,
    sql`CREATE TABLE _rowsync_described (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, bound_name TEXT, bound_key TEXT, seen_key TEXT,
      is_described INTEGER NOT NULL
    ) STRICT`,
    sql`CREATE INDEX _rowsync_described_by_name ON _rowsync_described (name)`,
    sql`INSERT INTO _rowsync_described (id, name, bound_name, is_described)
        SELECT id, name, name, state <> 'gone' FROM _rowsync_tables`,
    sql`CREATE TABLE _rowsync_schema_changes (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, run_id INTEGER, kind TEXT NOT NULL,
      table_name TEXT NOT NULL, column_name TEXT, former TEXT, now TEXT
    ) STRICT`,
    sql`CREATE TABLE _rowsync_moments (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, tables TEXT NOT NULL, not_covered TEXT NOT NULL, holds INTEGER NOT NULL
    ) STRICT`,
    sql`CREATE TABLE _rowsync_contracts (
      name TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, hint TEXT NOT NULL, since TEXT NOT NULL,
      PRIMARY KEY (name, code)
    ) STRICT, WITHOUT ROWID`,
  ),
};
