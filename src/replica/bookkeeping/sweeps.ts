/**
 * How far each table was read: its sweep, what the last answers proved, and what keeps it from being read by windows. Columns of `_rowsync_tables`
 * (tables.ts).
 */
import { sql } from '../../base/sql.ts';
import { proveHistory } from './history.ts';
import { readTableProblems, storePushProblem } from './table-errors.ts';
import { touchTable } from './changed-rows.ts';
import { queryNumber, withFlags } from '../query.ts';
import { readTable, readPart } from './tables.ts';
import type { Tx, Connection } from '../connection.ts';

/** How far a table was read. */
export interface SweepState {
  /** Number of the current or last sweep; 0 before the first. */
  readonly sweep: number;
  readonly sweepOpen: boolean;
  readonly endProven: boolean;
  readonly identityChecked: boolean;
  readonly sweptAt: string | null;
  /** Another client may have changed rows that no sweep has proven since. */
  readonly isDistrusted: boolean;
  /** Why the table is read as one window; null where it is read by windows. */
  readonly oneWindow: string | null;
  /** Rows of a page, since larger ones did not fit; null if those of the configuration do. */
  readonly pageRows: number | null;
}

/** How far a table was read; it must exist. */
export function readSweep(from: Connection, tableId: number): SweepState {
  const columns = sql`sweep, sweep_open AS sweepOpen, end_proven AS endProven, identity_checked AS identityChecked, swept_at AS sweptAt,
    doubted <> 0 AS isDistrusted, one_window AS oneWindow, page_rows AS pageRows`;
  const flags: readonly (keyof SweepState)[] = ['sweepOpen', 'endProven', 'identityChecked', 'isDistrusted'];
  return withFlags(readPart(from, tableId, columns), ...flags) as SweepState; // as selected
}

/** Begins a sweep, or continues with an unfinished one; returns its number. */
export function openSweep(tx: Tx, tableId: number, at: string): number {
  const { sweep, sweepOpen } = readSweep(tx, tableId);
  if (sweepOpen) return sweep;
  const text = sql`UPDATE _rowsync_tables SET sweep = sweep + 1, sweep_open = 1, sweep_started_at = ? WHERE id = ?`;
  tx.prepare(text).run(at, tableId);
  return sweep + 1;
}

/** Ends a sweep: the table is steady, and the last failure is forgotten, also that a push found other columns than were read. */
export function closeSweep(
  tx: Tx,
  tableId: number,
  { at, watermark, filter }: { readonly at: string; readonly watermark: string | null; readonly filter: string | null },
): void {
  if (readTable(tx, tableId).state === 'loading') touchTable(tx, tableId);
  tx.prepare(
    sql`UPDATE _rowsync_tables SET state = 'steady', sweep_open = 0, swept_at = @at, end_proven = 1,
          rows_filter = iif(swept_at IS NULL, @filter, rows_filter), rows_wanted = iif(swept_at IS NULL, @filter, rows_wanted),
          watermark = coalesce(@watermark, watermark), ignored_measures = NULL, compared_at = @at, doubted = 0,
          problem_code = NULL, problem_message = NULL, problem_hint = NULL WHERE id = @tableId`,
  ).run({ at, watermark, filter, tableId });
  if (readTableProblems(tx, tableId).pushCode === 'push.shape') storePushProblem(tx, tableId, null);
  proveHistory(tx, tableId, at);
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
