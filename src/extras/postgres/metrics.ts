/**
 * How far behind sinks are, as metrics.
 */
import type { Metric } from '../../daemon/parts.ts';
import type { SinkStatus } from '../../replica/bookkeeping/sinks.ts';

/** One sample a sink. */
export function sinkMetrics(sinks: readonly SinkStatus[]): readonly Metric[] {
  const perSink = (valueOf: (sink: SinkStatus) => number): Metric['samples'] =>
    sinks.map((sink) => ({ labels: { sink: sink.name }, value: valueOf(sink) }));
  return [
    gauge(
      'sink_lag_rows',
      'Changed rows that a sink does not have yet.',
      perSink(({ lagRows }) => lagRows),
    ),
    gauge(
      'sink_lag_seconds',
      'How long the oldest of them waits.',
      perSink(({ lagSeconds }) => lagSeconds),
    ),
    gauge(
      'sink_failing',
      '1 while a sink cannot continue.',
      perSink(({ problem }) => (problem === null ? 0 : 1)),
    ),
    gauge(
      'sink_held_tables',
      'Tables of a sink that are held because of a problem.',
      perSink(({ tables }) => tables.filter(({ state }) => state === 'held').length),
    ),
  ];
}

function gauge(name: string, help: string, samples: Metric['samples']): Metric {
  return { name, kind: 'gauge', help, samples };
}
