/**
 * Runs asynchronous work with a bound on how much runs at once. The first failure stops new work, waits for running
 * work, and is thrown. Also: one question that many callers share.
 */
import PQueue from 'p-queue';

/** Takes items from `next` until it returns null with nothing under way, running at most `limit` at a time. */
export async function runPool<T>(next: () => T | null, limit: number, run: (item: T) => Promise<void>): Promise<void> {
  const queue = new PQueue({ concurrency: limit });
  const failures: unknown[] = [];
  const attempt = async (work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (thrown) {
      failures.push(thrown);
    }
  };
  const fill = (): void => {
    while (failures.length === 0 && queue.size + queue.pending < limit) {
      const item = next();
      if (item === null) return;
      void queue.add(() => attempt(() => run(item)));
    }
  };
  // What ended may have found more to do.
  queue.addEventListener('next', () => void attempt(fill));
  await attempt(fill);
  while (queue.size + queue.pending > 0) await queue.onIdle();
  if (failures.length > 0) throw failures[0];
}

export async function runAll<T>(items: Iterable<T>, limit: number, run: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const take = (): T | null => {
    const step = left.next();
    return step.done === true ? null : step.value;
  };
  await runPool(take, limit, run);
}

/**
 * Coalesces calls: one runs at a time, and calls made meanwhile share the next, so no answer is older than its call.
 */
export function shareNext<T>(ask: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const askNow = (): Promise<T> => {
    next = null;
    return ask();
  };
  return () => {
    if (next !== null) return next;
    next = last.then(askNow);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Calls the function at most once; later callers get the same result, or the same failure. */
export function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null;
  return () => (answer ??= ask());
}
