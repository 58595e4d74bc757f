/**
 * What is on its way to the origin: recorded durably before its request leaves (I11). So after a crash its rows are
 * looked up instead of sent again. Columns are kept by number, so that a rename in between does not mix them up.
 */
import { must, oneOf } from '../../base/assert.ts';
import { sql } from '../../base/sql.ts';
import type { RowReply } from '../../reconcile/push-answer.ts';
import { CHANGE_KINDS, WRITE_METHODS, type WriteMethod } from '../../reconcile/push-plan.ts';
import type { BatchRow } from '../../reconcile/push-settle.ts';
import { ROW_ANSWERS } from '../../reconcile/row-state.ts';
import type { Row, Value } from '../../wire/schema.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAll, queryNumbers } from '../query.ts';
import type { ColumnedTable } from './columns.ts';
import type { SentFile } from '../../reconcile/files.ts';

/**
 * The line goes with the last of its rows.
 *
 *    method    create · update · upsert · delete
 *    rows      JSON: id, kind, cells as sent (with path, size and hash of files) and answer of each unsettled row
 */
export const BATCHES = sql`
  CREATE TABLE _rowsync_batches (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('create', 'update', 'upsert', 'delete')),
    sent_at TEXT NOT NULL, rows TEXT NOT NULL
  ) STRICT`;

/** A row of a batch as it is kept: id, kind, cells as pairs of column number and value, answer. */
export type KeptRow = readonly [id: number, kind: string, cells: readonly KeptCell[], answer: KeptAnswer | null];

/** A cell as it is kept; the third part is there if a file was sent in place of the value. */
export type KeptCell =
  | readonly [seq: number, value: KeptValue]
  | readonly [seq: number, value: KeptValue, file: SentFile];

/** A value in JSON, which has no long integers. */
type KeptValue = null | string | boolean | number | { readonly integer: string };

interface KeptAnswer extends Omit<RowReply, 'as'> {
  readonly as: string;
}

/** A batch that is not settled. */
export interface Batch {
  readonly id: number;
  readonly method: WriteMethod;
  /** Stamp of when it was recorded, right before it was sent. */
  readonly sentAt: string;
  readonly rows: readonly BatchRow[];
  /** What the origin had confirmed of the rows when they were recorded; left out for a batch of an earlier push. */
  readonly bases?: ReadonlyMap<number, Row> | undefined;
}

export function readBatchTables(from: Connection): readonly number[] {
  return queryNumbers(from, sql`SELECT DISTINCT table_id FROM _rowsync_batches ORDER BY table_id`, []);
}

export function readBatches(from: Connection, table: ColumnedTable): readonly Batch[] {
  const text = sql`SELECT id, method, sent_at AS sentAt, rows FROM _rowsync_batches WHERE table_id = +? ORDER BY id`;
  const batches = queryAll(from, text, [table.id]) as { id: number; method: string; sentAt: string; rows: string }[];
  return batches.map(({ id, method, sentAt, rows }) => {
    const kept = JSON.parse(rows) as KeptRow[]; // written as such
    return { id, method: oneOf(WRITE_METHODS, method), sentAt, rows: kept.map((row) => rowFromKept(table, row)) };
  });
}

/** Stores a batch that is about to be sent; returns its id. */
export function storeBatch(tx: Tx, table: ColumnedTable, { method, sentAt, rows }: Omit<Batch, 'id'>): number {
  const { lastInsertRowid } = tx
    .prepare(sql`INSERT INTO _rowsync_batches (table_id, method, sent_at, rows) VALUES (?, ?, ?, ?)`)
    .run(table.id, method, sentAt, textFromRows(table, rows));
  return Number(lastInsertRowid);
}

/** Stores the answers for the rows of a batch that have to be settled; a batch without rows is removed. */
export function updateBatch(tx: Tx, table: ColumnedTable, batchId: number, rows: readonly BatchRow[]): void {
  const text =
    rows.length === 0
      ? sql`DELETE FROM _rowsync_batches WHERE id = @batchId`
      : sql`UPDATE _rowsync_batches SET rows = @rows WHERE id = @batchId`;
  tx.prepare(text).run({ batchId, rows: textFromRows(table, rows) });
}

/** Forgets the unsettled batches of a table, with their marks: rows that arrived come back with a pull. */
export function forgetBatches(tx: Tx, tableId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_batches WHERE table_id = ?`).run(tableId);
}

function textFromRows({ columns }: ColumnedTable, rows: readonly BatchRow[]): string {
  const kept = rows.map(({ id, kind, cells, answer }): KeptRow => {
    const keptCells = cells.map(({ column, value, file }): KeptCell => {
      const { seq } = must(columns[column], 'a cell names a column of its table');
      const keptValue = typeof value === 'bigint' ? { integer: value.toString() } : value;
      return file === undefined ? [seq, keptValue] : [seq, keptValue, file];
    });
    return [id, kind, keptCells, answer];
  });
  return JSON.stringify(kept);
}

/** A table with a batch keeps its columns, so every cell has one. An answer of an earlier version is ignored. */
function rowFromKept({ columns }: ColumnedTable, [id, kind, kept, answer]: KeptRow): BatchRow {
  const cells = kept.flatMap(([seq, value, file]) => {
    const column = columns.findIndex((known) => known.seq === seq);
    return column < 0 ? [] : [{ column, value: valueFromKept(value), ...(file === undefined ? {} : { file }) }];
  });
  const as = ROW_ANSWERS.find((word) => word === answer?.as);
  const known = answer === null || as === undefined || as === 'lost' ? null : { ...answer, as };
  return { id, kind: oneOf(CHANGE_KINDS, kind), cells, answer: known };
}

function valueFromKept(value: KeptValue): Value {
  return typeof value === 'object' && value !== null ? BigInt(value.integer) : value;
}
