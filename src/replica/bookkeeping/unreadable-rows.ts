/**
 * Rows with values that do not fit their column's type. The table keeps older versions of them, and each pull retries.
 */
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import type { UnreadableRow } from '../../wire/schema.ts';
import { queryNumber } from '../query.ts';

/** One line a row, with the first such column and why; never with the value. */
export const UNREADABLE = sql`
  CREATE TABLE _rowsync_unreadable (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, column_name TEXT NOT NULL, reason TEXT NOT NULL,
    since TEXT NOT NULL, PRIMARY KEY (table_id, row_id)
  ) STRICT`;

/** Stores which rows of a page could not be read, and clears those that now can. */
export function storeUnreadable(
  tx: Tx,
  tableId: number,
  content: { readonly ids: readonly number[]; readonly unreadable: readonly UnreadableRow[] },
  at: string,
): void {
  if (content.unreadable.length === 0 && countUnreadable(tx, tableId) === 0) return;
  const unreadableIds = JSON.stringify(content.unreadable.map(({ id }) => id));
  tx.prepare(
    sql`DELETE FROM _rowsync_unreadable WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))
          AND row_id NOT IN (SELECT value FROM json_each(?))`,
  ).run(tableId, JSON.stringify(content.ids), unreadableIds);
  for (const { id, column, reason } of content.unreadable) {
    tx.prepare(
      sql`INSERT INTO _rowsync_unreadable (table_id, row_id, column_name, reason, since) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (table_id, row_id) DO UPDATE SET column_name = excluded.column_name, reason = excluded.reason`,
    ).run(tableId, id, column, reason, at);
  }
}

export function countUnreadable(from: Connection, tableId: number): number {
  return queryNumber(from, sql`SELECT count(*) FROM _rowsync_unreadable WHERE table_id = ?`, [tableId]);
}

/** Forgets that rows could not be read; `ids` is a JSON array. */
export function forgetUnreadable(tx: Tx, tableId: number, ids: string): void {
  const text = sql`DELETE FROM _rowsync_unreadable WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
  tx.prepare(text).run(tableId, ids);
}
