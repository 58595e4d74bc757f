/**
 * What a push did, table by table. Types, and the empty count.
 */
import type { RowsyncError } from '../base/errors.ts';
import type { PushAccount } from '../reconcile/account/push-account.ts';
import type { WaitingCounts } from '../replica/bookkeeping/row-states.ts';

/** Counts of rows. */
export interface TablePushCounts {
  insertedCount: number;
  updatedCount: number;
  deletedCount: number;
  /** Refused by the origin, or before it was asked. */
  refusedCount: number;
  /** Creates that may have happened. */
  inDoubtCount: number;
  /** Conflicts that came up, decided or not. */
  conflictCount: number;
}

/** The result of one table, with what waits from this push and earlier ones. */
export interface TablePushReport extends Readonly<TablePushCounts>, WaitingCounts {
  /** Name in the replica. */
  readonly table: string;
  /** The guard that holds the table's changes. */
  readonly held: RowsyncError | null;
  readonly error: RowsyncError | null;
  /** What became of the edits that the push began with. */
  readonly account: PushAccount;
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
  /** The error of a table that would occur for every other table too; tables that had not begun have it too. */
  readonly stop: RowsyncError | null;
}

/** Counts of nothing. */
export function noCounts(): TablePushCounts {
  return { insertedCount: 0, updatedCount: 0, deletedCount: 0, refusedCount: 0, inDoubtCount: 0, conflictCount: 0 };
}

/** The sum of two successive pushes of one table. */
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
