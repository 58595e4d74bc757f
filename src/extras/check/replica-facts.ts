/**
 * What checks ask of the file.
 */
import { sql } from '../../base/sql.ts';
import type { FileColumn } from '../../replica/bookkeeping/file-cells.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryTexts, queryAny } from '../../replica/query.ts';

/** The triggers of other clients on the tables and views that rowsync keeps, as `name on table`. */
export function readForeignTriggers(from: Connection): readonly string[] {
  const text = sql`SELECT name || ' on ' || tbl_name FROM sqlite_schema
    WHERE type = 'trigger' AND name NOT GLOB '_rowsync_*'
      AND (tbl_name COLLATE NOCASE IN (SELECT local_name FROM _rowsync_tables) OR lower(tbl_name) GLOB '_rowsync_*' OR lower(tbl_name) GLOB 'sync_*')
    ORDER BY tbl_name, name`;
  return queryTexts(from, text);
}

/** Whether cells of a column have values of another form, so that the origin has to be asked for their revisions. */
export function hasListedCells(from: Connection, { tableId, columnId }: FileColumn): boolean {
  return queryAny(
    from,
    sql`SELECT 1 FROM _rowsync_file_cells WHERE table_id = ? AND column_id = ? AND form = 'list' LIMIT 1`,
    [tableId, columnId],
  );
}
