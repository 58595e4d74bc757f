/** Whether a daemon makes progress, for the watchdog of whatever manages it. */
import { expect, test } from 'vitest';
import { ProgressWatchdog } from '../../src/daemon/process-health.ts';
import { testClock } from '../support/clock.ts';

test('a pulse is there as long as something is done between two looks', () => {
  const pulse = new ProgressWatchdog();

  expect(pulse.hasAdvanced(0)).toBe(true);
  expect(pulse.hasAdvanced(0)).toBe(false);
  expect(pulse.isAlive).toBe(false);
  pulse.beat();
  expect(pulse.hasAdvanced(0)).toBe(true);
  expect(pulse.hasAdvanced(1)).toBe(true);
  expect(pulse.hasAdvanced(1)).toBe(false);
});

test('a pulse is there for whoever waits on purpose, however long', async () => {
  const pulse = new ProgressWatchdog();
  const clock = testClock({ sleepsAdvance: false });
  const sleeping = pulse.watch(clock).sleep(1e9);
  pulse.hasAdvanced(0);

  expect(pulse.hasAdvanced(0)).toBe(true);
  expect(pulse.hasAdvanced(0)).toBe(true);
  clock.advance(1e9);
  await sleeping;
  pulse.hasAdvanced(0);
  expect(pulse.hasAdvanced(0)).toBe(false);
});
