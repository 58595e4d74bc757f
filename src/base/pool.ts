/**
 * Runs asynchronous work with a bound on how much is under way. The first failure stops new work, waits for what is
 * under way, and is thrown.
 */

/** Takes items from `next` until it returns null with nothing under way, running at most `limit` at a time. */
export async function runPool<T>(next: () => T | null, limit: number, run: (item: T) => Promise<void>): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for (;;) {
    while (failures.length === 0 && underWay.size < limit) {
      const item = next();
      if (item === null) break;
      const work = run(item)
        .catch((thrown: unknown) => void failures.push(thrown))
        .finally(() => underWay.delete(work));
      underWay.add(work);
    }
    if (underWay.size === 0) break;
    await Promise.race(underWay);
  }
  if (failures.length > 0) throw failures[0];
}

/** Runs every item, at most `limit` at a time. */
export async function runAll<T>(items: readonly T[], limit: number, run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const take = (): T | null => {
    const step = left.next();
    return step.done === true ? null : step.value;
  };
  await runPool(take, limit, run);
}
