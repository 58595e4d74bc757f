/**
 * `rowsync sql --at`: tables as they were here at a moment.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { Random } from '../../../src/sandbox/data/random.ts';
import { startHistory } from '../../support/history-workspace.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { seeds } from '../../support/seeds.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const START_MS = Date.parse('2026-11-25T08:00:00Z');
const QUERY = 'SELECT * FROM "Note" ORDER BY _id';

/** A table with history, and one without; `at` moves the clock to a minute. */
async function startWorld() {
  let nowMs = START_MS;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const other = { name: 'Other', columns: [{ name: 'Title', type: 'Text' as const }], rows: [{ Title: 'a' }] };
  const sandbox = await startTestSandbox({ tables: [NOTE, other], clock });
  const made = makeWorkspace(sandbox, `tables: { '*': {}, Note: { history: true } }\n`);
  return {
    sandbox,
    at: (minute: number) => void (nowMs = START_MS + minute * 60_000),
    run: (args: readonly string[]) => runCli(args, { folder: made.folder, clock }),
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test.each(seeds(1))('is what the table was at every moment, seed %i', async (seed) => {
  await using world = await startWorld();
  const random = new Random(seed);
  const { store } = world.sandbox;
  const pick = <T>(items: readonly T[]): T | undefined => items[random.integer(0, items.length - 1)];
  const snapshots: string[] = [];
  for (let minute = 0; minute < 12; minute += 1) {
    world.at(minute);
    const changeCount = minute === 0 ? 0 : 3;
    for (let change = 0; change < changeCount; change += 1) {
      const id = pick(store.ids('Note'));
      const draw = random.integer(0, 3);
      if (draw === 0 || id === undefined) store.insert('Note', { Title: `new ${minute}.${change}`, Count: minute / 4 });
      else if (draw === 1) store.delete('Note', id);
      else store.update('Note', id, { Title: `title ${minute}.${change}`, Count: pick([null, 12, 0.1, -3]) ?? null });
    }
    await world.run(['pull', '--confirm']);
    snapshots.push((await world.run(['sql', '--json', QUERY])).stdout);
  }

  for (const [minute, snapshot] of snapshots.entries()) {
    const at = new Date(START_MS + minute * 60_000).toISOString();
    expect((await world.run(['sql', '--json', '--at', at, QUERY])).stdout).toBe(snapshot);
  }
});

test('refuses a time before the journal, one ahead, and a table without history, and says what it knows', async () => {
  await using world = await startWorld();
  await world.run(['pull']);
  world.at(10);
  await world.run(['pull']);

  const before = await world.run(['sql', '--at', '2026-11-25T07:00:00Z', QUERY]);
  const ahead = await world.run(['sql', '--at', '2026-11-26T07:00:00Z', QUERY]);
  const other = await world.run(['sql', '--at', '5m', 'SELECT * FROM "Other"']);
  const joined = await world.run(['sql', '--at', '5m', 'SELECT count(*) FROM "Note" JOIN "Other" ON true']);
  const wrong = await world.run(['sql', '--at', '5m', 'SELECT * FROM "Nope"']);

  expect(before.stderr).toContain('What Note was at 2026-11-25T07:00:00Z is not known');
  expect(before.stderr).toContain('Its history begins at 2026-11-25T08:00:00Z.');
  expect(ahead.stderr).toContain('lies ahead');
  for (const { stderr, exitCode } of [other, joined]) {
    expect(stderr).toContain('The changes of Other are not kept');
    expect(exitCode).toBe(2);
  }
  expect(wrong.stderr).toContain('no such table: Nope');
});

test('sql --at shows tables as they were here at a moment, also in views and by index, and nothing else', async () => {
  await using history = await startHistory();
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`CREATE VIEW titles AS SELECT _id, "Title" FROM "Note"; CREATE INDEX by_title ON "Note" ("Title")`);
  db.close();
  const ask = async (at: string, query: string) =>
    JSON.parse((await history.run(['sql', '--json', '--at', at, query])).stdout) as unknown;

  const titles = `SELECT group_concat("Title" ORDER BY _id) AS t FROM `;
  expect(await ask('2026-11-25T08:00:00Z', `${titles}"Note" WHERE _id IN (1, 2, 7)`)).toEqual([
    { t: 'title 1,title 2' },
  ]);
  expect(await ask('2026-11-25T08:10:00Z', `${titles}titles WHERE _id IN (1, 2, 7)`)).toEqual([{ t: 'one,title 2' }]);
  expect(await ask('2026-11-25T08:20:00Z', `SELECT "Body" FROM Note WHERE "Title" = 'one'`)).toEqual([
    { Body: 'for a while' },
  ]);
  expect(await ask('now', `${titles}"Note" WHERE _id IN (1, 2, 7)`)).toEqual([{ t: 'one,seven' }]);
  expect(
    await ask(
      '2026-11-25T08:00:00Z',
      `SELECT count(*) AS n FROM "Note" t JOIN main."Note" m ON m._id = t._id AND m."Title" <> t."Title"`,
    ),
  ).toEqual([{ n: 1 }]);
});

test('sql --at needs history of every table that the query names, and of no other', async () => {
  await using history = await startHistory(`tables: { '*': {} }\n`);
  const refused = await history.run(['sql', '--at', '5m', 'SELECT * FROM "Note"']);
  const other = await history.run(['sql', '--at', '5m', '--json', 'SELECT count(*) AS n FROM sync_status']);
  const wrong = await history.run(['sql', '--at', '5m', 'SELECT nope FROM "Note"']);

  expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
  expect(refused.stderr).toContain('The changes of Note are not kept');
  expect(JSON.parse(other.stdout)).toEqual([{ n: 1 }]);
  expect(wrong.stderr).toContain('no such column: nope');
});
