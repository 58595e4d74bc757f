/** Whether a daemon makes progress and ends in time, and whether memory no longer in use is returned to the system. */
import { describe, expect, test } from 'vitest';
import { endsInTime, memoryKeeper, ProgressWatchdog } from '../../src/daemon/process-health.ts';
import { testClock } from '../support/clock.ts';

test('a daemon advances as long as something is done between two looks', () => {
  const watchdog = new ProgressWatchdog();

  expect(watchdog.hasAdvanced(0)).toBe(true);
  expect(watchdog.hasAdvanced(0)).toBe(false);
  expect(watchdog.isAlive).toBe(false);
  watchdog.beat();
  expect(watchdog.hasAdvanced(0)).toBe(true);
  expect(watchdog.hasAdvanced(1)).toBe(true);
  expect(watchdog.hasAdvanced(1)).toBe(false);
});

test('a wait on purpose counts as progress, however long', async () => {
  const watchdog = new ProgressWatchdog();
  const clock = testClock({ sleepsAdvance: false });
  const sleeping = watchdog.watch(clock).sleep(1e9);
  watchdog.hasAdvanced(0);

  expect(watchdog.hasAdvanced(0)).toBe(true);
  expect(watchdog.hasAdvanced(0)).toBe(true);
  clock.advance(1e9);
  await sleeping;
  watchdog.hasAdvanced(0);
  expect(watchdog.hasAdvanced(0)).toBe(false);
});

const MIB = 1024 * 1024;

test('a heap that work has filled is given back before a wait', () => {
  const rest = memoryKeeper();
  rest();
  // Kept until it is counted: the collector may come at any time.
  const kept = Array.from({ length: 400_000 }, (_, index) => ({ index, text: `row ${index}` }));
  const filled = process.memoryUsage().heapTotal;
  kept.length = 0;

  rest();

  expect(process.memoryUsage().heapTotal).toBeLessThan(filled - 8 * MIB);
});

describe('work that was asked to stop', () => {
  const start = () => {
    const stopping = new AbortController();
    const clock = testClock({ sleepsAdvance: false });
    const work = Promise.withResolvers<void>();
    const end = endsInTime(work.promise, { stop: stopping.signal, clock, afterStopMs: 14_000 });
    return { stopping, clock, work, end };
  };

  test('may take as long as it likes before', async () => {
    const { clock, work, end } = start();
    clock.advance(1e9);
    work.resolve();

    expect(await end).toBe(true);
    expect(clock.waits).toEqual([]);
  });

  test('ends in time, and nothing waits for it any more', async () => {
    const { stopping, clock, work, end } = start();
    stopping.abort();
    await clock.sleeper();
    clock.advance(13_999);
    work.resolve();

    expect(await end).toBe(true);
    expect(clock.waits).toEqual([14_000]);
  });

  test.each(['while it runs', 'before it begins'])('is not waited for too long: asked %s', async (when) => {
    const stopping = new AbortController();
    const clock = testClock({ sleepsAdvance: false });
    if (when === 'before it begins') stopping.abort();
    const end = endsInTime(new Promise(() => {}), { stop: stopping.signal, clock, afterStopMs: 14_000 });
    stopping.abort();
    await clock.sleeper();
    clock.advance(14_000);

    expect(await end).toBe(false);
  });

  test('fails as the work does', async () => {
    const { work, end } = start();
    work.reject(new Error('a bug'));

    await expect(end).rejects.toThrow('a bug');
  });
});
