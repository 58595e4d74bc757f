/**
 * The metrics of the daemon in Prometheus' text format. Labels are names of tables, of work, of causes and of
 * outcomes, never values or keys of rows. docs/reference/metrics.md is made from these.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import { counter, gauge, type Metric } from '../shared/linked-extra.ts';
import type { Counters } from '../../origin/requests.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import { type AddedProblem, catalogueWith } from '../../reconcile/account/problems.ts';
import type { ReplicaReader, TableStatus } from '../../replica/reader.ts';
import { readPrunable } from '../shared/drift.ts';
import { sql } from '../../base/sql.ts';
import type { DaemonState } from '../../daemon/state.ts';

export interface Measures {
  readonly state: DaemonState;
  readonly problems: readonly Problem[];
  /** The problems that extras bring. */
  readonly added: readonly AddedProblem[];
  readonly tables: readonly TableStatus[];
  readonly replica: ReturnType<typeof readReplicaMeasures>;
  readonly origin: Counters;
  /** The total time that writes waited for other clients' transactions. */
  readonly busyMs: number;
  /** Edits that triggers missed and a comparison found. */
  readonly uncapturedCount: number;
  readonly loopDelaySeconds: number;
  readonly replicaBytes: number;
  readonly walBytes: number;
  readonly freeBytes: number;
  readonly extras: readonly Metric[];
  readonly nowMs: number;
}

interface TableCount {
  readonly table: string;
  readonly count: number;
}

type Sample = Metric['samples'][number];

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** What monitoring wants to know of the replica beyond `sync_status`; tables by name. */
export function readReplicaMeasures(reader: ReplicaReader) {
  // Looks without moving anything.
  const [log] = reader.all(sql`PRAGMA wal_checkpoint(NOOP)`) as { log: number; checkpointed: number }[]; // its two columns
  return {
    /** Sweeps that were begun of each table, over the life of the replica. */
    sweeps: reader.all(
      sql`SELECT local_name AS "table", sweep AS count FROM _rowsync_tables ORDER BY local_name`,
    ) as TableCount[], // columns and types are ours
    /** All conflicts that were kept, by who won when they came up. */
    conflicts: reader.all(
      sql`SELECT "table", winner, count(*) AS count FROM sync_conflicts GROUP BY "table", winner`,
    ) as (TableCount & { winner: string })[], // as above
    /** Tables and columns that the origin no longer describes. */
    driftCount: readPrunable(reader).length,
    /** Pages in the write-ahead log that are not in the file yet. */
    pendingFrameCount: Math.max(0, (log?.log ?? 0) - (log?.checkpointed ?? 0)),
  };
}

export function metricsText(measures: Measures): Promise<string> {
  const registry = new Registry();
  const all = [
    ...daemonMetrics(measures),
    ...tableMetrics(measures),
    ...originMetrics(measures.origin),
    ...fileMetrics(measures),
    ...measures.extras,
  ];
  for (const { name, kind, help, samples } of all) {
    const labelNames = Object.keys(samples[0]?.labels ?? {});
    const settings = { name: `rowsync_${name}`, help, labelNames, registers: [registry] };
    const metric = kind === 'gauge' ? new Gauge(settings) : new Counter(settings);
    for (const { labels = {}, value } of samples) metric.inc(labels, value);
  }
  return registry.metrics();
}

function daemonMetrics({ state, loopDelaySeconds }: Measures): readonly Metric[] {
  const { failure } = state;
  return [
    gauge('up', '1 while the daemon runs.', 1),
    gauge('start_time_seconds', 'When the daemon started.', state.startedAtMs / 1000),
    gauge('lockout', '1 while a failure that concerns everything keeps work waiting, by cause.', [
      { labels: { reason: failure?.cause ?? 'none' }, value: failure === null ? 0 : 1 },
    ]),
    counter('work_total', 'Pieces of work that ended since the start.', workSamples(state)),
    gauge(
      'eventloop_delay_p99',
      'How late the event loop was since the last scrape: the 99th percentile, in seconds.',
      loopDelaySeconds,
    ),
  ];
}

