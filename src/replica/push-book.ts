/**
 * The bookkeeping of pushes: what is on its way, and what was refused. The tables are written by
 * capture/batches.ts and capture/refusals.ts, whose types they hold; here they only stand beside the others, and the view that people
 * read.
 */
import { sql } from '../base/sql.ts';

/**
 * Batches that were recorded and are not settled; the row goes with its last row. Written before its request leaves, with
 * `synchronous = FULL`.
 *
 *    method    create · update · upsert · delete
 *    rows      JSON: id, kind, cells as sent (with path, size and hash of files), and what the origin answered, of each row that
 *              is not settled; of a new row also the largest id that the origin's rows had here then
 */
const BATCHES = sql`
  CREATE TABLE _rowsync_batches (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('create', 'update', 'upsert', 'delete')),
    sent_at TEXT NOT NULL, rows TEXT NOT NULL
  ) STRICT`;

/**
 * Why rows were not taken. A row waits only while its mark in _rowsync_rows is `refused` or `inDoubt`.
 *
 *    reason        the origin's words, or ours where the row was refused before it was sent
 *    status, code  of the origin; null where it was not asked
 *    sent          JSON object of the cells as they were sent; null for deletes and for what was not sent
 *    tries refusals so far; with retry_at_ms (null for never) they say when the row is tried again
 */
const REFUSALS = sql`
  CREATE TABLE _rowsync_refusals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, row_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('insert', 'update', 'delete')), column_name TEXT, reason TEXT NOT NULL,
    status INTEGER, code INTEGER, sent TEXT, tries INTEGER NOT NULL, since_ms INTEGER NOT NULL, retry_at_ms INTEGER,
    UNIQUE (table_id, row_id)
  ) STRICT`;

/** Rows that could not be read, and rows that were not taken, with the reason; `id` is what `rowsync retry` takes. */
export const FAILURES_VIEW = sql`
  CREATE VIEW sync_failures AS
  SELECT NULL AS id, t.local_name AS "table", u.row_id, 'read' AS kind, u.column_name AS "column", u.reason, u.since,
         NULL AS status, NULL AS code, NULL AS sent, NULL AS retry_at
  FROM _rowsync_unreadable u JOIN _rowsync_tables t ON t.id = u.table_id
  UNION ALL
  SELECT f.id, t.local_name, f.row_id, CASE r.state WHEN 'inDoubt' THEN 'inDoubt' ELSE f.kind END, f.column_name, f.reason,
         strftime('%Y-%m-%dT%H:%M:%SZ', f.since_ms / 1000, 'unixepoch'), f.status, f.code, f.sent,
         strftime('%Y-%m-%dT%H:%M:%SZ', f.retry_at_ms / 1000, 'unixepoch')
  FROM _rowsync_refusals f JOIN _rowsync_tables t ON t.id = f.table_id
  JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id AND r.state IN ('refused', 'inDoubt')`;

/** The tables above. */
export const PUSH_TABLES = [BATCHES, REFUSALS];
