/**
 * Batches that are not settled yet. A batch is stored with its values before its request leaves (I11), and removed when all its rows are settled.
 * After a crash, its rows are looked up at the origin before anything is sent again. Columns are kept by ledger row, so that a rename in between does
 * not mix them up.
 */
import { must, oneOf } from '../base/assert.ts';
import type { TwoWayTable } from './table.ts';
import { CHANGE_KINDS, WRITE_METHODS, type WriteMethod } from '../reconcile/push-plan.ts';
import type { BatchRow } from '../reconcile/push-settle.ts';
import { ROW_ANSWERS } from '../reconcile/row-state.ts';
import {
  type KeptCell,
  type KeptRow,
  type KeptValue,
  readKeptBatches,
  addBatch,
  forgetBatches,
  storeBatchRows,
} from '../replica/bookkeeping/batches.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { decideMoved } from '../reconcile/outcome.ts';
import { apply, readFacts } from './writer/apply.ts';
import type { Value } from '../wire/schema.ts';

/** A batch that is not settled. */
export interface Batch {
  readonly id: number;
  readonly method: WriteMethod;
  /** Stamp of when it was recorded, right before it was sent. */
  readonly sentAt: string;
  readonly rows: readonly BatchRow[];
}

/** Stores a batch that is about to be sent; returns its id. */
export function storeBatch(tx: Tx, table: TwoWayTable, batch: Omit<Batch, 'id'>): number {
  const { method, sentAt, rows } = batch;
  return addBatch(tx, { tableId: table.id, method, sentAt, rows: keptFromRows(table, rows) });
}

/** Stores the answers for the rows of a batch that have to be settled; a batch without rows is removed. */
export function updateBatch(tx: Tx, table: TwoWayTable, batchId: number, rows: readonly BatchRow[]): void {
  storeBatchRows(tx, batchId, keptFromRows(table, rows));
}

/** The batches of a table that are not settled, the oldest first. */
export function readBatches(from: Connection, table: TwoWayTable): readonly Batch[] {
  return readKeptBatches(from, table.id).map(({ id, method, sentAt, rows }) => {
    return { id, method: oneOf(WRITE_METHODS, method), sentAt, rows: rows.map((row) => rowFromKept(table, row)) };
  });
}

function keptFromRows({ columns }: TwoWayTable, rows: readonly BatchRow[]): readonly KeptRow[] {
  return rows.map(({ id, kind, cells, answer }): KeptRow => {
    const keptCells = cells.map(({ column, value, file }): KeptCell => {
      const { seq } = must(columns[column], 'a cell names a column of its table');
      const keptValue = typeof value === 'bigint' ? { integer: value.toString() } : value;
      return file === undefined ? [seq, keptValue] : [seq, keptValue, file];
    });
    return [id, kind, keptCells, answer];
  });
}

/** A table with a batch keeps its columns, so every cell has its column; an answer in words of an earlier version is ignored. */
function rowFromKept({ columns }: TwoWayTable, [id, kind, kept, answer]: KeptRow): BatchRow {
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

/**
 * Parks unsettled rows of a table. Another client dropped a part of the table, so later edits cannot be distinguished from sent values.
 */
export function doubtBatches(tx: Tx, table: TwoWayTable, at: string): void {
  const reason = 'its table was dropped here while it was on its way; look at the origin, then retry or discard it';
  for (const { rows } of readBatches(tx, table)) {
    const rowById = new Map(rows.map((row) => [row.id, row]));
    const outcomes = readFacts(tx, table, [...rowById.keys()]).map((facts) => {
      const { kind, cells } = must(rowById.get(facts.id), 'facts come for each id');
      return decideMoved(facts, 'doubted', { kind, reason, column: null, words: null, hope: 'never', cells });
    });
    apply(tx, table, { outcomes, nowMs: Date.parse(at) });
  }
  forgetBatches(tx, table.id);
}
