/**
 * The batches that were sent, or are about to be, and not settled yet. A batch is stored with the values it sends before its
 * request leaves (I11), and goes when every row of it is settled; what a crash leaves behind is looked up at the origin before
 * anything is sent again. Columns are kept by ledger row, so that a rename in between does not mix them up. Also here: when
 * rows were pushed with which values, for the guard against two systems that fight.
 */
import { must } from '../base/assert.ts';
import { ALTERNATION_WINDOW_MS, type PastPush } from '../reconcile/guards.ts';
import {
  CHANGE_KINDS,
  WRITE_METHODS,
  type ChangeKind,
  type SentCell,
  type WriteMethod,
} from '../reconcile/push-plan.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { readKeptBatches, readKeptPushes, type KeptCell, type KeptRow, type KeptValue } from '../replica/push-rows.ts';
import { readRowsById, removeRows, writeRows } from '../replica/rows.ts';
import { sql } from '../replica/sql.ts';
import type { Value } from '../wire/schema.ts';
import type { TwoWayTable } from './table.ts';

/** What an answer said of a row, as far as the row is not settled by it alone (reconcile/push-outcome.ts). */
export type AnsweredAs = (typeof ANSWERED_AS)[number];

const ANSWERED_AS = ['accepted', 'recreated', 'met', 'look'] as const;

/** One row of a batch. */
export interface BatchRow {
  /** The id that it has here. */
  readonly id: number;
  readonly kind: ChangeKind;
  /** As sent; the columns are indexes of the table's. */
  readonly cells: readonly SentCell[];
  /** Null while no answer is known. */
  readonly answer: { readonly as: AnsweredAs; readonly id: number | null; readonly refusal: OriginWords | null } | null;
  /** What the origin said when it failed to create the row, or after it did; forgotten when the process ends. */
  readonly failure?: OriginWords | undefined;
  /**
   * Of a new row, and of an update that may make its row again: the largest id of a row of the origin that was known when it left. Batches
   * of earlier versions have none, or only those of a create and of such an update.
   */
  readonly newestKnown?: number | undefined;
  /** Cells that were sent in columns which the origin does not show by now, as they are kept: nothing tells what became of them. */
  readonly hidden?: readonly KeptCell[] | undefined;
}

/** What the origin said against a row. */
export interface OriginWords {
  readonly status: number;
  readonly code: number | null;
  readonly message: string;
  /** The column, where the origin names one. */
  readonly source: string | null;
}

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
  const { lastInsertRowid } = tx
    .prepare(sql`INSERT INTO _rowsync_batches (table_id, method, sent_at, rows) VALUES (?, ?, ?, ?)`)
    .run(table.id, batch.method, batch.sentAt, textFromRows(table, batch.rows));
  return Number(lastInsertRowid);
}

/** Keeps what is not settled of a batch; without rows it is done and goes. */
export function updateBatch(tx: Tx, table: TwoWayTable, batchId: number, rows: readonly BatchRow[]): void {
  if (rows.length === 0) tx.prepare(sql`DELETE FROM _rowsync_batches WHERE id = ?`).run(batchId);
  else tx.prepare(sql`UPDATE _rowsync_batches SET rows = ? WHERE id = ?`).run(textFromRows(table, rows), batchId);
}

/**
 * Forgets cells that were sent, and are put back to what the origin confirmed before, since their edit is given up: found there later, what
 * was sent is what the origin says, and what stands here is no edit of it. Of a row that the origin did not find, nothing can be found: what was
 * sent tells whether the rest is the change that was refused.
 */
export function forgetSentCells(
  tx: Tx,
  table: TwoWayTable,
  columnsByRow: ReadonlyMap<number, ReadonlySet<number>>,
): void {
  const isLeft = ({ id, answer }: BatchRow, { column }: SentCell): boolean =>
    answer?.as === 'look' || columnsByRow.get(id)?.has(column) !== true;
  for (const { id, rows } of readBatches(tx, table)) {
    const left = rows.map((row) => ({ ...row, cells: row.cells.filter((cell) => isLeft(row, cell)) }));
    if (left.some(({ cells }, index) => cells.length !== rows[index]?.cells.length)) updateBatch(tx, table, id, left);
  }
}

