/**
 * How old tables are, and which are too old for a question.
 */
import { expect, test } from 'vitest';
import {
  agesText,
  ageMsOf,
  judgeMoment,
  oldestOf,
  staleAmong,
  type AskingAgain,
} from '../../../src/extras/shared/freshness.ts';

const NOON = Date.parse('2026-06-01T12:00:00Z');
const table = (localName: string, asOf: string | null) => ({ id: 1, name: localName, localName, asOf });

test.each([
  ['30s', 30_000],
  ['10m', 600_000],
  [' 2 h ', 7_200_000],
  ['1d', 86_400_000],
  ['0s', null],
  ['10', null],
  ['-1m', null],
  ['1.5h', null],
  ['10min', null],
  ['9999999s', null],
])('an age of %j is %s ms', (text, ms) => {
  expect(ageMsOf(text)).toBe(ms);
});

test.each([
  ['as old as allowed', '2026-06-01T11:50:00Z', false],
  ['a second older', '2026-06-01T11:49:59Z', true],
  ['never proven', null, true],
  ['a little ahead of this clock', '2026-06-01T12:00:10Z', false],
  ['from before this clock was set back', '2026-06-02T12:00:00Z', true],
])('a table that is %s: stale %s', (_what, asOf, isStale) => {
  expect(staleAmong([table('A', asOf)], { askedMs: NOON, withinMs: 600_000 })).toHaveLength(isStale ? 1 : 0);
});

test('a table that was read for a question is young, however long the question waited for it', () => {
  const bound = { askedMs: NOON, withinMs: 1_000 };
  const among = (asOf: string): number => staleAmong([table('A', asOf)], bound).length;

  expect([among('2026-06-01T12:00:45Z'), among('2026-06-01T12:02:00Z')]).toEqual([0, 1]);
  expect([among('2026-06-01T12:01:00Z'), among('2026-06-01T12:01:00.001Z')]).toEqual([0, 1]);
});

test('an answer is as old as the oldest of its tables, and a refusal says how old each is', () => {
  const tables = [table('A', '2026-06-01T11:59:00Z'), table('B', '2026-06-01T09:56:00Z'), table('C', null)];

  expect(oldestOf(tables)).toBe('2026-06-01T09:56:00Z');
  expect(oldestOf([])).toBeNull();
  expect(agesText(tables, NOON)).toBe('A is 1 min old, B is 2 h 4 min old, C is not proven');
});

const asking = (change: Partial<AskingAgain>): AskingAgain => ({
  round: 1,
  tables: ['Order', 'Customer'],
  found: [found('Order', 0), found('Customer', 0)],
  ...change,
});

function found(name: string, changeCount: number, failure: string | null = null): AskingAgain['found'][number] {
  return { table: name, changeCount, failure };
}

const MOVED = [found('Order', 0), found('Customer', 2)];

test.each<[string, Partial<AskingAgain>, object]>([
  ['nothing moved', {}, { kind: 'moment' }],
  ['a table moved', { found: MOVED }, { kind: 'askAgain' }],
  ['one row of a table moved', { found: [found('Order', 0), found('Customer', 1)] }, { kind: 'askAgain' }],
  ['a table moved in the last round', { found: MOVED, round: 5 }, { kind: 'moved', tables: ['Customer'] }],
  [
    'a table failed, and another one moved',
    { found: [found('Order', 1), found('Customer', 0, 'it is away')] },
    { kind: 'failed', tables: ['Customer'], why: 'it is away' },
  ],
  [
    'a table was not asked',
    { found: [found('Order', 0)] },
    { kind: 'failed', tables: ['Customer'], why: 'it was not asked' },
  ],
  ['there is no table with stamps', { tables: [], found: [] }, { kind: 'moment' }],
])('asking again where %s', (_what, change, judged) => {
  expect(judgeMoment(asking(change))).toEqual(judged);
});
