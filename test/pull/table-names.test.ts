/** Names of tables follow the origin: through chains and swaps, and past tables that are gone. */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';

function table(name: string): TableSpec {
  return {
    name,
    columns: [{ name: 'Title', type: 'Text' }],
    rows: [{ Title: `${name} one` }, { Title: `${name} two` }],
    systemColumns: false,
  };
}

const SETTINGS = { settings: twoWaySettings() };
const titles = (fixture: Fixture, name: string): unknown[] =>
  fixture.rows(`SELECT "Title" FROM "${name}" ORDER BY _id`).map((row) => (row as { Title: string }).Title);
const tables = (fixture: Fixture): unknown[] =>
  fixture
    .rows('SELECT "table", state FROM sync_status ORDER BY 1')
    .map((row) => Object.values(row as object).join(' '));
const today = new Date().toISOString().slice(0, 10);

function rename({ sandbox: { store } }: Fixture, ...names: readonly string[]): void {
  for (let index = 0; index + 1 < names.length; index += 2)
    store.renameTable(names[index] ?? '', names[index + 1] ?? '');
}

test('follows a chain of names, and each edit stays with its row', async () => {
  await using fixture = await startFixture({ tables: [table('Alpha'), table('Beta')] }, SETTINGS);
  await fixture.pull();
  fixture.execute(`UPDATE "Alpha" SET "Title" = 'mine' WHERE _id = 1; INSERT INTO "Beta" ("Title") VALUES ('new')`);
  rename(fixture, 'Beta', 'Beta 2025', 'Alpha', 'Beta');

  const report = await fixture.pull();

  expect(report.tables.map(({ error, held }) => error ?? held)).toEqual([null, null]);
  expect([titles(fixture, 'Beta'), titles(fixture, 'Beta 2025')]).toEqual([
    ['mine', 'Alpha two'],
    ['new', 'Beta one', 'Beta two'],
  ]);
  expect(fixture.rows('SELECT "table", kind FROM sync_changes ORDER BY 1, 2')).toEqual([
    { table: 'Beta', kind: 'update' },
    { table: 'Beta 2025', kind: 'insert' },
    { table: 'Beta 2025', kind: 'insert' },
  ]);
});

test('follows tables that swap their names, also where only one of them is pulled', async () => {
  await using fixture = await startFixture({ tables: [table('A'), table('B')] }, SETTINGS);
  await fixture.pull();
  rename(fixture, 'A', 'Between', 'B', 'A', 'Between', 'B');

  await fixture.pull({ tables: ['B'] });

  expect([titles(fixture, 'A'), titles(fixture, 'B')]).toEqual([
    ['B one', 'B two'],
    ['A one', 'A two'],
  ]);
  expect(() => fixture.execute(`UPDATE "A" SET _allow = 'x'`)).toThrow('_allow of A cannot be changed');
});

test('views of a user follow tables that are renamed', async () => {
  await using fixture = await startFixture({ tables: [table('A'), table('B')] }, SETTINGS);
  await fixture.pull();
  fixture.execute('CREATE VIEW of_a AS SELECT _id, "Title" FROM "A"');
  rename(fixture, 'A', 'Between', 'B', 'A', 'Between', 'B');

  await fixture.pull();

  expect(titles(fixture, 'of_a')).toEqual(['A one', 'A two']);
});

test('a table that was dropped and made again has its name, and what is gone moves aside with a date', async () => {
  await using fixture = await startFixture({ tables: [table('A'), table('Other'), table('Third')] }, SETTINGS);
  await fixture.pull();
  fixture.execute('CREATE VIEW of_a AS SELECT _id, "Title" FROM "A"');
  fixture.execute('CREATE TABLE seen (title)');
  fixture.execute(`CREATE TRIGGER mine AFTER UPDATE ON "A" BEGIN INSERT INTO seen VALUES (NEW."Title"); END`);
  fixture.execute(`UPDATE "A" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.dropTable('A');
  fixture.sandbox.store.addTable({ ...table('A'), rows: [{ Title: 'again' }] });

  await fixture.pull();
  const second = await fixture.pull();

  const aside = `A (gone ${today})`;
  expect(second.tables.map(({ error, held }) => error ?? held)).toEqual([null, null, null]);
  expect(tables(fixture)).toEqual([`A steady`, `${aside} gone`, 'Other steady', 'Third steady']);
  expect([titles(fixture, 'A'), titles(fixture, 'of_a')]).toEqual([['again'], ['again']]);
  expect(titles(fixture, aside)).toEqual(['mine', 'A two']);
  expect(fixture.rows('SELECT "table", row_id, local FROM sync_changes')).toEqual([
    { table: aside, row_id: 1, local: 'mine' },
  ]);
  expect(fixture.rows(`SELECT tbl_name FROM sqlite_schema WHERE name = 'mine'`)).toEqual([{ tbl_name: aside }]);
});

test('a table that takes the name of one that is gone has it, and views keep their words', async () => {
  await using fixture = await startFixture({ tables: [table('A'), table('B'), table('C')] }, SETTINGS);
  await fixture.pull();
  fixture.execute('CREATE VIEW of_a AS SELECT _id, "Title" FROM "A"');
  fixture.sandbox.store.dropTable('A');
  rename(fixture, 'B', 'A');

  await fixture.pull();

  expect([titles(fixture, 'A'), titles(fixture, 'of_a')]).toEqual([
    ['B one', 'B two'],
    ['B one', 'B two'],
  ]);
});

test('a table that had to take another name gets its own once that is free', async () => {
  await using fixture = await startFixture({ tables: [table('Note'), table('NOTE'), table('Other')] }, SETTINGS);
  await fixture.pull();
  fixture.sandbox.store.dropTable('Note');

  await fixture.pull();

  expect(tables(fixture)).toEqual(['NOTE steady', `Note (gone ${today}) gone`, 'Other steady']);
});

test('names that were to be exchanged stay as they are where one of them cannot be changed', async () => {
  await using fixture = await startFixture({ tables: [table('A'), table('B')] }, SETTINGS);
  await fixture.pull();
  fixture.execute('CREATE VIEW broken AS SELECT nowhere FROM "A"');
  rename(fixture, 'A', 'Between', 'B', 'A', 'Between', 'B');

  const failed = await fixture.pull();
  const titlesThen = [titles(fixture, 'A'), titles(fixture, 'B')];
  fixture.execute('DROP VIEW broken');
  const again = await fixture.pull();

  expect(failed.error).toMatchObject({ code: 'replica.failed' });
  expect(titlesThen).toEqual([
    ['A one', 'A two'],
    ['B one', 'B two'],
  ]);
  expect(again.error).toBeNull();
  expect(titles(fixture, 'A')).toEqual(['B one', 'B two']);
});
