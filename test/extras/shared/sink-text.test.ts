/** The state of a sink in words. */
import { expect, test } from 'vitest';
import { sinkLines, sinkSentence } from '../../../src/extras/shared/sink-text.ts';
import type { SinkStatus, SinkTableState } from '../../../src/extras/shared/sinks.ts';

const SINK: SinkStatus = { name: 'warehouse', epoch: 'e', lagRows: 0, lagSeconds: 0, problem: null, tables: [] };
const PROBLEM = { code: 'sink.rights', message: 'no right', hint: 'GRANT it', since: '2026-06-01T12:00:00Z' };

const table = (tableName: string, state: SinkTableState['state']): SinkTableState => ({
  tableId: 1,
  tableName,
  state,
  problem: state === 'held' ? { code: 'sink.foreign', message: 'in the way \u001B[2J', hint: 'rename it' } : null,
});

test.each<[string, Partial<SinkStatus>, string]>([
  ['has everything', { tables: [table('a', 'live')] }, 'up to date'],
  ['has nothing yet', { epoch: null, lagRows: 5 }, 'nothing was sent yet'],
  ['is behind by one row', { lagRows: 1, lagSeconds: 3 }, '1 changed row behind, 3 s'],
  ['is behind by many', { lagRows: 1_200, lagSeconds: 7_200 }, '1,200 changed rows behind, 7,200 s'],
  [
    'loads tables, and cannot send one',
    { tables: [table('a', 'loading'), table('b', 'waits'), table('c', 'held')] },
    'up to date, 2 tables loading, 1 table held',
  ],
  [
    'cannot continue',
    { problem: PROBLEM, lagRows: 2, tables: [table('a', 'loading')] },
    'cannot continue (sink.rights); 2 changed rows behind, 0 s',
  ],
])('a sink that %s', (_what, changes, sentence) => {
  expect(sinkSentence({ ...SINK, ...changes })).toBe(sentence);
});

test('its lines say since when and what to do, of the sink and of each table that is held, and nothing acts on a terminal', () => {
  const lines = sinkLines({ ...SINK, problem: PROBLEM, tables: [table('live', 'live'), table('c', 'held')] });

  expect(lines).toEqual([
    'sink      warehouse: cannot continue (sink.rights); up to date',
    '  since 2026-06-01T12:00:00Z: no right',
    '  what to do: GRANT it',
    String.raw`  c: in the way \u001b[2J`,
    '  what to do: rename it',
  ]);
  expect(sinkLines(SINK)).toEqual(['sink      warehouse: up to date']);
});
