/**
 * The last day of a table as a strip.
 */
import { expect, test } from 'vitest';
import { faresOf } from '../../../src/daemon/page/strip.ts';
import type { Quarter } from '../../../src/replica/run-book.ts';

const QUARTER_MS = 900_000;
const NOW = 1_000;

/** The last quarters of a strip, at the begin of the last one of them. */
function lastOf(quarters: readonly (readonly [number, Quarter['fare']])[], lateAfterQuarters: number | null): string {
  const known = quarters.map(([ago, fare]) => ({ quarter: NOW - ago, fare, wentWell: fare !== 'failed' }));
  const late = lateAfterQuarters === null ? [] : ([['T', lateAfterQuarters * QUARTER_MS]] as const);
  const fares = faresOf(new Map([['T', known]]), { nowMs: NOW * QUARTER_MS + 1, lateAfterMs: new Map(late) }).get('T');
  expect(fares).toHaveLength(96);
  return (fares ?? []).slice(-6).join(' ');
}

test.each([
  [
    'what was pulled is said',
    [
      [5, 'fresh'],
      [4, 'failed'],
      [3, 'followed'],
      [2, 'fresh'],
      [1, 'fresh'],
      [0, 'followed'],
    ],
    2,
    'fresh failed followed fresh fresh followed',
  ],
  ['nothing is known before the first', [[1, 'fresh']], 2, 'unknown unknown unknown unknown fresh calm'],
  ['what should have come and did not is late', [[5, 'fresh']], 2, 'fresh calm calm late late late'],
  ['without a schedule nothing is late', [[5, 'fresh']], null, 'fresh calm calm calm calm calm'],
  [
    'a failure is no success',
    [
      [5, 'fresh'],
      [2, 'failed'],
    ],
    2,
    'fresh calm calm failed late late',
  ],
  ['a success of days ago counts', [[300, 'fresh']], 298, 'calm calm calm calm late late'],
  ['what never went well is late', [[300, 'failed']], 2, 'late late late late late late'],
] as const)('%s', (_title, quarters, late, expected) => {
  expect(lastOf(quarters, late)).toBe(expected);
});
