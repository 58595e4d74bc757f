import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimatedCount, narrowRange, nextProbe, type CountRange } from '../../src/reconcile/estimate.ts';

/** Estimates a table of `rowCount` rows; returns the estimate and how many requests it took. */
function estimate(rowCount: number, pageRows: number): { estimated: number; requestCount: number } {
  let range: CountRange = { low: 0, high: null };
  for (let requestCount = 0; ; requestCount += 1) {
    const skip = nextProbe(range, pageRows);
    if (skip === null) return { estimated: estimatedCount(range), requestCount };
    range = narrowRange(range, skip, rowCount > skip);
  }
}

test.each([
  [0, 250, 1],
  [499, 250, 1],
  [500, 250, 1],
  [501, 626, 3],
])('takes %i rows for %i after %i requests', (rowCount, estimated, requestCount) => {
  expect(estimate(rowCount, 500)).toEqual({ estimated, requestCount });
});

test('is never off by more than a page or a sixteenth, within forty requests', () => {
  fc.assert(
    fc.property(fc.nat(50_000_000), (rowCount) => {
      const { estimated, requestCount } = estimate(rowCount, 500);

      expect(Math.abs(estimated - rowCount)).toBeLessThanOrEqual(Math.max(500, rowCount / 16) + 1);
      expect(requestCount).toBeLessThanOrEqual(40);
    }),
  );
});
