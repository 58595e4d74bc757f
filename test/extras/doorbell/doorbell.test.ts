/**
 * When a table that rang is read, on a clock that the test moves.
 */
import { expect, test } from 'vitest';
import type { WorkEvent } from '../../../src/daemon/context.ts';
import type { TableOutcome } from '../../../src/daemon/work-kinds.ts';
import { Doorbell } from '../../../src/extras/doorbell/doorbell.ts';
import { doorbellMetrics } from '../../../src/extras/doorbell/ring-requests.ts';
import { testClock } from '../../support/clock.ts';

/** A doorbell whose reads bring `brings` rows each. */
function openDoorbell({ brings = 1 } = {}) {
  const clock = testClock({ sleepsAdvance: false, startMs: 0 });
  const reads: string[] = [];
  const stop = new AbortController();
  const asked = { brings };
  const doorbell = new Doorbell({
    clock,
    stop: stop.signal,
    originNowMs: () => clock.nowMs(),
    refresh: async (tables) => {
      reads.push(`${clock.monotonicMs()} ${tables.join(',')}`);
      return tables.map((name): TableOutcome => ({
        name,
        localName: name,
        error: null,
        held: null,
        isFollowed: true,
        stamps: ['1970-01-01T00:00:00Z'],
        counts: { insertedCount: 0, updatedCount: asked.brings, deletedCount: 0 },
      }));
    },
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { doorbell, clock, reads, pass, asked, stop };
}

test('rings within 200 ms are one read, of all tables that rang', async () => {
  const { doorbell, reads, pass } = openDoorbell();

  doorbell.ring('Order');
  await pass(100);
  doorbell.ring('Order');
  await pass(400);

  expect(reads).toEqual(['200 Order']);
});

test('a table is read at most once a second, however often it rings, and once after the last ring', async () => {
  const { doorbell, reads, pass } = openDoorbell();

  for (let count = 0; count < 61; count += 1) {
    doorbell.ring('Order');
    await pass(50);
  }
  await pass(20_000);

  expect(reads).toEqual(['200 Order', '1200 Order', '2200 Order', '3200 Order']);
});

test('a ring that is faster than its change is tried again after 1, 3 and 10 seconds', async () => {
  const { doorbell, reads, pass } = openDoorbell({ brings: 0 });

  doorbell.ring('Order');
  await pass(30_000);

  expect(reads).toEqual(['200 Order', '1200 Order', '3000 Order', '10000 Order']);
  expect([doorbell.readCount, doorbell.broughtCount]).toEqual([4, 0]);
});

test('it is not tried again once something came', async () => {
  const { doorbell, reads, pass, asked } = openDoorbell({ brings: 0 });

  doorbell.ring('Order');
  await pass(1_000);
  asked.brings = 1;
  await pass(30_000);

  expect(reads).toEqual(['200 Order', '1200 Order']);
  expect([doorbell.readCount, doorbell.broughtCount]).toEqual([2, 1]);
  expect(doorbell.percentileMs(0.99)).toBe(1_200);
});

test('before a row came there is no time from stamp to here, and no sample of it', async () => {
  const { doorbell, pass, asked } = openDoorbell({ brings: 0 });
  const samples = (): readonly unknown[] =>
    doorbellMetrics({}, doorbell).flatMap(({ name, samples: all }) => (name === 'doorbell_seconds' ? all : []));

  doorbell.ring('Order');
  await pass(500);
  expect(samples()).toEqual([]);
  asked.brings = 1;
  await pass(1_000);

  expect(samples()).toEqual([
    { labels: { percentile: '50' }, value: 1.2 },
    { labels: { percentile: '99' }, value: 1.2 },
  ]);
});

test('a table that waits does not hold up another one', async () => {
  const { doorbell, reads, pass } = openDoorbell({ brings: 0 });

  doorbell.ring('Order');
  await pass(4_000);
  doorbell.ring('Customer');
  await pass(500);

  expect(reads.at(-1)).toBe('4200 Customer');
});

test('nothing is read after the daemon was told to stop', async () => {
  const { doorbell, reads, pass, stop } = openDoorbell();

  doorbell.ring('Order');
  stop.abort();
  await pass(1_000);

  expect(reads).toEqual([]);
});

/** The end of a run that began to read a table so long ago, and brought some rows. */
function readOf(agoMs: number, changedCount: number, changes: Partial<WorkEvent> = {}): WorkEvent {
  const counts = { insertedCount: 0, updatedCount: changedCount, deletedCount: 0 };
  const tables = [{ name: 'Note', localName: 'Note', error: null, held: null, counts, isFollowed: true }];
  const ended = { kind: 'ended', work: 'follow', isRefresh: false, durationMs: agoMs, tables } as const;
  return { ...ended, ...changes } as WorkEvent;
}

/** A doorbell by which rows of a table came so long ago. */
async function openRung(agoMs = 600_000) {
  const opened = openDoorbell();
  opened.doorbell.ring('Note');
  await opened.pass(200);
  opened.clock.advance(agoMs);
  return opened.doorbell;
}

test.each<[string, { rungAgoMs?: number; missedAgoMs?: number; readAgoMs?: number }, boolean]>([
  ['a ring brought the last change', {}, true],
  ['that was an hour ago', { rungAgoMs: 3_600_000 }, true],
  ['that was longer ago', { rungAgoMs: 3_600_001 }, false],
  ['the schedule brought one since', { missedAgoMs: 599_999 }, false],
  ['the schedule brought one in that moment', { missedAgoMs: 600_000 }, false],
  ['the schedule brought one before', { missedAgoMs: 600_001 }, true],
  ['it was read ten minutes ago', { readAgoMs: 600_000 }, false],
  ['it was read a bit later', { readAgoMs: 599_999 }, true],
])('following leaves a table to the doorbell where %s: %j is %s', async (_what, changes, expected) => {
  const { rungAgoMs = 600_000, missedAgoMs = Infinity, readAgoMs = 599_999 } = changes;
  const doorbell = await openRung(rungAgoMs);
  doorbell.note(readOf(missedAgoMs, 1));
  doorbell.note(readOf(readAgoMs, 0));

  expect(doorbell.bringsChanges('Note')).toBe(expected);
});

test.each([
  ['brought nothing', readOf(10, 0), true],
  ['brought a change', readOf(10, 1), false],
  ['read it because somebody wanted it now', readOf(10, 1, { isRefresh: true }), true],
  ['did something else', readOf(10, 1, { work: 'push' }), true],
])(
  'a table of which a ring brought rows waits for rings after a run that %s: %o is %s',
  async (_what, event, expected) => {
    const doorbell = await openRung();
    doorbell.note(readOf(20, 0));

    doorbell.note(event);

    expect(doorbell.bringsChanges('Note')).toBe(expected);
  },
);

test('a table waits for no ring that nothing has read yet, or for which none rang', async () => {
  const { doorbell } = openDoorbell();
  doorbell.note(readOf(10, 0));

  expect(doorbell.bringsChanges('Note')).toBe(false);
  expect((await openRung()).bringsChanges('Note')).toBe(false);
});
