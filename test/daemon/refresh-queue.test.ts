/** Tables that are to be read now: who asks waits for the next run, and gets what became of them. */
import { beforeEach, expect, test } from 'vitest';
import { RefreshQueue } from '../../src/daemon/refresh-queue.ts';
import type { TableOutcome } from '../../src/daemon/work-kinds.ts';
import { testClock, type TestClock } from '../support/clock.ts';

let clock: TestClock;
let wakeCount: number;
let queue: RefreshQueue;
beforeEach(() => {
  clock = testClock({ sleepsAdvance: false });
  wakeCount = 0;
  queue = new RefreshQueue(clock, () => (wakeCount += 1));
});

const READ: readonly TableOutcome[] = [
  {
    name: 'Note',
    localName: 'Note',
    error: null,
    held: null,
    isFollowed: true,
    counts: { insertedCount: 1, updatedCount: 0, deletedCount: 0 },
  },
];

test('two who ask share a run that reads the tables of both', async () => {
  const asked = [queue.ask(['Note']), queue.ask(['Order', 'Note'])];
  expect([...queue.tables]).toEqual(['Note', 'Order']);
  expect(wakeCount).toBe(2);

  const end = queue.take();
  expect(queue.tables.size).toBe(0);
  end(READ);

  expect(await Promise.all(asked)).toEqual([READ, READ]);
});

test('who asks during a run waits for the next one, since this one may have read the table already', async () => {
  const first = queue.ask(['Note']);
  const end = queue.take();
  const second = queue.ask(['Note']);
  expect([...queue.tables]).toEqual(['Note']);
  end(READ);
  expect(await first).toEqual(READ);

  queue.take()([]);

  expect(await second).toEqual([]);
});

test('a wait ends after 45 seconds with nothing, and the tables are read all the same', async () => {
  const asked = queue.ask(['Note']);
  await clock.sleeper();
  clock.advance(45_000);

  expect(await asked).toEqual([]);
  expect([...queue.tables]).toEqual(['Note']);
});

test('who asks for no table neither wakes the daemon nor waits', async () => {
  expect(await queue.ask([])).toEqual([]);
  expect(wakeCount).toBe(0);
});
