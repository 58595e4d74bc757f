/**
 * The last day of a table as a strip.
 */
import { expect, test } from 'vitest';
import { faresOf, outagesOf, type OutagePeriod } from '../../../src/extras/page/today-html.ts';
import type { Quarter } from '../../../src/extras/page/run-facts.ts';

const QUARTER_MS = 900_000;
const NOW = 1_000;

/** The last quarters of a strip, at the begin of the last one of them; an outage began and ended so many quarters ago. */
function lastOf(
  quarters: readonly (readonly [number, Quarter['fare']])[],
  lateAfterQuarters: number | null,
  outage: readonly [number, number] | null = null,
): string {
  const known = quarters.map(([ago, fare]) => ({ quarter: NOW - ago, fare, wentWell: fare !== 'failed' }));
  const lateAfterMs = new Map(lateAfterQuarters === null ? [] : [['T', lateAfterQuarters * QUARTER_MS]]);
  const outages: readonly OutagePeriod[] =
    outage === null ? [] : [{ fromMs: (NOW - outage[0]) * QUARTER_MS, toMs: (NOW - outage[1]) * QUARTER_MS }];
  const measures = { nowMs: NOW * QUARTER_MS + 1, lateAfterMs, outages };
  const fares = faresOf(new Map([['T', known]]), measures).get('T');
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
    'a failure stands until the table is read',
    [
      [5, 'fresh'],
      [2, 'failed'],
    ],
    2,
    'fresh calm calm failed failed failed',
  ],
  ['a success of days ago counts', [[300, 'fresh']], 298, 'calm calm calm calm late late'],
  ['what never went well has failed', [[300, 'failed']], 2, 'failed failed failed failed failed failed'],
  [
    'after a failure of days ago, what went well since and is due is late',
    [
      [300, 'failed'],
      [299, 'fresh'],
    ],
    2,
    'late late late late late late',
  ],
] as const)('%s', (_title, quarters, late, expected) => {
  expect(lastOf(quarters, late)).toBe(expected);
});

test.each([
  ['what is due in an outage has failed', [4, -9], 2, 'fresh calm calm failed failed failed'],
  ['before and after an outage it is late', [1.5, 0.5], 1, 'fresh calm late failed late late'],
  ['what is not due is calm in an outage', [4, -9], 9, 'fresh calm calm calm calm calm'],
] as const)('%s', (_title, outage, late, expected) => {
  expect(lastOf([[5, 'fresh']], late, outage)).toBe(expected);
});

test.each([
  ['a good run', '.', []],
  ['a run that failed as a whole, until now', '.x', [[1, Infinity]]],
  ['further ones of the same outage', '.xx', [[1, Infinity]]],
  [
    'until the next run that read anything',
    '.xx..x.',
    [
      [1, 3],
      [5, 6],
    ],
  ],
] as const)('an outage is known by %s', (_title, runs, expected) => {
  const tries = runs.split('').map((run, index) => {
    const at = new Date(index * 1_000).toISOString();
    return { startedAt: at, finishedAt: at, allFailed: run === 'x' };
  });

  expect(outagesOf(tries).map(({ fromMs, toMs }) => [fromMs / 1_000, toMs / 1_000])).toEqual(expected);
});
