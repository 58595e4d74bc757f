/**
 * Sinks: PostgreSQL servers that the replica is streamed to.
 */
import { joinSql, literal, sql, type Sql } from '../../base/sql.ts';
import { PASSING } from '../../reconcile/account/findings.ts';
import { gauge, type LinkedExtra, type Metric } from '../shared/linked-extra.ts';
import type { SinkStatus } from '../shared/sinks.ts';
import { workBeside } from '../shared/work-beside.ts';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'sink.failed': true;
    readonly 'sink.late': true;
    readonly 'sink.held': true;
  }
}

const PASSES = sql`problem_code IN (${joinSql([...PASSING].map(literal))})`;

/** Complaints of sinks as a whole, as shared/sinks.ts keeps them. */
function ofSinks(condition: Sql) {
  const select = sql`SELECT problem_code AS code, 'Sink ' || name || ': ' || problem_message AS message, problem_hint AS hint, problem_since AS since
    FROM _rowsync_sinks WHERE ${condition} ORDER BY name`;
  return { table: '_rowsync_sinks', select };
}

const OF_SINK_TABLES = {
  table: '_rowsync_sink_tables',
  select: sql`SELECT problem_code AS code, 'Sink ' || sink || ': ' || problem_message AS message, problem_hint AS hint, NULL AS since
    FROM _rowsync_sink_tables WHERE problem_code IS NOT NULL ORDER BY sink, table_id`,
};

export const POSTGRES: LinkedExtra = {
  name: 'postgres',
  problems: [
    {
      code: 'sink.failed',
      severity: 'person',
      why: 'A sink cannot continue, for a reason that does not pass by itself.',
      before: 'log.failed',
      stored: ofSinks(sql`NOT (${PASSES})`),
    },
    {
      code: 'sink.late',
      severity: 'late',
      why: 'A sink cannot continue, and trying again can help.',
      before: 'log.failed',
      stored: ofSinks(PASSES),
    },
    {
      code: 'sink.held',
      severity: 'person',
      why: 'A sink holds one of its tables because of a problem.',
      before: 'log.failed',
      stored: OF_SINK_TABLES,
    },
  ],
  commands: [{ group: 'Connect', names: ['sink'], load: async () => (await import('./command.ts')).addSinkCommands }],
  loadOptions: async () => (await import('./options.ts')).SINK_OPTIONS,
  secrets: (config) => (config.extras.sinks ?? []).flatMap(({ address: { password } }) => password ?? []),
  loadPrepare: async () => {
    const { ensureSinks } = await import('../shared/sinks.ts');
    return (replica, { extras: { sinks = [] } }) =>
      ensureSinks(
        replica,
        sinks.map(({ name }) => name),
      );
  },
  status: async ({ replica }) => {
    const [{ openReader }, { readSinkStatus }, { sinkLines }] = await Promise.all([
      import('../../replica/reader.ts'),
      import('../shared/sinks.ts'),
      import('../shared/sink-text.ts'),
    ]);
    using reader = openReader(replica.path);
    const sinks = readSinkStatus(reader);
    return { lines: sinks.flatMap(sinkLines), json: { sinks } };
  },
  forget: async ({ extras: { sinks = [] } }) => ({
    removed: [],
    left: sinks.map(({ name }) => `the sink ${name} may still have it, in sync_history there`),
    json: { sinks: sinks.map(({ name }) => name) },
  }),
  join: async (view) => {
    const { readSinkStatus } = await import('../shared/sinks.ts');
    return {
      ...workBeside(view, async ({ config, replica, log }) => {
        const { startSinks } = await import('./runner.ts');
        return startSinks(config.extras.sinks ?? [], { replica, clock: view.clock, log });
      }),
      metrics: ({ reader }) => sinkMetrics(readSinkStatus(reader)),
    };
  },
};

const OF_SINK: readonly (readonly [string, string, (sink: SinkStatus) => number])[] = [
  ['sink_lag_rows', 'Changed rows that a sink does not have yet.', ({ lagRows }) => lagRows],
  ['sink_lag_seconds', 'How long the oldest of them waits.', ({ lagSeconds }) => lagSeconds],
  ['sink_failing', '1 while a sink cannot continue.', ({ problem }) => (problem === null ? 0 : 1)],
  [
    'sink_held_tables',
    'Tables of a sink that are held because of a problem.',
    ({ tables }) => tables.filter(({ state }) => state === 'held').length,
  ],
];

/** How far behind sinks are: one sample a sink. */
export function sinkMetrics(sinks: readonly SinkStatus[]): readonly Metric[] {
  return OF_SINK.map(([name, help, valueOf]) => {
    const samples = sinks.map((sink) => ({ labels: { sink: sink.name }, value: valueOf(sink) }));
    return gauge(name, help, samples);
  });
}
