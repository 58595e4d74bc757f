/**
 * What is on its way to the origin: recorded durably before its request leaves (I11), so that after a crash its rows are looked up instead of sent
 * again.
 */
import { sql } from '../../base/sql.ts';
import type { OriginWords } from '../../reconcile/outcome.ts';
import type { SentFile } from '../../reconcile/uploads.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAll, queryNumbers } from '../query.ts';

/**
 * The line goes with the last of its rows.
 *
 *    method    create · update · upsert · delete
 *    rows      JSON: id, kind, cells as sent (with path, size and hash of files), and what the origin answered, of each row that
 *              is not settled; of a new row also the largest id that the origin's rows had here then
 */
export const BATCHES = sql`
  CREATE TABLE _rowsync_batches (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('create', 'update', 'upsert', 'delete')),
    sent_at TEXT NOT NULL, rows TEXT NOT NULL
  ) STRICT`;

/** A row of a batch as it is kept: id, kind, cells as pairs of ledger row and value, answer. */
export type KeptRow = readonly [id: number, kind: string, cells: readonly KeptCell[], answer: KeptAnswer | null];

/** A cell as it is kept; the third part is there if a file was sent in place of the value. */
export type KeptCell =
  | readonly [seq: number, value: KeptValue]
  | readonly [seq: number, value: KeptValue, file: SentFile];

/** A value in JSON, which has no long integers. */
export type KeptValue = null | string | boolean | number | { readonly integer: string };

/** What the origin answered about a row. */
interface KeptAnswer {
  readonly as: string;
  readonly id: number | null;
  readonly refusal: OriginWords | null;
}

/** The batches of a table, the oldest first. */
export function readKeptBatches(
  from: Connection,
  tableId: number,
): readonly {
  readonly id: number;
  readonly method: string;
  readonly sentAt: string;
  readonly rows: readonly KeptRow[];
}[] {
  const text = sql`SELECT id, method, sent_at AS sentAt, rows FROM _rowsync_batches WHERE table_id = +? ORDER BY id`;
  const batches = queryAll(from, text, [tableId]) as { id: number; method: string; sentAt: string; rows: string }[];
  return batches.map((batch) => ({ ...batch, rows: JSON.parse(batch.rows) as KeptRow[] })); // written as KeptRow
}

/** Ids of the tables that have batches. */
export function readBatchTables(from: Connection): readonly number[] {
  return queryNumbers(from, sql`SELECT DISTINCT table_id FROM _rowsync_batches ORDER BY table_id`, []);
}

/** Forgets the unsettled batches of a table, with their marks: rows that arrived come back with a pull. */
export function forgetBatches(tx: Tx, tableId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_batches WHERE table_id = ?`).run(tableId);
}

/** Adds a batch that is about to be sent; returns its id. */
export function addBatch(
  tx: Tx,
  batch: {
    readonly tableId: number;
    readonly method: string;
    readonly sentAt: string;
    readonly rows: readonly KeptRow[];
  },
): number {
  const { lastInsertRowid } = tx
    .prepare(sql`INSERT INTO _rowsync_batches (table_id, method, sent_at, rows) VALUES (?, ?, ?, ?)`)
    .run(batch.tableId, batch.method, batch.sentAt, JSON.stringify(batch.rows));
  return Number(lastInsertRowid);
}

/** Stores the rows of a batch that are still to be settled; one without rows is removed. */
export function storeBatchRows(tx: Tx, batchId: number, rows: readonly KeptRow[]): void {
  if (rows.length === 0) tx.prepare(sql`DELETE FROM _rowsync_batches WHERE id = ?`).run(batchId);
  else tx.prepare(sql`UPDATE _rowsync_batches SET rows = ? WHERE id = ?`).run(JSON.stringify(rows), batchId);
}
