/**
 * Reports of a pull for tests of what is made of them: one table after another without a change, and a failure of any
 * kind.
 */
import { RowsyncError, type ErrorCode, type ErrorKind } from '../../src/base/errors.ts';
import type { PullReport, TablePullReport } from '../../src/pull/report.ts';

export const failure = (kind: ErrorKind, code: ErrorCode): RowsyncError =>
  new RowsyncError(kind, code, { message: `${code} happened`, hint: 'do this' });

export const tableReport = (name: string, changes: Partial<TablePullReport> = {}): TablePullReport => ({
  table: name,
  rowCount: 1_000,
  insertedCount: 0,
  updatedCount: 0,
  deletedCount: 0,
  filteredCount: 0,
  pagesReadCount: 0,
  pagesNotModifiedCount: 2,
  unreadableCount: 0,
  account: null,
  isFollowed: false,
  held: null,
  error: null,
  durationMs: 10.4,
  ...changes,
});

export const pullReport = (tables: readonly TablePullReport[], error: RowsyncError | null = null): PullReport => ({
  runId: 1,
  tables,
  notes: [],
  schemaChanges: [],
  requestCount: 12,
  notModifiedCount: 9,
  receivedBytes: 2_048,
  durationMs: 2_300,
  removedEntryCount: 0,
  error,
  stop: null,
});
