/**
 * What a pull reports to its caller: progress while it runs, and a report at its end. Types only; the command line prints them, and `sync_runs`
 * stores their sums.
 */
import type { RowsyncError } from '../base/errors.ts';
import type { PullAccount } from '../reconcile/pull-account.ts';

/** The result of a sweep; counts are rows unless the name says otherwise. */
export interface SweepCounts {
  insertedCount: number;
  updatedCount: number;
  /** Rows that no longer match the filter of the table. */
  filteredCount: number;
  pagesReadCount: number;
  pagesNotModifiedCount: number;
}

/** One step of a running pull, for a progress bar or plain lines. */
export type PullProgress =
  | { readonly kind: 'start'; readonly tableCount: number; readonly expectedRowCount: number }
  | { readonly kind: 'tableStart'; readonly table: string; readonly expectedRowCount: number }
  | { readonly kind: 'page'; readonly table: string; readonly rowCount: number; readonly notModified: boolean }
  | { readonly kind: 'tableEnd'; readonly table: string; readonly report: TablePullReport };

/** What one pull did to one table. Counts are rows unless the name says otherwise. */
export interface TablePullReport {
  /** The name of the table in the replica. */
  readonly table: string;
  /** Rows in the replica now. */
  readonly rowCount: number;
  readonly insertedCount: number;
  readonly updatedCount: number;
  readonly deletedCount: number;
  /** Rows that left: the origin has them, but they no longer match the filter of the table (`rows`). */
  readonly filteredCount: number;
  /** Whether only changes were read; then a delete, or a change without a stamp, may be missing here. */
  readonly isFollowed: boolean;
  /** Pages answered 200. */
  readonly pagesReadCount: number;
  /** Pages answered 304, skipped by ETag. */
  readonly pagesNotModifiedCount: number;
  /** Rows left as they were because one of their values could not be read; listed in `sync_failures`. */
  readonly unreadableCount: number;
  /** What became of the rows that the origin listed; null where the table was not read to its end. */
  readonly account: PullAccount | null;
  /** Why deletes (or the whole table) wait for a person; null when nothing does. */
  readonly held: RowsyncError | null;
  /** Why the table could not be finished; null when it was. */
  readonly error: RowsyncError | null;
  readonly durationMs: number;
}

/** What one pull did. Tables are in the order they were pulled; a failing table does not stop the others. */
export interface PullReport {
  /** Its `id` in `sync_runs`. */
  readonly runId: number;
  readonly tables: readonly TablePullReport[];
  /** What a person should change in the configuration: a sentence each. */
  readonly notes: readonly string[];
  /** What changed in the tables and columns of the origin: a sentence each. */
  readonly schemaChanges: readonly string[];
  readonly requestCount: number;
  readonly notModifiedCount: number;
  /** Bytes of answers as they came over the wire (compressed). */
  readonly receivedBytes: number;
  readonly durationMs: number;
  /** Entries of the history that were removed, by age or size. */
  readonly removedEntryCount: number;
  /** A failure that concerns all tables (list of tables, credentials); the pull ended there. */
  readonly error: RowsyncError | null;
  /** The error of a table that would occur for every other table too; tables that had not begun have it too. */
  readonly stop: RowsyncError | null;
}
