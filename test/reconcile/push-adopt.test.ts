import { describe, expect, test } from 'vitest';
import { adoptAlike, adoptByValue } from '../../src/reconcile/push-adopt.ts';

function adopted(...creates: readonly (readonly [id: number, candidates: readonly number[]])[]): object {
  return Object.fromEntries(adoptAlike(creates.map(([id, candidates]) => ({ id, candidates }))));
}

test('a create is the one row that fits it', () => {
  expect(adopted([-1, [7]], [-2, [9]])).toEqual({ '-1': 7, '-2': 9 });
});

test('as many rows as alike creates are theirs in the order in which they were sent', () => {
  expect(adopted([-5, [9, 7]], [-4, [7, 9]])).toEqual({ '-4': 7, '-5': 9 });
});

test.each([
  ['no row fits', [[-1, []]]],
  ['more rows fit than were created', [[-1, [7, 9]]]],
  [
    'fewer rows fit than were created',
    [
      [-1, [7]],
      [-2, [7]],
    ],
  ],
  [
    'a row fits another create as well',
    [
      [-1, [7]],
      [-2, [7, 9]],
    ],
  ],
] as const)('where %s, all are in doubt', (_what, creates) => {
  expect(adopted(...creates)).toEqual({});
});

describe('by a unique value', () => {
  const found = [2, 7].map((id) => ({ id, allow: null, values: ['c2'] }));

  test.each([
    ['a row above the newest one that was known when it left is its own', [2], 5, 7],
    ['so is that row where a pull has brought it in since', [2, 7], 5, 7],
    ['so is a row that is not known here', [], 9, 2],
    ['a row that was known before is not', [2, 7], 7, undefined],
    ['without a newest one the value alone tells', [2, 7], undefined, 2],
  ] as const)('%s', (_what, known, newestKnown, id) => {
    expect(adoptByValue(found, { known: new Set(known), newestKnown })?.id).toBe(id);
  });
});
