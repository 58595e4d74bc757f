/**
 * How far behind sinks are, as metrics.
 */
import { gauge, type Metric } from '../shared/linked-extra.ts';
import type { SinkStatus } from '../shared/sinks.ts';

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

/** One sample a sink. */
export function sinkMetrics(sinks: readonly SinkStatus[]): readonly Metric[] {
  return OF_SINK.map(([name, help, valueOf]) => {
    const samples = sinks.map((sink) => ({ labels: { sink: sink.name }, value: valueOf(sink) }));
    return gauge(name, help, samples);
  });
}
