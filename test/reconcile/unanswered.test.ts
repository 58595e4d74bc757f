import { describe, expect, test } from 'vitest';

import {
  afterUnanswered,
  ALONE,
  unansweredHope,
  UNANSWERED_MAX,
  type RowLimit,
} from '../../src/reconcile/unanswered.ts';

describe('after a request without an answer about its rows', () => {
  test.each<[string, number, RowLimit | null, RowLimit | 'park']>([
    ['many rows are halved', 500, null, { rowsMax: 250, failureCount: 1 }],
    ['three rows leave in twos', 3, { rowsMax: 3, failureCount: 4 }, { rowsMax: 2, failureCount: 5 }],
    ['two rows leave alone', 2, null, { rowsMax: 1, failureCount: 1 }],
    ['a row that was alone from the beginning is tried once more', 1, null, { rowsMax: 1, failureCount: 1 }],
    ['a row that failed before, and alone, is parked', 1, { rowsMax: 1, failureCount: 1 }, 'park'],
    ['a row that was parked before is parked at once', 1, ALONE, 'park'],
  ])('%s', (_what, rowCount, before, expected) => {
    expect(afterUnanswered(rowCount, before)).toEqual(expected);
  });

  test('any number of rows comes down to one, well within the bound of a push', () => {
    let count = 0;
    let limit: RowLimit | null = null;
    for (let next = afterUnanswered(500, limit); next !== 'park'; next = afterUnanswered(next.rowsMax, limit)) {
      limit = next;
      count += 1;
    }

    expect(count).toBe(9);
    expect(count * 4).toBeLessThan(UNANSWERED_MAX);
  });
});

test.each([
  [0, 'soon'],
  [500, 'soon'],
  [502, 'soon'],
  [200, 'later'],
  [403, 'later'],
  [406, 'later'],
  [413, 'later'],
] as const)('a row that ended its request with %i is tried again %s', (status, hope) => {
  expect(unansweredHope(status)).toBe(hope);
});
