/** The input of a daemon's metrics, with a sample for each. */
import { problemsOf } from '../../src/daemon/account-facts.ts';
import { EXTRAS } from '../../src/extras.ts';
import { backupMetric } from '../../src/extras/backup/extra.ts';
import { drillMetrics } from '../../src/extras/backup/drill.ts';
import { mismatchMetric } from '../../src/extras/verify/differences.ts';
import { doorbellMetrics } from '../../src/extras/doorbell/ring-requests.ts';
import type { Measures } from '../../src/extras/http/metrics.ts';
import { sinkMetrics } from '../../src/extras/postgres/extra.ts';
import type { TableStatus } from '../../src/replica/reader.ts';
import { RESTING_STATE } from './daemon-state.ts';

const COUNT = { table: 'Note', count: 1 };

/** A table as `sync_status` has it. */
export const TABLE_STATUS: TableStatus = {
  table: 'Note',
  state: 'steady',
  rowCount: 1,
  pageCount: 1,
  lastSweepAt: '2026-06-01T12:00:00Z',
  freshSince: '2026-06-01T12:00:00Z',
  followedAt: null,
  oneWindow: null,
  isFiltered: false,
  pageRows: null,
  maskedCount: 0,
  unreadableCount: 0,
  mode: 'mirror',
  pendingCount: 0,
  parkedCount: 0,
  refusedCount: 0,
  inDoubtCount: 0,
  unsendableCount: 0,
  conflictCount: 0,
  oldestChangeAt: null,
  problem: null,
  hint: null,
};

/** Measures that give every metric a sample. */
export const MEASURES: Measures = {
  extras: [
    ...sinkMetrics([{ name: 'warehouse', lagRows: 3, lagSeconds: 2, epoch: 'e', problem: null, tables: [] }]),
    backupMetric(0),
    ...drillMetrics({ at: '2026-06-01T12:00:00Z', problem: null }),
    mismatchMetric(0),
    ...doorbellMetrics({ rung: 2, secret: 1 }, { readCount: 2, broughtCount: 1, percentileMs: () => 900 }),
  ],
  state: { ...RESTING_STATE, workCounts: new Map([['pull done', 1]]) },
  problems: [],
  added: problemsOf(EXTRAS),
  tables: [TABLE_STATUS],
  replica: {
    sweeps: [COUNT],
    conflicts: [{ ...COUNT, winner: 'origin' }],
    driftCount: 0,
    pendingFrameCount: 0,
  },
  origin: {
    requestCount: 0,
    notModifiedCount: 0,
    retryCount: 0,
    receivedBytes: 0,
    countByClass: { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, none: 0 },
    clockAheadMs: null,
    quietMs: 0,
  },
  busyMs: 0,
  uncapturedCount: 0,
  loopDelaySeconds: 0,
  replicaBytes: 0,
  walBytes: 0,
  freeBytes: 0,
  nowMs: 0,
};
