/** How late the event loop was, as a daemon measures it. */
import { expect, test } from 'vitest';
import { LoopDelay } from '../../../src/extras/http/loop-delay.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('a loop that was held up is reported once, and one that was not is not', async () => {
  const delay = new LoopDelay();
  // It measures from one of its samples to the next.
  const startedMs = performance.now();
  while (performance.now() - startedMs < 60) await turn();

  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  for (let count = 0; count < 3; count += 1) await turn();
  const late = delay.takeP99Seconds();
  const after = delay.takeP99Seconds();
  delay.stop();

  expect(late).toBeGreaterThan(0.1);
  expect(late).toBeLessThan(10);
  expect(after).toBe(0);
});
