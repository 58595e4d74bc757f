import { expect, test } from 'vitest';
import { shareNext } from '../../src/base/pool.ts';

/** A question whose answers come when the test says so; each is the number of the question. */
function manualQuestion(): { readonly ask: () => Promise<number>; readonly answers: ((failure?: Error) => void)[] } {
  const answers: ((failure?: Error) => void)[] = [];
  const ask = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const number = answers.length + 1;
      answers.push((failure) => (failure === undefined ? resolve(number) : reject(failure)));
    });
  return { ask, answers };
}

test('all who ask while a question is under way share the next one', async () => {
  const { ask, answers } = manualQuestion();
  const shared = shareNext(ask);
  const first = shared();
  await Promise.resolve();
  const [second, third] = [shared(), shared()];

  expect(answers).toHaveLength(1);
  answers[0]?.();
  expect(await first).toBe(1);
  await expect.poll(() => answers.length).toBe(2);
  answers[1]?.();

  expect(await Promise.all([second, third])).toEqual([2, 2]);
  expect(answers).toHaveLength(2);
});

test('a question that fails does so for those who shared it, and the next one is asked', async () => {
  const { ask, answers } = manualQuestion();
  const shared = shareNext(ask);
  const first = shared();
  await Promise.resolve();
  const second = shared();
  answers[0]?.(new Error('no'));

  await expect(first).rejects.toThrow('no');
  await expect.poll(() => answers.length).toBe(2);
  answers[1]?.();
  expect(await second).toBe(2);
});
