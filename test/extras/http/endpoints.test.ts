/** Answers that everyone gets: they cost the daemon a twentieth of its time at most. */
import { expect, test } from 'vitest';
import { seldom } from '../../../src/extras/http/endpoints.ts';

/** A function that takes ten milliseconds, and says how often it was called. */
function slow() {
  let nowMs = 0;
  let count = 0;
  const clock = { monotonicMs: () => nowMs };
  const make = (): number => {
    nowMs += 10;
    return (count += 1);
  };
  return { clock, make, pass: (ms: number) => (nowMs += ms) };
}

test('an answer is made again after twenty times as long as it took', () => {
  const { clock, make, pass } = slow();
  const ask = seldom(make, clock);

  const first = [ask(), ask()];
  pass(199);
  const before = ask();
  pass(1);

  expect([...first, before, ask()]).toEqual([1, 1, 1, 2]);
});

test('those who ask while an answer is made get the same one, also where it fails', async () => {
  const { clock, make, pass } = slow();
  const ask = seldom(() => Promise.reject(new Error(String(make()))), clock);

  const answers = await Promise.allSettled([ask(), ask()]);
  pass(200);
  const later = await Promise.allSettled([ask()]);

  const words = [...answers, ...later].map((answer) => (answer.status === 'rejected' ? String(answer.reason) : ''));
  expect(words).toEqual(['Error: 1', 'Error: 1', 'Error: 2']);
});
