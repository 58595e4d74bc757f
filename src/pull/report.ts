/**
 * What a pull reports to its caller: progress while it runs, and a report at its end, whose sums `sync_runs` stores.
 * Pure.
 */
import type { RowsyncError } from '../base/errors.ts';
import type { PullAccount } from '../reconcile/account/pull-account.ts';
import type { RunTotals } from '../replica/bookkeeping/runs.ts';

/** The result of a sweep; counts are rows unless the name says otherwise. */
export interface SweepCounts {
  insertedCount: number;
  updatedCount: number;
  /** Rows that the origin does not have any more. */
  deletedCount: number;
  /** Rows that no longer match the filter of the table. */
  filteredCount: number;
  /** Pages answered 200. */
  pagesReadCount: number;
  /** Pages answered 304, skipped by ETag. */
  pagesNotModifiedCount: number;
  /** Stamps of rows that came by following; not all of many. */
  stamps?: readonly string[];
}

/** One step of a running pull, for a progress bar or plain lines. */
export type PullProgress =
  | { readonly kind: 'start'; readonly tableCount: number; readonly expectedRowCount: number }
  | { readonly kind: 'tableStart'; readonly table: string }
  | { readonly kind: 'page'; readonly table: string; readonly rowCount: number }
  | { readonly kind: 'tableEnd' };

export interface PullPosition {
  /** The table that was heard of last; null before the first. */
  readonly table: string | null;
  readonly tablesDoneCount: number;
  /** Null while the tables are listed. */
  readonly tableCount: number | null;
  readonly rowCount: number;
  /** Rows expected in all tables; 0 if unknown. */
  readonly expectedRowCount: number;
}

/** Before the first step. */
export const PULL_BEGINNING: PullPosition = {
  table: null,
  tablesDoneCount: 0,
  tableCount: null,
  rowCount: 0,
  expectedRowCount: 0,
};

export function positionAfter<Position extends PullPosition>(before: Position, event: PullProgress): Position {
  switch (event.kind) {
    case 'start':
      return { ...before, tableCount: event.tableCount, expectedRowCount: event.expectedRowCount };
    case 'tableStart':
      return { ...before, table: event.table };
    case 'page':
      return { ...before, table: event.table, rowCount: before.rowCount + event.rowCount };
    case 'tableEnd':
      return { ...before, tablesDoneCount: before.tablesDoneCount + 1 };
    default:
      return event satisfies never;
  }
}

export interface RowsOutcome {
  /** Why deletes (or the whole table) wait for a person; null when nothing does. */
  readonly held: RowsyncError | null;
  /** Whether only changes were read; then a delete, or a change without a stamp, may be missing here. */
  readonly isFollowed: boolean;
  /** What became of the rows that the origin listed; null where the table was not read to its end. */
  readonly account: PullAccount | null;
}

/** What one pull did to one table. Counts are rows unless the name says otherwise. */
export interface TablePullReport extends Readonly<SweepCounts>, RowsOutcome {
  /** The name of the table in the replica. */
  readonly table: string;
  /** Rows in the replica now. */
  readonly rowCount: number;
  /** Rows left as they were because one of their values could not be read; listed in `sync_failures`. */
  readonly unreadableCount: number;
  /** Why the table could not be finished; null when it was. */
  readonly error: RowsyncError | null;
  readonly durationMs: number;
}

/** What one pull did. Tables are in the order they were pulled; a failing table does not stop the others. */
export interface PullReport extends RunTotals {
  /** Its `id` in `sync_runs`. */
  readonly runId: number;
  readonly tables: readonly TablePullReport[];
  /** What a person should change in the configuration: a sentence each. */
  readonly notes: readonly string[];
  /** What changed in tables and columns, at the origin or by the configuration: a sentence each. */
  readonly schemaChanges: readonly string[];
  readonly durationMs: number;
  /** Entries of the history that were removed, by age or size. */
  readonly removedEntryCount: number;
  /** A failure that concerns all tables (list of tables, credentials); the pull ended there. */
  readonly error: RowsyncError | null;
  /** The error of a table that would occur for every other table too; tables that had not begun have it too. */
  readonly stop: RowsyncError | null;
}
