/** `rowsync resync`: the next pull reads tables whole; no row changes, and the origin is not asked. */
import { expect, test } from 'vitest';
import { resync } from '../../../src/cli/commands/resync.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE, startTwoWay } from '../../support/two-way.ts';

const columns = [{ name: 'Title', type: 'Text' }] as const;
const TABLES = ['Note', 'Order'].map((name) => ({ name, columns, rows: [{ Title: 'a' }, { Title: 'b' }] }));

/** How many pages the next pull reads of each table. */
async function pagesRead(fixture: Fixture): Promise<Readonly<Record<string, number>>> {
  const { tables } = await fixture.pull();
  return Object.fromEntries(tables.map(({ table, pagesReadCount }) => [table, pagesReadCount]));
}

test('only the named tables are read whole, whatever the case of their names', async () => {
  await using fixture = await startFixture({ tables: TABLES });
  await fixture.pull();
  expect(await pagesRead(fixture)).toEqual({ Note: 0, Order: 0 });
  fixture.sandbox.requests.clear();

  expect(await resync(fixture.replica, ['note'])).toEqual(['Note']);

  expect(fixture.sandbox.requests.all).toEqual([]);
  expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 2 }]);
  const { Note, Order } = await pagesRead(fixture);
  expect([Note !== 0, Order]).toEqual([true, 0]);
  // The description of the table as well.
  expect(fixture.sandbox.requests.find({ method: 'describe', status: 200 }).map(({ table }) => table)).toContain(
    fixture.sandbox.store.table('Note').alias,
  );
  expect(await pagesRead(fixture)).toEqual({ Note: 0, Order: 0 });
});

test('without a name all tables are meant', async () => {
  await using fixture = await startFixture({ tables: TABLES });
  await fixture.pull();

  expect((await resync(fixture.replica, [])).toSorted()).toEqual(['Note', 'Order']);

  expect(Object.values(await pagesRead(fixture)).every((count) => count > 0)).toBe(true);
});

test('an unknown name is refused, and nothing is forgotten', async () => {
  await using fixture = await startFixture({ tables: TABLES });
  await fixture.pull();

  await expect(resync(fixture.replica, ['Note', 'Nowhere'])).rejects.toMatchObject({ code: 'usage.invalid' });

  expect(await pagesRead(fixture)).toEqual({ Note: 0, Order: 0 });
});

test('a cell that another program changed in a mirror is repaired by the next pull', async () => {
  await using fixture = await startFixture({ tables: TABLES });
  await fixture.pull();
  const [{ text } = { text: '' }] = fixture.rows(
    `SELECT group_concat(sql, ';') AS text FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`,
  ) as { text: string }[];
  const names = [...text.matchAll(/CREATE TRIGGER ("[^"]+"|\S+)/g)].map(([, name]) => `DROP TRIGGER ${name};`);
  fixture.execute(`${names.join('')} UPDATE "Note" SET "Title" = 'tampered' WHERE _id = 1; ${text};`);

  await resync(fixture.replica, ['Note']);
  await fixture.pull();

  expect(fixture.rows('SELECT "Title" FROM "Note" ORDER BY _id')).toEqual([{ Title: 'a' }, { Title: 'b' }]);
});

test('edits of a two-way table stay as they are, and what the origin says of the others comes', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);

  await resync(fixture.replica, ['Note']);
  await fixture.pull();

  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id < 3 ORDER BY _id')).toEqual([
    { Title: 'mine' },
    { Title: 'title 2' },
  ]);
});

test('a table that another program dropped is no obstacle', async () => {
  await using fixture = await startFixture({ tables: TABLES });
  await fixture.pull();
  fixture.execute('DROP TABLE "Note"');

  await resync(fixture.replica, ['Note']);
  await fixture.pull();

  expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 2 }]);
});

test('the command needs no token, and says which tables are read', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'limits: { concurrency: 1 }\n');
  const before = await runCli(['resync', 'Note'], workspace);
  await runCli(['pull'], workspace);
  sandbox.store.revokeToken(sandbox.token);

  const text = await runCli(['resync', 'Note'], workspace);
  const json = await runCli(['resync', 'Note', '--json'], workspace);

  expect(before).toMatchObject({ exitCode: 1, stdout: '' });
  expect(text).toMatchObject({ exitCode: 0, stdout: 'The next pull reads these tables whole: Note\n' });
  expect(JSON.parse(json.stdout)).toEqual({ tables: ['Note'] });
});
