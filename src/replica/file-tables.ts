/**
 * The bookkeeping of attached files: which cells of attachment columns were looked at, which revisions there are, and where
 * their content stands. Part of the bookkeeping (bookkeeping.ts); content is in the file store, never in SQLite.
 *
 * Invariant (I15): a row names content only after it was stored whole and made durable. No row is deleted because the origin
 * lost something; that is marked.
 */
import { sql, type Sql } from '../base/sql.ts';

/**
 * Where content is kept (one row): the folder of the last run, so that the view can name whole paths.
 *
 *    bytes   of all content, each once
 */
const FILE_STORE = sql`
  CREATE TABLE _rowsync_file_store (
    lock INTEGER PRIMARY KEY CHECK (lock = 1), folder TEXT NOT NULL
  ) STRICT`;

/**
 * Cells of attachment columns as they were last looked at; one whose value differs from the user table is looked at again.
 * Columns and tables go by the origin's ids.
 *
 *    value           what the cell said
 *    mode            latest or all: which revisions were looked for
 *    guid            the latest revision, null where there is none
 *    etag            of the list, behind its URL, where the origin had to be asked for it
 *    form            value (name;revision;guid) · list (anything else, so that the origin has to be asked each time)
 *    problem         why the revisions could not be listed, null after a success
 *    failures        how often in a row; retry_at is when it is worth another try
 */
const FILE_CELLS = sql`
  CREATE TABLE _rowsync_file_cells (
    table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, row_id INTEGER NOT NULL,
    value TEXT, mode TEXT NOT NULL CHECK (mode IN ('latest', 'all')), guid TEXT, etag TEXT,
    form TEXT NOT NULL CHECK (form IN ('value', 'list')),
    problem TEXT, failures INTEGER NOT NULL DEFAULT 0, retry_at TEXT,
    PRIMARY KEY (table_id, column_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/**
 * Every revision that was ever heard of, one row for each place and guid.
 *
 *    table_name, column_name   names here, for the time after table or column are gone
 *    name, type, author        as the origin says; type, bytes, author and created_at are null until it said
 *    sha256                    of the content, null while it is not here
 *    state     missing (not here yet) · here · failed (see reason) · skipped (by the rule in reason)
 *    vanished_at               when the origin no longer had it; content stays
 *    failures, retry_at        as for cells
 */
const FILES = sql`
  CREATE TABLE _rowsync_files (
    id INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, row_id INTEGER NOT NULL,
    table_name TEXT NOT NULL, column_name TEXT NOT NULL,
    revision INTEGER NOT NULL, guid TEXT NOT NULL, name TEXT NOT NULL, type TEXT, bytes INTEGER,
    author TEXT, created_at TEXT, sha256 TEXT,
    state TEXT NOT NULL DEFAULT 'missing' CHECK (state IN ('missing', 'here', 'failed', 'skipped')),
    reason TEXT, vanished_at TEXT, failures INTEGER NOT NULL DEFAULT 0, retry_at TEXT,
    UNIQUE (table_id, column_id, row_id, guid),
    CHECK ((state = 'here') = (sha256 IS NOT NULL))
  ) STRICT`;
const FILES_BY_GUID = sql`CREATE INDEX _rowsync_files_by_guid ON _rowsync_files (guid)`;
const FILES_BY_CONTENT = sql`CREATE INDEX _rowsync_files_by_content ON _rowsync_files (sha256) WHERE sha256 IS NOT NULL`;
const FILES_NOT_HERE = sql`CREATE INDEX _rowsync_files_not_here ON _rowsync_files (table_id, column_id, row_id) WHERE state <> 'here'`;

/** One row per revision, and one per cell whose revisions could not be listed. */
export const FILES_VIEW = sql`
  CREATE VIEW sync_files AS
  SELECT coalesce(t.local_name, f.table_name) AS "table", f.row_id, coalesce(c.local_name, f.column_name) AS "column",
         f.revision, f.name, f.type, f.bytes, f.sha256, f.guid, f.author, f.created_at AS created, f.state, f.reason,
         f.vanished_at AS vanished,
         (SELECT s.folder || '/' || substr(f.sha256, 1, 2) || '/' || f.sha256
          FROM _rowsync_file_store s) AS path
  FROM _rowsync_files f
  LEFT JOIN _rowsync_tables t ON t.id = f.table_id
  LEFT JOIN _rowsync_columns c ON c.table_id = f.table_id AND c.id = f.column_id AND c.state = 'live'
  UNION ALL
  SELECT t.local_name, k.row_id, c.local_name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'failed', k.problem, NULL, NULL
  FROM _rowsync_file_cells k JOIN _rowsync_tables t ON t.id = k.table_id
  JOIN _rowsync_columns c ON c.table_id = k.table_id AND c.id = k.column_id AND c.state = 'live'
  WHERE k.problem IS NOT NULL`;

/**
 * Whether the time `retryAt` has come at `@now`. No failure makes a file wait for more than a day, so what is due later was
 * stored before the clock was set back.
 */
export function isDue(retryAt: Sql): Sql {
  return sql`(${retryAt} <= @now OR ${retryAt} > strftime('%Y-%m-%dT%H:%M:%SZ', @now, '+1 day'))`;
}

/** The tables, in the order in which they are created. */
export const FILE_TABLES = [FILE_STORE, FILE_CELLS, FILES, FILES_BY_GUID, FILES_BY_CONTENT, FILES_NOT_HERE];
