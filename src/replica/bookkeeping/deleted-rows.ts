/**
 * Evidence of every delete: the last values of the row, so that a person can look, or bring it back.
 */
import { sql } from '../../base/sql.ts';
import type { Stored, Tx, WrittenTable } from '../connection.ts';

/** row_values: JSON object of the replica's columns, by their names now. Never pruned. */
export const DELETED = sql`
  CREATE TABLE _rowsync_deleted (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, table_name TEXT NOT NULL, row_id INTEGER NOT NULL,
    deleted_at TEXT NOT NULL, reason TEXT NOT NULL, row_values TEXT NOT NULL
  ) STRICT`;

export const DELETED_VIEW = sql`
  CREATE VIEW sync_deleted AS
  SELECT seq AS id, table_name AS "table", row_id, deleted_at, reason, row_values AS last_values FROM _rowsync_deleted`;

export function storeDeleted(
  tx: Tx,
  table: WrittenTable,
  row: { readonly id: number; readonly values: string },
  why: { readonly reason: string; readonly at: string },
): void {
  const text = sql`INSERT INTO _rowsync_deleted (table_id, table_name, row_id, deleted_at, reason, row_values) VALUES (?, ?, ?, ?, ?, ?)`;
  tx.prepare(text).run(table.id, table.localName, row.id, why.at, why.reason, row.values);
}

export function storeLastValues(tx: Tx, seq: number, values: Stored): void {
  tx.prepare(sql`UPDATE _rowsync_deleted SET row_values = ? WHERE seq = ?`).run(values, seq);
}
