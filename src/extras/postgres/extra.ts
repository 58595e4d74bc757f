/**
 * Sinks: PostgreSQL servers that the replica is streamed to.
 */
import type { Extra } from '../../extra.ts';
import { openReader } from '../../replica/reader.ts';

export const POSTGRES: Extra = {
  name: 'postgres',
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
  metrics: async (_config, { reader }) => {
    const { readSinkStatus } = await import('../shared/sinks.ts');
    const { sinkMetrics } = await import('./metrics.ts');
    return sinkMetrics(readSinkStatus(reader));
  },
  forget: async ({ extras: { sinks = [] } }) => ({
    removed: [],
    left: sinks.map(({ name }) => `the sink ${name} may still have it, in sync_history there`),
    json: { sinks: sinks.map(({ name }) => name) },
  }),
  start: (config, parts) => {
    const running = import('./runner.ts').then(({ startSinks }) => startSinks(config.extras.sinks ?? [], parts));
    return { stop: async () => (await running).stop() };
  },
};
