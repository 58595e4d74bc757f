/**
 * The metrics of the daemon in Prometheus' text format (version 0.0.4). Input: a snapshot of the daemon, the tables as
 * `sync_status` has them, and sums. Output: text. Labels are names of tables, of work and of outcomes, never values of rows. Pure.
 */
import type { TableStatus } from '../replica/reader.ts';
import type { DaemonState } from './state.ts';

/** What the metrics are made of. */
export interface Measures {
  readonly state: DaemonState;
  readonly tables: readonly TableStatus[];
  readonly requestCount: number;
  readonly notModifiedCount: number;
  readonly receivedBytes: number;
  readonly replicaBytes: number;
  readonly walBytes: number;
  readonly freeBytes: number;
  readonly nowMs: number;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Every metric with its type, its meaning and its samples. */
export function metricsText(measures: Measures): string {
  const { state, tables } = measures;
  const one = (value: number): readonly Sample[] => [{ value }];
  const texts = [
    metric('up', 'gauge', '1 while the daemon runs.', one(1)),
    metric('start_time_seconds', 'gauge', 'When the daemon started.', one(state.startedAtMs / 1000)),
    metric('lockout', 'gauge', '1 while a failure that concerns everything keeps work waiting, by cause.', [
      { labels: { reason: state.circuit.cause ?? 'none' }, value: state.circuit.failureCount > 0 ? 1 : 0 },
    ]),
    metric('work_total', 'counter', 'Pieces of work that ended since the start.', workSamples(state)),
    ...tableMetrics(tables, measures.nowMs),
    metric('http_requests_total', 'counter', 'Requests to the origin.', one(measures.requestCount)),
    metric('http_not_modified_total', 'counter', 'Answers "not modified".', one(measures.notModifiedCount)),
    metric('http_received_bytes_total', 'counter', 'Bytes of answers as received.', one(measures.receivedBytes)),
    metric('replica_bytes', 'gauge', 'Size of the replica file.', one(measures.replicaBytes)),
    metric('wal_bytes', 'gauge', 'Size of its write-ahead log.', one(measures.walBytes)),
    metric('free_bytes', 'gauge', 'Free space where the replica is.', one(measures.freeBytes)),
  ];
  return texts.join('');
}

/** What is measured of each table. */
function tableMetrics(tables: readonly TableStatus[], nowMs: number): readonly string[] {
  const perTable = (valueOf: (table: TableStatus) => number | null): readonly Sample[] =>
    tables.flatMap((table) => {
      const value = valueOf(table);
      return value === null ? [] : [{ labels: { table: table.table }, value }];
    });
  return [
    metric(
      'last_success_timestamp_seconds',
      'gauge',
      'End of the last pull that went through the whole table.',
      perTable(({ lastSweepAt }) => secondsOf(lastSweepAt)),
    ),
    metric(
      'fresh_since_timestamp_seconds',
      'gauge',
      'Every row of the table was equal to the origin at this time or later.',
      perTable(({ freshSince }) => secondsOf(freshSince)),
    ),
    metric(
      'rows',
      'gauge',
      'Rows in the replica.',
      perTable(({ rowCount }) => rowCount),
    ),
    metric('problems', 'gauge', 'Tables in a state that needs attention, by state.', problemSamples(tables)),
    metric(
      'unreadable_rows',
      'gauge',
      'Rows that could not be read.',
      perTable((table) => table.unreadableCount),
    ),
    metric(
      'pending_edits',
      'gauge',
      'Edited rows that are still to be pushed.',
      perTable(({ pendingCount }) => pendingCount),
    ),
    metric(
      'parked_rows',
      'gauge',
      'Edited rows that wait for a person or a timer.',
      perTable(({ parkedCount }) => parkedCount),
    ),
    metric(
      'conflicts',
      'gauge',
      'Conflicts that wait for a person.',
      perTable(({ conflictCount }) => conflictCount),
    ),
    metric(
      'oldest_pending_seconds',
      'gauge',
      'Age of the oldest edit that the origin has not taken.',
      perTable(({ oldestChangeAt }) => ageOf(oldestChangeAt, nowMs)),
    ),
  ];
}

function workSamples({ workCounts }: DaemonState): readonly Sample[] {
  return [...workCounts].map(([name, value]) => {
    const [kind = '', outcome = ''] = name.split(' ');
    return { labels: { kind, outcome }, value };
  });
}

function problemSamples(tables: readonly TableStatus[]): readonly Sample[] {
  return ['failed', 'held', 'gone', 'loading'].map((kind) => ({
    labels: { kind },
    value: tables.filter(({ state }) => state === kind).length,
  }));
}

function secondsOf(stamp: string | null): number | null {
  return stamp === null ? null : Date.parse(stamp) / 1000;
}

/** 0 where there is nothing to be old. */
function ageOf(stamp: string | null, nowMs: number): number {
  return stamp === null ? 0 : Math.max(0, nowMs / 1000 - (secondsOf(stamp) ?? 0));
}

function metric(name: string, type: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string {
  const lines = samples.map(({ labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
    return `rowsync_${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
  });
  return `# HELP rowsync_${name} ${help}\n# TYPE rowsync_${name} ${type}\n${lines.join('')}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
