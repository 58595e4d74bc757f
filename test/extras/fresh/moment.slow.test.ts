/**
 * A moment: every table here is as the origin was at one and the same time, in all columns whose changes have a stamp.
 * Colleagues work between any two requests; every state that the origin was in is kept, and what is here must be one of
 * them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { asRowsyncError } from '../../../src/base/errors.ts';
import { proveMoment } from '../../../src/extras/fresh/moment.ts';
import { Random } from '../../../src/sandbox/data/random.ts';
import { readLastMoment } from '../../../src/extras/shared/fresh-tables.ts';
import { makeWorkspace } from '../../support/child.ts';
import { testClock } from '../../support/clock.ts';
import { startDaemon } from '../../support/daemon.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { seeds } from '../../support/seeds.ts';
import { runCli } from '../../support/session.ts';

const NAMES = ['Large', 'Order', 'Small'] as const;
const START_MS = Date.parse('2026-11-25T08:00:00Z');
const columns = [{ name: 'Title', type: 'Text' as const }];
const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ Title: `row ${n}` }));
const TABLES = [
  { name: 'Large', columns, rows: rows(45) },
  { name: 'Order', columns, rows: rows(9) },
  { name: 'Small', columns, rows: rows(3) },
];

/** All rows of all tables at the origin, as one text. No text is written twice. */
function stateThere({ sandbox }: Fixture): string {
  return JSON.stringify(NAMES.map((name) => sandbox.store.rows(name).map(({ id, values }) => [id, values['Title']])));
}

/** The same of what is here. */
function stateHere(fixture: Fixture): string {
  const read = (name: string): readonly unknown[] => fixture.rows(`SELECT _id, "Title" FROM "${name}" ORDER BY _id`);
  return JSON.stringify(NAMES.map((name) => read(name).map((row) => Object.values(row as Record<string, unknown>))));
}

/** One change by a colleague. */
function change({ sandbox: { store } }: Fixture, random: Random, serial: number): void {
  const name = random.pick(NAMES);
  const ids = store.ids(name);
  const id = ids[random.integer(0, ids.length - 1)];
  const draw = random.integer(0, 7);
  if (draw >= 4 && ids.length > 2 && id !== undefined) {
    // As many rows as before, but not the same.
    store.delete(name, id);
    store.insert(name, { Title: `new ${serial}` });
  } else if (draw === 1 && ids.length > 2 && id !== undefined) store.delete(name, id);
  else if (draw === 2 || id === undefined) store.insert(name, { Title: `new ${serial}` });
  else store.update(name, id, { Title: `title ${serial}` });
}

test.each(seeds(80))('what is here is what the origin was at one time, seed %i', { timeout: 60_000 }, async (seed) => {
  const random = new Random(seed);
  const states: { readonly fromMs: number; readonly state: string }[] = [];
  const note = (): void => void states.push({ fromMs: clock.nowMs(), state: stateThere(fixture) });
  const clock = testClock({ startMs: START_MS });
  // The origin's clock is not ours.
  const shiftMs = random.pick([-1_200_000, 0, 1_200_000]);
  const share = random.integer(0, 6);
  const watched = { isOn: false };
  let left = random.integer(0, 7);
  await using fixture = await startFixture(
    {
      tables: TABLES,
      clock: { ...clock, nowMs: () => clock.nowMs() + shiftMs },
      intercept: () => {
        clock.advance(random.integer(500, 3_000));
        while (watched.isOn && left > 0 && random.integer(0, 6) < share) {
          left -= 1;
          change(fixture, random, left);
          note();
        }
        return false;
      },
    },
    {
      clock,
      settings: { pageRows: 5, follows: random.pick(['all', 'large', 'none'] as const), maxDeletePercent: 100 },
    },
  );
  await fixture.pull();
  clock.advance(3_600_000);
  fixture.sandbox.store.update('Large', 45, { Title: 'last' });
  await fixture.pull();
  clock.advance(3_600_000);
  watched.isOn = true;
  note();

  const report = await fixture.pull({ follow: random.pick([true, false]) });
  const failure = await proveMoment(fixture.context(), report).then(
    () => null,
    (thrown: unknown) => asRowsyncError(thrown).code,
  );
  const moment = readLastMoment(fixture.replica);

  // Where too much moved, there is none.
  expect([failure, moment === null]).toEqual(failure === null ? [null, false] : ['fresh.moved', true]);
  if (moment === null) return;
  expect(moment).toMatchObject({ tables: NAMES, notCovered: [], holds: true });
  const atMs = Date.parse(moment.at);
  const inForce = states.filter(
    ({ fromMs }, index) => fromMs < atMs + 1_000 && (states[index + 1]?.fromMs ?? Infinity) >= atMs,
  );
  expect(inForce.map(({ state }) => state)).toContain(stateHere(fixture));
});

