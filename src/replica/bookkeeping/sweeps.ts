/**
 * How far each table was read: its sweep, what the last answers proved, and up to when only its changes were read.
 * Columns of `_rowsync_tables` (tables.ts).
 */
import { sql } from '../../base/sql.ts';
import { proveHistory } from './history.ts';
import { storeProblem } from './table-errors.ts';
import { touchTable } from './changed-rows.ts';
import { queryNumber } from '../query.ts';
import { readTable } from './tables.ts';
import type { Tx } from '../connection.ts';

/** Begins a sweep, or continues with an unfinished one; returns its number. */
export function openSweep(tx: Tx, tableId: number, at: string): number {
  const { sweep, sweepOpen } = readTable(tx, tableId);
  if (sweepOpen) return sweep;
  const text = sql`UPDATE _rowsync_tables SET sweep = sweep + 1, sweep_open = 1, sweep_started_at = ? WHERE id = ?`;
  tx.prepare(text).run(at, tableId);
  return sweep + 1;
}

/** Ends a sweep: the table is steady, and its last failure is over, also that of a push that met other columns. */
export function closeSweep(
  tx: Tx,
  tableId: number,
  { at, watermark, filter }: { readonly at: string; readonly watermark: string | null; readonly filter: string | null },
): void {
  const { state, pushCode } = readTable(tx, tableId);
  if (state === 'loading') touchTable(tx, tableId);
  tx.prepare(
    sql`UPDATE _rowsync_tables SET state = 'steady', sweep_open = 0, swept_at = @at, end_proven = 1,
          rows_filter = iif(swept_at IS NULL, @filter, rows_filter), rows_wanted = iif(swept_at IS NULL, @filter, rows_wanted),
          watermark = coalesce(@watermark, watermark), ignored_measures = NULL, compared_at = @at, doubted = 0,
          problem_code = NULL, problem_message = NULL, problem_hint = NULL WHERE id = @tableId`,
  ).run({ at, watermark, filter, tableId });
  if (pushCode === 'push.shape') storeProblem(tx, tableId, 'push', null);
  proveHistory(tx, tableId, at);
}

/** Stores the result of a follow; `at` is null if deletes could not be seen, `comparedAt` if no sums were requested. */
export function storeFollowed(
  tx: Tx,
  tableId: number,
  {
    isLarge,
    ...followed
  }: {
    readonly watermark: string;
    readonly at: string | null;
    readonly isLarge: boolean;
    readonly comparedAt: string | null;
  },
): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET watermark = @watermark, followed_at = coalesce(@at, followed_at), large_tail = @isLarge, compared_at = coalesce(@comparedAt, compared_at), problem_code = NULL, problem_message = NULL, problem_hint = NULL
        WHERE id = @tableId`,
  ).run({ ...followed, isLarge: Number(isLarge), tableId });
}

/** Deletes of every table wait once after a change of identity, and no sweep continues. */
export function doubtIdentity(tx: Tx): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET identity_checked = 0, end_proven = 0, sweep_open = 0, pull_consent = NULL`,
  ).run();
}

/** Counts an answer with rows that is applied to a table; returns its number. */
export function nextAnswer(tx: Tx, tableId: number): number {
  const text = sql`UPDATE _rowsync_tables SET applied = applied + 1 WHERE id = ? RETURNING applied`;
  return queryNumber(tx, text, [tableId]);
}

/** Lets the next sweep read every page; an unfinished one starts over. */
export function restartSweep(tx: Tx, tableId: number): void {
  const text = sql`UPDATE _rowsync_tables SET sweep_open = 0, end_proven = 0, one_window = NULL WHERE id = ?`;
  tx.prepare(text).run(tableId);
}
