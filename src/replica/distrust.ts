/**
 * A user table that is not trusted any more: another client may have edited it, or an ETag may be wrong. Input: the table as it stands. Output:
 * bookkeeping in which every row has to be proven again. The next sweep brings back what was edited or deleted here; rows that no page has are looked
 * up like any missing row.
 */
import type { Tx } from './connection.ts';
import { forgetEtags } from './bookkeeping/pages.ts';
import { ident, sql } from '../base/sql.ts';
import { baseName } from './tables.ts';
import { touchTable } from './bookkeeping/touched.ts';

/** Takes nothing in the user table for certain; it must stand in the file. */
export function distrustRows(tx: Tx, table: { readonly id: number; readonly localName: string }): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET doubted = 1 WHERE id = ?`).run(table.id);
  distrustConfirmed(tx, table);
}

/** Takes nothing in the base of a two-way table for certain. What was edited is found by comparing all rows with it. */
export function distrustBase(tx: Tx, table: { readonly id: number; readonly localName: string }): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET compare_due = 1 WHERE id = ?`).run(table.id);
  distrustConfirmed(tx, { id: table.id, localName: baseName(table.id) });
}

function distrustConfirmed(tx: Tx, { id, localName }: { readonly id: number; readonly localName: string }): void {
  const table = ident(localName);
  forgetEtags(tx, id);
  touchTable(tx, id);
  tx.prepare(sql`UPDATE _rowsync_tables SET row_count = (SELECT count(*) FROM ${table}) WHERE id = ?`).run(id);
  tx.prepare(
    sql`INSERT OR IGNORE INTO _rowsync_suspects (table_id, row_id, applied)
        SELECT @id, _id, 0 FROM ${table} WHERE _id NOT IN (
          SELECT seen.value FROM _rowsync_page_rows p, json_each(p.row_ids) seen WHERE p.table_id = @id)`,
  ).run({ id });
}
