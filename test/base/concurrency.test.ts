import { expect, test } from 'vitest';
import { runPool, shareNext } from '../../src/base/concurrency.ts';

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

test('never more than the limit run at once, and what ends may have found more to do', async () => {
  const items = [1, 2, 3];
  const done: number[] = [];
  let [running, most] = [0, 0];

  await runPool(
    () => items.shift() ?? null,
    2,
    async (item) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      done.push(item);
      if (item === 3) items.push(4, 5, 6);
    },
  );

  expect(done).toEqual([1, 2, 3, 4, 5, 6]);
  expect(most).toBe(2);
});

test('a failure stops new work, and is thrown once what is running has ended', async () => {
  const items = [1, 2, 3];
  const ended: number[] = [];
  const run = runPool(
    () => items.shift() ?? null,
    2,
    async (item) => {
      if (item === 1) throw new Error('the first');
      await Promise.resolve();
      ended.push(item);
    },
  );

  await expect(run).rejects.toThrow('the first');
  expect(ended).toEqual([2]);
  expect(items).toEqual([3]);
});

test('a source of work that fails later on is a failure like others', async () => {
  let count = 0;
  const next = (): number => {
    count += 1;
    if (count > 1) throw new Error('no more');
    return count;
  };

  await expect(runPool(next, 1, () => Promise.resolve())).rejects.toThrow('no more');
});
