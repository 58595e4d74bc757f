/** The system clock, and the stamps made of its times. */
import { expect, test } from 'vitest';
import { stampFromMs, systemClock } from '../../src/base/clock.ts';

test.each([
  [0, '1970-01-01T00:00:00Z'],
  [999, '1970-01-01T00:00:00Z'],
  [-1, '1969-12-31T23:59:59Z'],
  [Date.UTC(2026, 1, 28, 23, 59, 59, 999), '2026-02-28T23:59:59Z'],
  [Date.UTC(2028, 1, 29), '2028-02-29T00:00:00Z'],
])('%i ms are the stamp %s, in whole seconds that have begun', (ms, stamp) => {
  expect(stampFromMs(ms)).toBe(stamp);
});

test('a sleep ends without an error when it is aborted, also before it begins', async () => {
  const stop = new AbortController();
  const beforeMs = systemClock.monotonicMs();
  const sleeping = systemClock.sleep(60_000, stop.signal);

  stop.abort();

  await expect(sleeping).resolves.toBeUndefined();
  await expect(systemClock.sleep(60_000, stop.signal)).resolves.toBeUndefined();
  expect(systemClock.monotonicMs() - beforeMs).toBeLessThan(30_000);
});

test('the clock that measures does not go back, and random numbers are below one', () => {
  const times = Array.from({ length: 100 }, () => systemClock.monotonicMs());
  const draws = Array.from({ length: 100 }, () => systemClock.random());

  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(draws.every((draw) => draw >= 0 && draw < 1)).toBe(true);
  expect(new Set(draws).size).toBeGreaterThan(90);
});
