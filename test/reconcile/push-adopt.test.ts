import { expect, test } from 'vitest';
import { adoptAlike } from '../../src/reconcile/push-adopt.ts';

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
