/**
 * The statements that bring the bookkeeping of each earlier release straight to this version; 0.1.0 has version 5. What
 * a release lacks is made as in a new file, and views are made anew afterwards (bookkeeping/schema.ts).
 */
import { sql, type Sql } from '../base/sql.ts';
import { MOMENTS } from './bookkeeping/changed-rows.ts';
import { DESCRIBED_TABLES } from './bookkeeping/described-tables.ts';
import { HISTORY_PARTS } from './bookkeeping/history.ts';
import { PAGE_ROWS, PAGES } from './bookkeeping/pages.ts';
import { QUARTERS } from './bookkeeping/runs.ts';
import { SCHEMA_CHANGES } from './bookkeeping/schema-changes.ts';

/** By the version of the release. */
export const MIGRATIONS: Readonly<Record<number, readonly Sql[]>> = {
  5: [
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
    // Added beside the old one: SQLite renames no column while a view of another program misses its table.
    sql`ALTER TABLE _rowsync_conflicts ADD COLUMN requested INTEGER NOT NULL DEFAULT 0`,
    sql`UPDATE _rowsync_conflicts SET requested = wish`,
    sql`DROP TABLE IF EXISTS _rowsync_pushes`,
    sql`ALTER TABLE _rowsync_runs ADD COLUMN per_table TEXT`,
    QUARTERS,
    // It kept one of each format, and only the one in use is current; the next pull asks anew.
    sql`DELETE FROM _rowsync_descriptors`,
    // The known pages are those of the first window.
    sql`CREATE TEMP TABLE pages_before AS SELECT * FROM _rowsync_pages`,
    sql`CREATE TEMP TABLE page_rows_before AS SELECT * FROM _rowsync_page_rows`,
    sql`DROP TABLE _rowsync_pages`,
    sql`DROP TABLE _rowsync_page_rows`,
    PAGES,
    PAGE_ROWS,
    sql`INSERT INTO _rowsync_pages (table_id, "window", page, url, etag, row_count, first_id, last_id, tie_count, applied, sweep, verified_at)
        SELECT table_id, '', page, url, etag, row_count, first_id, last_id, row_count, applied, sweep, verified_at FROM temp.pages_before`,
    sql`INSERT INTO _rowsync_page_rows (table_id, "window", page, row_ids)
        SELECT table_id, '', page, row_ids FROM temp.page_rows_before`,
    sql`DROP TABLE temp.pages_before`,
    sql`DROP TABLE temp.page_rows_before`,
    sql`UPDATE _rowsync_rows SET state = 'sending' WHERE state = 'unknown'`,
    ...HISTORY_PARTS,
    SCHEMA_CHANGES,
    MOMENTS,
    ...DESCRIBED_TABLES,
    sql`INSERT INTO _rowsync_described (id, name, bound_name, is_described)
        SELECT id, name, name, state <> 'gone' FROM _rowsync_tables`,
  ],
};
