import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  backoffMs,
  BACKOFFS,
  REQUEST_RETRIES,
  RETRY_AFTER_MS_MAX,
  waitBeforeNextMs,
  type RetryPolicy,
} from '../../src/base/retries.ts';

const POLICY: RetryPolicy = { attemptsMax: 6, baseWaitMs: 500, waitMsMax: 3_000, totalMs: 300_000 };

/** A first attempt that failed a moment ago, unless `changes` says otherwise. */
function failed(changes: Partial<Parameters<typeof waitBeforeNextMs>[0]>): Parameters<typeof waitBeforeNextMs>[0] {
  return { attemptCount: 1, spentMs: 0, retryAfterMs: null, random: 0.5, ...changes };
}

describe('waitBeforeNextMs', () => {
  test.each([
    ['half of the base after the first attempt', { attemptCount: 1 }, 250],
    ['twice that after the second', { attemptCount: 2 }, 500],
    ['twice that again after the third', { attemptCount: 3 }, 1_000],
    ['no more than half of the ceiling after the fourth', { attemptCount: 4 }, 1_500],
    ['no more than half of the ceiling after the fifth', { attemptCount: 5 }, 1_500],
    ['nothing when chance says so', { attemptCount: 5, random: 0 }, 0],
    ['nearly the ceiling when chance says so', { attemptCount: 5, random: 0.999_999 }, 3_000],
    ['what the origin asks for, and jitter on top', { retryAfterMs: 10_000 }, 10_250],
    ['no less for an origin that asks for nothing', { retryAfterMs: 0 }, 250],
    ['no less for an origin that asks for less than nothing', { retryAfterMs: -5_000 }, 250],
    ['what still fits into the time allowed', { spentMs: 299_750 }, 250],
    ['give up after the last attempt', { attemptCount: 6 }, null],
    ['give up past the last attempt', { attemptCount: 7 }, null],
    ['give up when the wait would end after the time allowed', { spentMs: 299_751 }, null],
    ['give up rather than ask earlier than the origin wants', { retryAfterMs: 300_000 }, null],
    ['give up on an absurd Retry-After', { retryAfterMs: 31_536_000_000 }, null],
  ])('%s', (_title, changes, expected) => {
    expect(waitBeforeNextMs(failed(changes), POLICY)).toBe(expected);
  });

  test('takes a Retry-After of more than an hour for an hour', () => {
    const patient = { ...POLICY, totalMs: 10 * RETRY_AFTER_MS_MAX };

    const waitMs = waitBeforeNextMs(failed({ retryAfterMs: 9 * RETRY_AFTER_MS_MAX, random: 0 }), patient);

    expect(waitMs).toBe(RETRY_AFTER_MS_MAX);
  });

  test('never exceeds attempts or time, whatever the origin asks and chance draws', () => {
    const attempt = fc.record({
      retryAfterMs: fc.option(fc.integer({ min: -10, max: 2 ** 40 })),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      tookMs: fc.integer({ min: 0, max: 120_000 }),
    });
    fc.assert(
      fc.property(fc.infiniteStream(attempt), (attempts) => {
        let spentMs = 0;
        let attemptCount = 0;
        for (const { retryAfterMs, random, tookMs } of attempts) {
          attemptCount += 1;
          spentMs += tookMs;
          const waitMs = waitBeforeNextMs({ attemptCount, spentMs, retryAfterMs, random }, REQUEST_RETRIES);
          if (waitMs === null) break;
          expect(waitMs).toBeGreaterThanOrEqual(0);
          spentMs += waitMs;
          expect(spentMs).toBeLessThanOrEqual(REQUEST_RETRIES.totalMs);
        }
        expect(attemptCount).toBeLessThanOrEqual(REQUEST_RETRIES.attemptsMax);
      }),
    );
  });
});

test.each<[keyof typeof BACKOFFS, number, number]>([
  ['busyRow', 1, 60_000],
  ['busyRow', 3, 240_000],
  ['busyRow', 1000, 86_400_000],
  ['rightlessRow', 1, 3_600_000],
  ['rightlessRow', 2, 7_200_000],
  ['file', 2, 120_000],
  ['file', 11, 61_440_000],
  ['file', 12, 86_400_000],
  ['file', 500, 86_400_000],
])('%s waits after failure %i for %i ms', (name, failureCount, expected) => {
  expect(backoffMs(BACKOFFS[name], failureCount)).toBe(expected);
});
