/**
 * How old tables are, and which are too old for a question.
 */
import { expect, test } from 'vitest';
import { agesText, ageMsOf, oldestOf, staleAmong } from '../../src/reconcile/fresh.ts';

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

test('an answer is as old as the oldest of its tables, and a refusal says how old each is', () => {
  const tables = [table('A', '2026-06-01T11:59:00Z'), table('B', '2026-06-01T09:56:00Z'), table('C', null)];

  expect(oldestOf(tables)).toBe('2026-06-01T09:56:00Z');
  expect(oldestOf([])).toBeNull();
  expect(agesText(tables, NOON)).toBe('A is 1 min old, B is 2 h 4 min old, C is not proven');
});