/** Metrics of each table: the name, the help, and the value; no sample if it is null. */
const OF_TABLE: readonly (readonly [string, string, (table: TableStatus) => number | null])[] = [
  [
    'last_success_timestamp_seconds',
    'End of the last pull that went through the whole table.',
    ({ lastSweepAt }) => secondsOf(lastSweepAt),
  ],
  [
    'fresh_since_timestamp_seconds',
    'Every row of the table was equal to the origin at this time or later; absent while a row cannot be read.',
    ({ freshSince }) => secondsOf(freshSince),
  ],
  ['rows', 'Rows in the replica.', ({ rowCount }) => rowCount],
  ['unreadable_rows', 'Rows that could not be read.', ({ unreadableCount }) => unreadableCount],
  ['pending_edits', 'Edited rows that are still to be pushed.', ({ pendingCount }) => pendingCount],
  ['parked_rows', 'Edited rows that wait for a person or a timer.', ({ parkedCount }) => parkedCount],
  ['conflicts', 'Conflicts that wait for a person.', ({ conflictCount }) => conflictCount],
  [
    'uncertain_creates',
    'Rows that may or may not have been created at the origin.',
    ({ inDoubtCount }) => inDoubtCount,
  ],
];

function tableMetrics({ problems, added, tables, replica, nowMs }: Measures): readonly Metric[] {
  const perTable = (valueOf: (table: TableStatus) => number | null): readonly Sample[] =>
    tables.flatMap((table) => {
      const value = valueOf(table);
      return value === null ? [] : [{ labels: { table: table.table }, value }];
    });
  const sweeps = replica.sweeps.map(({ table, count }) => ({ labels: { table }, value: count }));
  const conflicts = replica.conflicts.map(({ table, winner, count }) => ({ labels: { table, winner }, value: count }));
  const oldest = perTable(({ oldestChangeAt }) => ageOf(oldestChangeAt, nowMs));
  return [
    ...OF_TABLE.map(([name, help, valueOf]) => gauge(name, help, perTable(valueOf))),
    gauge(
      'problems',
      'What is wrong, by code and severity as in problems.md: rows, conflicts or tables, 1 where nothing is counted.',
      problemSamples(problems, added),
    ),
    counter('conflicts_total', 'Conflicts so far, by who won when they came up.', conflicts),
    gauge('oldest_pending_seconds', 'Age of the oldest edit that the origin has not taken.', oldest),
    counter('sweeps_total', 'Full pulls of the table that were begun, over the life of the replica.', sweeps),
    gauge(
      'schema_drift',
      'Tables and columns that are kept although the origin no longer describes them.',
      replica.driftCount,
    ),
  ];
}

function originMetrics({ countByClass, quietMs, ...sums }: Counters): readonly Metric[] {
  const requests = Object.entries(countByClass).map(([name, value]) => ({ labels: { class: name }, value }));
  return [
    counter(
      'http_requests_total',
      'Requests to the origin that ended, by class of status (none: no answer).',
      requests,
    ),
    counter('http_not_modified_total', 'Answers "not modified".', sums.notModifiedCount),
    counter('http_retries_total', 'Requests that were sent again.', sums.retryCount),
    counter('http_received_bytes_total', 'Bytes of answers as received.', sums.receivedBytes),
    gauge('retry_after_seconds', 'For how much longer the origin asked to be left alone.', quietMs / 1000),
  ];
}

function fileMetrics(measures: Measures): readonly Metric[] {
  return [
    gauge('replica_bytes', 'Size of the replica file.', measures.replicaBytes),
    gauge('wal_bytes', 'Size of its write-ahead log.', measures.walBytes),
    gauge(
      'checkpoint_pending_frames',
      'Pages in the write-ahead log that are not in the file yet.',
      measures.replica.pendingFrameCount,
    ),
    gauge('free_bytes', 'Free space on the disk of the replica.', measures.freeBytes),
    counter(
      'db_busy_seconds_total',
      'Seconds that writes waited for transactions of other clients.',
      measures.busyMs / 1000,
    ),
    counter(
      'shadow_diff_uncaptured_total',
      'Edits that the triggers missed and a comparison of all rows found.',
      measures.uncapturedCount,
    ),
  ];
}

function workSamples({ workCounts }: DaemonState): readonly Sample[] {
  return [...workCounts].map(([name, value]) => {
    const [kind = '', outcome = ''] = name.split(' ');
    return { labels: { kind, outcome }, value };
  });
}

/** Every code has a sample, so that an alarm ends when a problem does. */
function problemSamples(problems: readonly Problem[], added: readonly AddedProblem[]): readonly Sample[] {
  return catalogueWith(added).map(({ code, severity }) => ({
    labels: { code, severity },
    value: problems.reduce((sum, problem) => sum + (problem.code === code ? problem.count : 0), 0),
  }));
}

function secondsOf(stamp: string | null): number | null {
  return stamp === null ? null : Date.parse(stamp) / 1000;
}

/** 0 if nothing waits. */
function ageOf(stamp: string | null, nowMs: number): number {
  return stamp === null ? 0 : Math.max(0, nowMs / 1000 - (secondsOf(stamp) ?? 0));
}
