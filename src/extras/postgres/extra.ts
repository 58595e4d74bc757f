/**
 * Sinks: PostgreSQL servers that the replica is streamed to.
 */
import type { LinkedExtra } from '../shared/linked-extra.ts';
import { workBeside } from '../shared/work-beside.ts';
import { openReader } from '../../replica/reader.ts';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'sink.failed': true;
    readonly 'sink.late': true;
    readonly 'sink.held': true;
  }
}

export const POSTGRES: LinkedExtra = {
  name: 'postgres',
  problems: [
    {
      code: 'sink.failed',
      severity: 'person',
      why: 'A sink cannot continue, for a reason that does not pass by itself.',
      before: 'log.failed',
    },
    {
      code: 'sink.late',
      severity: 'late',
      why: 'A sink cannot continue, and trying again can help.',
      before: 'log.failed',
    },
    {
      code: 'sink.held',
      severity: 'person',
      why: 'A sink holds one of its tables because of a problem.',
      before: 'log.failed',
    },
  ],
  commands: [{ group: 'Connect', names: ['sink'], load: async () => (await import('./command.ts')).addSinkCommands }],
  loadOptions: async () => (await import('./settings.ts')).SINK_OPTIONS,
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
    const { readSinkStatus } = await import('../shared/sinks.ts');
    const { sinkLines } = await import('../shared/sink-text.ts');
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
    const [{ readSinkStatus }, { sinkMetrics }] = await Promise.all([
      import('../shared/sinks.ts'),
      import('./metrics.ts'),
    ]);
    return {
      ...workBeside(view, async ({ config, replica, log }) => {
        const { startSinks } = await import('./runner.ts');
        return startSinks(config.extras.sinks ?? [], { replica, clock: view.clock, log });
      }),
      metrics: ({ reader }) => sinkMetrics(readSinkStatus(reader)),
    };
  },
};
