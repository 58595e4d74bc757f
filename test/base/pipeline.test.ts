import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runPipeline, type Turn } from '../../src/base/pipeline.ts';

type Lane = 'record' | 'send' | 'settle';

const OPTIONS = { lanes: ['record', 'send', 'settle'], depth: 4, ahead: { lane: 'send', count: 2 } } as const;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** Runs a pipeline to its end under the fake clock, and tells how long that took and what was thrown. */
async function run(
  items: readonly number[],
  work: (item: number, turn: Turn<Lane>) => Promise<void>,
  options: Parameters<typeof runPipeline<number, Lane>>[1] = OPTIONS,
): Promise<{ readonly ms: number; readonly thrown: unknown }> {
  const left = items.slice();
  const began = Date.now();
  let thrown: unknown = null;
  let ms = -1;
  void runPipeline(() => left.shift() ?? null, options, work)
    .catch((error: unknown) => void (thrown = error))
    .finally(() => void (ms = Date.now() - began));
  await vi.advanceTimersByTimeAsync(100_000);
  return { ms, thrown };
}

/** An item that reads, records, sends and settles; 100 ms for each request, 10 for the work between. */
async function usual(_item: number, turn: Turn<Lane>): Promise<void> {
  await wait(100);
  await turn.enter('record', () => wait(10));
  await turn.enter('send', () => wait(100));
  await wait(100);
  await turn.enter('settle', () => wait(10));
}

const TEN = Array.from({ length: 10 }, (_, index) => index + 1);

test('the lane that takes longest sets the pace', async () => {
  expect(await run(TEN, usual)).toEqual({ ms: 110 + 10 * 100 + 110, thrown: null });
});

test('with a depth of one, items run one after the other', async () => {
  const { ms } = await run(TEN, usual, { ...OPTIONS, depth: 1 });

  expect(ms).toBe(10 * 320);
});

test('items pass each lane in their order, however long the work before it takes', async () => {
  const passed: string[] = [];

  await run([1, 2, 3, 4, 5], async (item, turn) => {
    await wait(1000 - item * 150);
    for (const lane of OPTIONS.lanes) {
      await turn.enter(lane, async () => {
        await wait(item % 2 === 0 ? 1 : 20);
        passed.push(`${lane} ${item}`);
      });
    }
  });

  for (const lane of OPTIONS.lanes)
    expect(passed.filter((text) => text.startsWith(lane))).toEqual([1, 2, 3, 4, 5].map((item) => `${lane} ${item}`));
});

test('an item that leaves a lane out does not let later ones overtake those before it', async () => {
  const sent: number[] = [];

  await run([1, 2, 3], async (item, turn) => {
    if (item === 2) return;
    await turn.enter('send', async () => {
      await wait(item === 1 ? 100 : 1);
      sent.push(item);
    });
  });

  expect(sent).toEqual([1, 3]);
});

test('no more items begin than may be ahead of a lane, or be under way', async () => {
  let [ahead, underWay] = [0, 0];
  let [mostAhead, mostUnderWay] = [0, 0];

  await run(TEN, async (_item, turn) => {
    [ahead, underWay] = [ahead + 1, underWay + 1];
    [mostAhead, mostUnderWay] = [Math.max(mostAhead, ahead), Math.max(mostUnderWay, underWay)];
    await turn.enter('send', async () => {
      ahead -= 1;
      await wait(10);
    });
    await wait(100);
    underWay -= 1;
  });

  expect([mostAhead, mostUnderWay]).toEqual([2, 4]);
});

test('an item that waits to be alone goes on when all before it have ended, and holds up those behind it', async () => {
  const told: string[] = [];

  await run([1, 2, 3], async (item, turn) => {
    if (item === 2) await turn.alone();
    await turn.enter('record', () => Promise.resolve(void told.push(`record ${item}`)));
    await wait(50);
    told.push(`end ${item}`);
  });

  expect(told).toEqual(['record 1', 'end 1', 'record 2', 'record 3', 'end 2', 'end 3']);
});

describe('once an item fails', () => {
  async function failing(at: 'send' | 'end'): Promise<{ readonly told: readonly string[]; readonly thrown: unknown }> {
    const told: string[] = [];
    const { thrown } = await run([1, 2, 3, 4, 5], async (item, turn) => {
      await turn.enter('record', () => wait(1));
      await turn.enter('send', async () => {
        told.push(`${turn.isStopped() ? 'not sent' : 'sent'} ${item}`);
        await wait(10);
        if (item === 2 && at === 'send') throw new Error(`${item} failed`);
      });
      await wait(5);
      if (item === 2 && at === 'end') throw new Error(`${item} failed`);
      told.push(`end ${item}`);
    });
    return { told, thrown };
  }

  test('those under way end, each knowing of it, and the failure is thrown', async () => {
    const { told, thrown } = await failing('send');

    expect(told).toEqual(['sent 1', 'sent 2', 'end 1', 'not sent 3', 'not sent 4', 'end 3', 'end 4']);
    expect(thrown).toEqual(new Error('2 failed'));
  });

  test('what was sent meanwhile ends as well', async () => {
    const { told } = await failing('end');

    expect(told.slice(2)).toEqual(['end 1', 'sent 3', 'not sent 4', 'end 3', 'not sent 5', 'end 4', 'end 5']);
  });
});

test('an item that comes back is taken before the end, and what has to be alone begins only once nothing else is under way', async () => {
  const queue = ['a1', 'a2'];
  const told: string[] = [];
  let isLast = false;
  const next = (isIdle: boolean): string | null => {
    const item = queue.shift();
    if (item !== undefined) return item;
    if (isLast || !isIdle) return null;
    isLast = true;
    return 'b';
  };
  const done = runPipeline<string, Lane>(next, OPTIONS, async (item) => {
    told.push(`begin ${item}`);
    await wait(10);
    if (item === 'a1') queue.push('rest of a1');
    told.push(`end ${item}`);
  });

  await vi.advanceTimersByTimeAsync(1000);
  await done;

  expect(told.slice(-4)).toEqual(['end a2', 'end rest of a1', 'begin b', 'end b']);
});
