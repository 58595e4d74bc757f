/**
 * Suspects: rows that left their page and have not been seen on another one since. They are deleted only once the
 * origin was asked for them by id. They are stored in the file, so that a crash during a sweep loses none.
 */
import { ident, sql, type Sql } from '../../base/sql.ts';
import type { Connection, Tx, WrittenTable } from '../connection.ts';
import { queryAny, queryNumber, queryNumbers } from '../query.ts';

/** applied   the latest answer that had the row on a page which it left; 0 for rows that no page ever had */
export const SUSPECTS = sql`
  CREATE TABLE _rowsync_suspects (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, applied INTEGER NOT NULL, PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

export function countSuspects(from: Connection, tableId: number): number {
  return queryNumber(from, sql`SELECT count(*) FROM _rowsync_suspects WHERE table_id = ?`, [tableId]);
}

export function hasSuspects(from: Connection, tableId: number): boolean {
  return queryAny(from, sql`SELECT 1 FROM _rowsync_suspects WHERE table_id = ? LIMIT 1`, [tableId]);
}

/** Suspects above `after` in order, at most `count`. */
export function readSuspects(from: Connection, tableId: number, after: number, count: number): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_suspects WHERE table_id = +? AND row_id > ? ORDER BY row_id LIMIT ?`;
  return queryNumbers(from, text, [tableId, after, count]);
}

/** Suspects created from `from` until before `end`, by the stamp in `column`; `from` null: those without one. */
export function suspectsCreated(
  connection: Connection,
  { id, localName }: WrittenTable,
  { column, from, end }: { readonly column: string; readonly from: string | null; readonly end: string | null },
): readonly number[] {
  const second = sql`substr(known.${ident(column)}, 1, 19)`;
  const text = sql`SELECT s.row_id FROM _rowsync_suspects s CROSS JOIN ${ident(localName)} known ON known._id = s.row_id
          WHERE s.table_id = @id AND CASE WHEN @from IS NULL THEN ${second} IS NULL
            ELSE ${second} >= substr(@from, 1, 19) AND (@end IS NULL OR ${second} < substr(@end, 1, 19)) END`;
  return queryNumbers(connection, text, [{ id, from, end }]);
}

/** Makes rows suspects; `rows` selects table, row, and the latest answer that had the row. */
function suspect(tx: Tx, rows: Sql, values: Readonly<Record<string, number | string>>): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_suspects (table_id, row_id, applied) ${rows}
        ON CONFLICT (table_id, row_id) DO UPDATE SET applied = max(applied, excluded.applied)`,
  ).run(values);
}

/** Makes rows suspects that a push wrote: no 304 to an earlier ETag proves them. Reading their page clears them. */
export function suspectPushedRows(tx: Tx, tableId: number, ids: readonly number[]): void {
  const rows = sql`SELECT t.id, value, t.applied FROM _rowsync_tables t, json_each(@ids) WHERE t.id = @tableId`;
  suspect(tx, rows, { tableId, ids: JSON.stringify(ids) });
}

type TablePage = Readonly<Record<'tableId' | 'page', number> & Record<'window', string>>;

/** Makes the rows suspects that were on a page (`before`) and no longer are (`ids`); both are JSON arrays. */
export function suspectLeft(tx: Tx, page: TablePage & Readonly<Record<'before' | 'ids', string>>): void {
  const rows = sql`SELECT p.table_id, old.value, p.applied FROM _rowsync_pages p, json_each(@before) old
      WHERE p.table_id = @tableId AND p."window" = @window AND p.page = @page AND old.value NOT IN (SELECT value FROM json_each(@ids))`;
  suspect(tx, rows, page);
}

/** Makes all rows on the pages of a window suspects, starting at one page. */
export function suspectPagesFrom(tx: Tx, place: TablePage): void {
  const rows = sql`SELECT p.table_id, old.value, p.applied
      FROM _rowsync_pages p JOIN _rowsync_page_rows r USING (table_id, "window", page), json_each(r.row_ids) old
      WHERE p.table_id = @tableId AND p."window" = @window AND p.page >= @page`;
  suspect(tx, rows, place);
}

/** Makes the rows of a table suspects that are on no page. */
export function suspectUnpaged(tx: Tx, { id, localName }: WrittenTable): void {
  const rows = sql`SELECT @id, _id, 0 FROM ${ident(localName)} WHERE _id NOT IN (
      SELECT seen.value FROM _rowsync_page_rows p, json_each(p.row_ids) seen WHERE p.table_id = @id)`;
  suspect(tx, rows, { id });
}

/** Clears the given suspects; `ids` is a JSON array. */
export function clearSuspects(tx: Tx, tableId: number, ids: string): void {
  const text = sql`DELETE FROM _rowsync_suspects WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
  tx.prepare(text).run(tableId, ids);
}

/** The suspects of a table (?) with the pages that show them; CROSS lets SQLite read each page only once. */
export const SEEN_SUSPECTS = sql`
  _rowsync_pages p JOIN _rowsync_page_rows r USING (table_id, "window", page) CROSS JOIN json_each(r.row_ids) row
  CROSS JOIN _rowsync_suspects s ON s.table_id = p.table_id AND s.row_id = row.value
  WHERE p.table_id = ?`;

/** Clears suspects found on a page that was applied after the one they left. */
export function clearSeen(tx: Tx, tableId: number): void {
  tx.prepare(
    sql`DELETE FROM _rowsync_suspects WHERE table_id = ? AND row_id IN (
          SELECT s.row_id FROM ${SEEN_SUSPECTS} AND p.applied > s.applied)`,
  ).run(tableId, tableId);
}
