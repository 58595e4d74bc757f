/**
 * Clocks that jump under a daemon: set by hand, by NTP, at 1970 until the network is up, standing still with the
 * machine. Schedules follow the wall clock, waits the monotonic one, and nothing waits for a time that was never meant.
 */
import { expect, test } from 'vitest';
import { pushNow } from '../support/push.ts';
import { startDaemon, type TestDaemon } from '../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { startTwoWay } from '../support/two-way.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365.25 * DAY_MS;

/** From the first minute of a test daemon (support/daemon.ts) to the one at which a board without a battery boots. */
const TO_1970_MS = Date.UTC(2026, 5, 1, 12, 1);

function startSandbox(): Promise<TestSandbox> {
  return startTestSandbox({
    tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] }],
  });
}

function runs(daemon: TestDaemon, kind: string): number {
  return daemon.events('work.finished').filter(({ work }) => work === kind).length;
}

const JUMPS: readonly (readonly [string, number])[] = [
  ['a second', SECOND_MS],
  ['a minute', 60 * SECOND_MS],
  ['an hour', HOUR_MS],
  ['a day', DAY_MS],
  ['a year', YEAR_MS],
  ['ten years', 10 * YEAR_MS],
];

test.each(JUMPS.flatMap(([name, ms]) => [[`${name} ahead`, ms] as const, [`${name} back`, -ms] as const]))(
  'a clock that jumps %s loses no tick of a schedule and makes no storm of them',
  async (_name, ms) => {
    await using sandbox = await startSandbox();
    await using daemon = startDaemon(sandbox, 'schedule: { sync: "*/5 * * * *", verify: "30 * * * *" }\n');
    await daemon.elapse(7);
    const before = runs(daemon, 'pull');

    daemon.clock.setBack(-ms);
    await daemon.elapse(60);

    // Twelve ticks in an hour, one more or less where the jump goes over one, and one for all that was jumped over.
    expect(runs(daemon, 'pull') - before).toBeGreaterThanOrEqual(11);
    expect(runs(daemon, 'pull') - before).toBeLessThanOrEqual(14);
    expect(runs(daemon, 'verify')).toBeGreaterThanOrEqual(1);
    expect(runs(daemon, 'verify')).toBeLessThanOrEqual(2);
    expect(daemon.clock.waits.every((waitMs) => waitMs >= 0 && waitMs <= 60 * SECOND_MS)).toBe(true);
  },
);

test('a daemon that boots in 1970 pulls then, and once more when the clock is set', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 13 * * *" }\n', { startMs: 0 });
  await daemon.elapse(2);
  const atFirst = runs(daemon, 'pull');

  daemon.clock.setBack(-TO_1970_MS);
  await daemon.elapse(3);
  const whenSet = runs(daemon, 'pull');
  await daemon.elapse(60);

  expect([atFirst, whenSet, runs(daemon, 'pull')]).toEqual([1, 2, 3]);
});

test('a suspended machine makes one run of all that it missed, whether or not its monotonic clock stood still', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "*/5 * * * *" }\n');
  await daemon.elapse(1);

  daemon.clock.setBack(-8 * HOUR_MS); // the wall clock alone went on
  await daemon.elapse(1);
  const afterWall = runs(daemon, 'pull');
  daemon.clock.advance(8 * HOUR_MS); // both did
  await daemon.idle();

  expect([afterWall, runs(daemon, 'pull')]).toEqual([2, 3]);
});

test('a table that failed is tried again after its wait, wherever the clock was set meanwhile', async () => {
  await using sandbox = await startSandbox();
  sandbox.answerInstead(
    1,
    { status: 200, headers: { 'Content-Type': 'application/json' }, body: '[{}]' },
    { method: 'select' },
  );
  await using daemon = startDaemon(sandbox, 'schedule: { sync: "0 0 1 1 *" }\n');
  await daemon.idle();
  const failed = daemon.events('table.waits').length;

  daemon.clock.setBack(10 * YEAR_MS);
  await daemon.elapse(2);

  expect(failed).toBe(1);
  expect(daemon.events('table.recovered')).toHaveLength(1);
});

test('a notice is not kept quiet by one that was sent before the clock was set back', async () => {
  await using sandbox = await startSandbox();
  await using daemon = startDaemon(
    sandbox,
    'schedule: { sync: "*/5 * * * *" }\nnotify: { command: ["true"], repeatMinutes: 60 }\n',
  );
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  daemon.clock.setBack(10 * YEAR_MS);
  await daemon.elapse(90);

  expect(daemon.events('circuit.opened').length).toBeGreaterThan(2);
  await expect.poll(() => daemon.events('notice.sent').length).toBe(2);
});

test('a row that was refused under a clock ten years ahead is tried again when the clock is right', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  const body = JSON.stringify([{ status: 429, id: 1, errors: [{ error: 429, code: 0, message: 'busy' }] }]);
  fixture.sandbox.answerInstead(
    1,
    { status: 200, headers: { 'Content-Type': 'application/json' }, body },
    { method: 'update' },
  );
  const { clock } = fixture.context();
  const ahead = { ...clock, nowMs: () => clock.nowMs() + 10 * YEAR_MS };

  const refused = await pushNow(fixture, { clock: ahead });
  const pushed = await pushNow(fixture);

  expect(refused.tables).toMatchObject([{ refusedCount: 1 }]);
  expect(pushed.tables).toMatchObject([{ updatedCount: 1, parkedCount: 0 }]);
});
