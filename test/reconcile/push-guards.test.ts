import { expect, test } from 'vitest';
import {
  ALTERNATION_WINDOW_MS,
  isAlternating,
  judgePush,
  type PastPush,
  type PushVerdict,
} from '../../src/reconcile/guards.ts';

const FACTS = {
  rowCount: 100,
  changeCount: 0,
  deleteCount: 0,
  maxPushRows: 10,
  maxDeletePercent: 50,
  confirmed: false,
};

test.each<[string, Partial<typeof FACTS>, PushVerdict]>([
  ['nothing changed', {}, { kind: 'go' }],
  ['as many rows changed as are allowed', { changeCount: 10 }, { kind: 'go' }],
  ['one more row changed', { changeCount: 11 }, { kind: 'hold', reason: 'rows', percent: 0 }],
  ['half of the rows are deleted', { changeCount: 50, deleteCount: 50, maxPushRows: 50 }, { kind: 'go' }],
  [
    'more than half are deleted',
    { changeCount: 51, deleteCount: 51 },
    { kind: 'hold', reason: 'deletes', percent: 51 },
  ],
  [
    'no delete is allowed',
    { changeCount: 1, deleteCount: 1, maxDeletePercent: 0 },
    { kind: 'hold', reason: 'deletes', percent: 1 },
  ],
  ['a person confirmed', { changeCount: 100, deleteCount: 100, confirmed: true }, { kind: 'go' }],
  ['the origin has no rows yet', { rowCount: 0, changeCount: 5 }, { kind: 'go' }],
])('judges the size of a push when %s', (_what, facts, verdict) => {
  expect(judgePush({ ...FACTS, ...facts })).toEqual(verdict);
});

/** Pushes a minute apart, by the digests of what they sent. */
function pushes(digests: readonly number[], everyMs = 60_000): readonly PastPush[] {
  return digests.map((digest, index) => ({ atMs: index * everyMs, digest }));
}

test.each<[string, readonly number[], number, boolean]>([
  ['a row that was never pushed', [], 1, false],
  ['two values in turn', [1, 2, 1, 2, 1, 2], 1, true],
  ['two values in turn, not often enough', [1, 2, 1, 2, 1], 2, false],
  ['three values in turn', [1, 2, 3, 1, 2, 3, 1], 2, true],
  ['new values every time', [1, 2, 3, 4, 5, 6, 7, 8], 9, false],
  ['the same value again and again', [1, 1, 1, 1, 1], 1, true],
  ['the same value, not often enough', [1, 1, 1, 1], 1, false],
])('tells whether a row goes back and forth: %s', (_what, digests, next, expected) => {
  const past = pushes(digests);

  expect(isAlternating(past, { atMs: past.length * 60_000, digest: next })).toBe(expected);
});

test('forgets pushes after an hour', () => {
  const past = pushes([1, 2, 1, 2, 1, 2], ALTERNATION_WINDOW_MS / 4);

  expect(isAlternating(past, { atMs: 6 * (ALTERNATION_WINDOW_MS / 4), digest: 1 })).toBe(false);
});