/** Two tables, of which one is two-way; `later` moves the clock by minutes. */
async function startWorld() {
  let nowMs = START_MS;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const sandbox = await startTestSandbox({
    tables: [...TABLES.slice(1), { name: 'Log', columns, rows: rows(2), systemColumns: false }],
    clock,
  });
  const made = makeWorkspace(sandbox, 'tables: { "*": {}, Order: { push: true } }\n');
  return {
    sandbox,
    folder: made.folder,
    later: (minutes: number) => void (nowMs += minutes * 60_000),
    run: (...args: readonly string[]) => runCli(args, { folder: made.folder, clock }),
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test('what a moment does not cover has the names of the replica', async () => {
  const unstamped = { name: 'Grand Total', type: 'Numeric' as const, kind: 'Summary' };
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'Site Note', columns: [...columns, unstamped], rows: rows(2) }],
  });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": {} }\n');
  const config = join(workspace.folder, 'rowsync.yaml');
  writeFileSync(config, readFileSync(config, 'utf8').replace(/^replica: \{/mu, 'replica: { names: snake,'));

  const { stdout } = await runCli(['pull', '--moment'], { folder: workspace.folder });

  expect(stdout).toContain('; not covered: site_note.grand_total\n');
});

const QUERY = 'SELECT "Title" FROM "Order" WHERE _id = 1';

test('a pull says the moment and what it does not cover, and answers are of it until the next change', async () => {
  await using world = await startWorld();

  const pulled = await world.run('pull', '--moment');
  const answer = await world.run('sql', '--json', '--moment', QUERY);

  expect(pulled.stdout).toContain('All 2 tables are as they were at 2026-11-25T08:00:00Z; not covered: Log\n');
  expect(JSON.parse(answer.stdout)).toEqual({
    moment: '2026-11-25T08:00:00Z',
    notCovered: ['Log'],
    rows: [{ Title: 'row 0' }],
  });
  world.later(10);
  await world.run('pull');
  expect((await world.run('sql', '--moment', QUERY)).exitCode).toBe(0);
  world.sandbox.store.update('Order', 1, { Title: 'changed' });
  await world.run('pull');
  const refused = await world.run('sql', '--moment', QUERY);
  expect({ exitCode: refused.exitCode, stdout: refused.stdout }).toEqual({ exitCode: 75, stdout: '' });
  expect(refused.stderr).toContain('Rows have changed since the last moment, which was 2026-11-25T08:00:00Z');
  expect((await world.run('status')).stdout).toContain('moment    2026-11-25T08:00:00Z, rows have changed since\n');
  expect(JSON.parse((await world.run('sql', '--json', 'SELECT at, holds FROM sync_moments')).stdout)).toEqual([
    { at: '2026-11-25T08:00:00Z', holds: 0 },
  ]);
});

