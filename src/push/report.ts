/**
 * What a push did, table by table. Types, and the empty count.
 */
import type { RowsyncError } from '../base/errors.ts';

/** Counts of rows. */
export interface TablePushCounts {
  insertedCount: number;
  updatedCount: number;
  deletedCount: number;
  /** Refused by the origin, or before it was asked. */
  refusedCount: number;
  /** Creates that may have happened or not. */
  inDoubtCount: number;
  /** Conflicts that came up, decided or not. */
  conflictCount: number;
}

/** What became of one table. */
export interface TablePushReport extends Readonly<TablePushCounts> {
  /** Name in the replica. */
  readonly table: string;
  /** Changed rows that are still to be pushed. */
  readonly waitingCount: number;
  /** Rows that wait for a person or a timer, from this push and earlier ones. */
  readonly parkedCount: number;
  /** Conflicts that wait for a person. */
  readonly openConflictCount: number;
  /** The guard that keeps the table's changes back. */
  readonly held: RowsyncError | null;
  readonly error: RowsyncError | null;
  readonly durationMs: number;
}

/** What a push did. */
export interface PushReport {
  /** `id` in `sync_runs`. */
  readonly runId: number;
  readonly tables: readonly TablePushReport[];
  readonly requestCount: number;
  readonly durationMs: number;
  /** What ended the push as a whole. */
  readonly error: RowsyncError | null;
  /** The error of a table that would have met every other one as well; those that had not begun have it too. */
  readonly stop: RowsyncError | null;
}

/** Counts of nothing. */
export function noCounts(): TablePushCounts {
  return { insertedCount: 0, updatedCount: 0, deletedCount: 0, refusedCount: 0, inDoubtCount: 0, conflictCount: 0 };
}

/** What two pushes of one table did, one after the other. */
export function addReport(first: TablePushReport, second: TablePushReport): TablePushReport {
  return {
    ...second,
    insertedCount: first.insertedCount + second.insertedCount,
    updatedCount: first.updatedCount + second.updatedCount,
    deletedCount: first.deletedCount + second.deletedCount,
    refusedCount: first.refusedCount + second.refusedCount,
    inDoubtCount: first.inDoubtCount + second.inDoubtCount,
    conflictCount: first.conflictCount + second.conflictCount,
    durationMs: first.durationMs + second.durationMs,
  };
}