/** Forgets what of a table was sent and is not settled, together with its marks: whatever arrived comes back with a pull. */
export function forgetBatches(tx: Tx, tableId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_batches WHERE table_id = ?`).run(tableId);
}

/** The batches of a table that are not settled, the oldest first. */
export function readBatches(from: Connection, table: TwoWayTable): readonly Batch[] {
  return readKeptBatches(from, table.id).map(({ id, method, sentAt, rows }) => {
    return { id, method: oneOf(WRITE_METHODS, method), sentAt, rows: rows.map((row) => rowFromKept(table, row)) };
  });
}

/** The ids that the origin gave for rows of batches of a table which are not settled: each of them is the row of its own change. */
export function readAnsweredIds(from: Connection, table: TwoWayTable): readonly number[] {
  return readBatches(from, table).flatMap(({ rows }) => rows.flatMap(({ answer }) => answer?.id ?? []));
}

/**
 * Puts rows that are on their way back as they were sent, after their table or some of its columns was made again from base, which does
 * not know them: what is missing here would be taken for a delete, and what is old for an edit.
 */
export function restoreSent(
  tx: Tx,
  table: TwoWayTable,
  lost: { readonly table: boolean; readonly columns: ReadonlySet<string> },
): void {
  for (const { id, kind, cells } of readBatches(tx, table).flatMap(({ rows }) => rows)) {
    if (kind === 'delete') {
      if (lost.table) removeRows(tx, table, [id]);
      continue;
    }
    const [stored] = readRowsById(tx, table, [id]);
    const isGone = stored === undefined;
    if (isGone && !lost.table) continue; // deleted by a user
    const row = stored ?? { id, allow: null, values: table.columns.map((): Value => null) };
    const values = row.values.map((value, column): Value => {
      const sent = cells.find((cell) => cell.column === column);
      const isLost = lost.table || lost.columns.has(table.columns[column]?.localName ?? '');
      return sent === undefined || !isLost ? value : sent.value;
    });
    writeRows(tx, table, [{ ...row, values }]);
  }
}

function textFromRows({ columns }: TwoWayTable, rows: readonly BatchRow[]): string {
  const keptRows = rows.map(({ id, kind, cells, answer, newestKnown, hidden = [] }): KeptRow => {
    const shown = cells.map(({ column, value, file }): KeptCell => {
      const { seq } = must(columns[column], 'a cell names a column of its table');
      const keptValue = typeof value === 'bigint' ? { integer: value.toString() } : value;
      return file === undefined ? [seq, keptValue] : [seq, keptValue, file];
    });
    const keptCells = [...shown, ...hidden];
    return newestKnown === undefined ? [id, kind, keptCells, answer] : [id, kind, keptCells, answer, newestKnown];
  });
  return JSON.stringify(keptRows);
}

function rowFromKept({ columns }: TwoWayTable, [id, kind, kept, answer, newestKnown]: KeptRow): BatchRow {
  const indexOf = ([seq]: KeptCell): number => columns.findIndex((known) => known.seq === seq);
  const cells = kept.flatMap((cell) => {
    const [column, value, file] = [indexOf(cell), cell[1], cell[2]];
    return column < 0 ? [] : [{ column, value: valueFromKept(value), ...(file === undefined ? {} : { file }) }];
  });
  const hidden = kept.filter((cell) => indexOf(cell) < 0);
  const known = answer === null ? null : { ...answer, as: oneOf(ANSWERED_AS, answer.as) };
  const row = { id, kind: oneOf(CHANGE_KINDS, kind), cells, answer: known, newestKnown };
  return hidden.length === 0 ? row : { ...row, hidden };
}

/** One of the texts that we wrote ourselves. */
function oneOf<T extends string>(known: readonly T[], text: string): T {
  return must(
    known.find((word) => word === text),
    'the bookkeeping of pushes has our words only',
  );
}

function valueFromKept(value: KeptValue): Value {
  return typeof value === 'object' && value !== null ? BigInt(value.integer) : value;
}

/** Notes that rows were pushed, under their ids at the origin, and forgets what is too old to matter. */
export function storePushes(
  tx: Tx,
  tableId: number,
  pushes: readonly { readonly rowId: number; readonly digest: number }[],
  nowMs: number,
): void {
  tx.prepare(sql`DELETE FROM _rowsync_pushes WHERE table_id = ? AND abs(at_ms - ?) > ?`).run(
    tableId,
    Math.floor(nowMs),
    ALTERNATION_WINDOW_MS,
  );
  if (pushes.length === 0) return;
  tx.prepare(sql`INSERT INTO _rowsync_pushes (table_id, at_ms, row_ids, digests) VALUES (?, ?, ?, ?)`).run(
    tableId,
    BigInt(Math.floor(nowMs)),
    JSON.stringify(pushes.map(({ rowId }) => rowId)),
    JSON.stringify(pushes.map(({ digest }) => digest)),
  );
}

/** The remembered pushes of the given rows, the oldest first. */
export function readPushes(
  from: Connection,
  tableId: number,
  ids: ReadonlySet<number>,
): ReadonlyMap<number, readonly PastPush[]> {
  const pushes = new Map<number, PastPush[]>();
  for (const { atMs, rowIds, digests } of readKeptPushes(from, tableId)) {
    for (const [index, rowId] of rowIds.entries()) {
      if (!ids.has(rowId)) continue;
      const past = { atMs, digest: digests[index] ?? 0 };
      pushes.set(rowId, [...(pushes.get(rowId) ?? []), past]);
    }
  }
  return pushes;
}