test('edits that wait are no part of a moment, and their push ends it', async () => {
  await using world = await startWorld();
  await world.run('pull', '--moment');
  const db = new Database(join(world.folder, 'replica.db'));
  db.prepare(`UPDATE "Order" SET "Title" = 'mine' WHERE _id = 1`).run();
  db.close();

  const ofMoment = await world.run('sql', '--json', '--moment', QUERY);
  const ofNow = await world.run('sql', '--json', QUERY);

  expect(JSON.parse(ofMoment.stdout)).toMatchObject({ rows: [{ Title: 'row 0' }] });
  expect(JSON.parse(ofNow.stdout)).toEqual([{ Title: 'mine' }]);
  expect((await world.run('push')).exitCode).toBe(0);
  expect((await world.run('sql', '--moment', QUERY)).exitCode).toBe(75);
});

test('an answer is asked for of a moment or of an age, and not of both', async () => {
  await using world = await startWorld();

  const both = await world.run('sql', '--moment', '--fresh', '1h', QUERY);

  expect(both).toMatchObject({ exitCode: 2, stdout: '' });
  expect(both.stderr).toContain("option '--moment' cannot be used with option '--fresh <age>'");
});

test('a backup and an export are of a moment, or are not made', async () => {
  await using world = await startWorld();
  await world.run('pull', '--moment');
  const [copy, late, folder] = ['copy.db', 'late.db', 'out'].map((name) => join(world.folder, name));

  expect((await world.run('backup', '--moment', copy ?? '')).exitCode).toBe(0);
  expect((await world.run('export', '--moment', '--format', 'csv', folder ?? '')).exitCode).toBe(0);
  const { moment } = JSON.parse(readFileSync(join(folder ?? '', 'manifest.json'), 'utf8')) as { moment: string };
  expect(moment).toBe('2026-11-25T08:00:00Z');

  world.sandbox.store.delete('Small', 1);
  await world.run('pull');
  expect((await world.run('backup', '--moment', late ?? '')).exitCode).toBe(75);
  expect(existsSync(late ?? '')).toBe(false);
  expect((await world.run('export', '--moment', '--format', 'csv', folder ?? '')).exitCode).toBe(75);
});

test('the daemon proves one on schedule', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  await using daemon = startDaemon(sandbox, 'schedule: { moment: "10 * * * *" }\n');
  await daemon.idle();

  await daemon.elapse(12);

  expect(daemon.rows('SELECT at, holds FROM sync_moments')).toEqual([
    { at: expect.stringMatching(/^2026-06-01T12:1/) as string, holds: 1 },
  ]);
  expect(daemon.events('work.finished').filter(({ work }) => work === 'moment')).toMatchObject([{ outcome: 'done' }]);
});

test('is none where no table shows when its rows changed', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Log', columns, systemColumns: false }] });
  using made = makeWorkspace(sandbox);

  const { exitCode, stdout } = await runCli(['pull', '--moment'], { folder: made.folder });

  expect(exitCode).toBe(75);
  expect(stdout).toContain('failed: No moment: no table shows when its rows changed');
});

test('says which table could not be asked, or was too busy', async () => {
  await using world = await startWorld();
  await world.run('pull');
  for (let nth = 1; nth < 40; nth += 1)
    world.sandbox.before(nth, () => world.sandbox.store.insert('Small', { Title: 'more' }), { method: 'select' });

  const busy = await world.run('pull', '--moment');

  expect(busy.exitCode).toBe(75);
  expect(busy.stdout).toContain('No moment: Small changed each time while the tables were asked');
  expect(busy.stdout).toContain('answered "not modified"');
});

test('does not hide that a guard waits for a person', async () => {
  await using world = await startWorld();
  await world.run('pull');
  const { store } = world.sandbox;
  for (const id of store.ids('Order').slice(1)) store.delete('Order', id);

  const held = await world.run('pull', '--moment', '--json');

  expect([held.exitCode, held.stderr]).toEqual([3, '']);
  expect(JSON.parse(held.stdout)).toMatchObject({
    exitCode: 3,
    moment: null,
    unproven: { code: 'fresh.moved', message: expect.stringContaining('Order could not be asked') as string },
  });
});
