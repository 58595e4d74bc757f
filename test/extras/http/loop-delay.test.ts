/** How late the event loop was, as a daemon measures it. */
import { expect, test, vi } from 'vitest';
import { LoopDelay } from '../../../src/extras/http/loop-delay.ts';
import { testClock } from '../../support/clock.ts';

test('a loop that was held up is reported once, also right behind a report, and one that was not is not', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const clock = testClock();
  const delay = new LoopDelay(clock);
  /** The next sample is so late. */
  const sample = (lateMs: number): void => {
    clock.advance(20 + lateMs);
    vi.advanceTimersToNextTimer();
  };

  sample(0);
  sample(200);
  sample(0.5);
  const late = delay.takeP99Seconds();
  sample(3_000);
  const behind = delay.takeP99Seconds();
  sample(0);
  const after = delay.takeP99Seconds();
  const unsampled = delay.takeP99Seconds();
  delay.stop();

  expect(late).toBeCloseTo(0.2, 3);
  expect(behind).toBeCloseTo(3, 2);
  expect([after, unsampled]).toEqual([1e-9, 0]);
  expect(vi.getTimerCount()).toBe(0);
});
