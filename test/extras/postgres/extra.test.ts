/**
 * How far behind sinks are, one sample a sink.
 */
import { expect, test } from 'vitest';
import { sinkMetrics } from '../../../src/extras/postgres/extra.ts';
import type { SinkStatus, SinkTableState } from '../../../src/extras/shared/sinks.ts';

const TABLE: SinkTableState = { tableId: 1, tableName: 'Note', state: 'live', problem: null };
const SINK: SinkStatus = { name: 'warehouse', lagRows: 0, lagSeconds: 0, epoch: 'e', problem: null, tables: [TABLE] };

test('each sink has its lag, whether it goes on, and how many tables it holds', () => {
  const problem = { code: 'sink.busy', message: '', hint: '', since: '' };
  const held = { ...TABLE, state: 'held' as const };

  const metrics = sinkMetrics([
    SINK,
    { ...SINK, name: 'lake', lagRows: 7, lagSeconds: 90, problem, tables: [TABLE, held, held] },
  ]);

  expect(metrics.every(({ kind }) => kind === 'gauge')).toBe(true);
  expect(metrics.map(({ name, samples }) => [name, samples.map(({ value }) => value)])).toEqual([
    ['sink_lag_rows', [0, 7]],
    ['sink_lag_seconds', [0, 90]],
    ['sink_failing', [0, 1]],
    ['sink_held_tables', [0, 2]],
  ]);
  expect(metrics[0]?.samples.map(({ labels }) => labels)).toEqual([{ sink: 'warehouse' }, { sink: 'lake' }]);
  expect(sinkMetrics([]).every(({ samples }) => samples.length === 0)).toBe(true);
});
