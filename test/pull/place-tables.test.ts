/** Names of tables follow the origin: through chains and swaps, and past tables that are gone. */
import { expect, test } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { prune } from '../../src/extras/schema/prune.ts';
import { pull } from '../../src/pull/pull.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { twoWaySettings } from '../support/two-way.ts';
import { placeTables } from '../../src/pull/place-tables.ts';
import { goods, notes } from '../support/small-tables.ts';

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

const MINE: readonly (readonly [string, string, string])[] = [
  [
    'a table with _id',
    `CREATE TABLE "Secret" (_id INTEGER PRIMARY KEY, mine TEXT); INSERT INTO "Secret" VALUES (1, 'x'), (99, 'y')`,
    'SELECT * FROM "Secret"',
  ],
  [
    'a copy of a table of ours',
    `CREATE TABLE "Secret" (_id INTEGER PRIMARY KEY, _allow TEXT, "Title" TEXT) STRICT; INSERT INTO "Secret" SELECT _id, _allow, "Title" FROM "Note"`,
    'SELECT * FROM "Secret"',
  ],
  [
    'a table with no columns but ours',
    `CREATE TABLE "Secret" (_id INTEGER PRIMARY KEY, _allow TEXT) STRICT; INSERT INTO "Secret" SELECT _id, _allow FROM "Note"`,
    'SELECT * FROM "Secret"',
  ],
  [
    'a table without _id',
    `CREATE TABLE "secret" (id INTEGER PRIMARY KEY, mine TEXT); INSERT INTO "secret" VALUES (1, 'x')`,
    'SELECT * FROM "Secret"',
  ],
  ['a view', 'CREATE VIEW "Secret" AS SELECT 1 AS mine', 'SELECT * FROM "Secret"'],
  [
    'an index',
    'CREATE TABLE other (mine TEXT); CREATE INDEX "Secret" ON other (mine)',
    `SELECT sql FROM sqlite_schema WHERE name = 'Secret'`,
  ],
];

function refuse({ sandbox }: Fixture, name: string, times = 1): void {
  const [{ alias }, status] = [sandbox.store.table(name), 403];
  for (let turn = 1; turn <= times; turn += 1)
    sandbox.answerInstead(turn, { status, body: '{"error":403,"code":4000,"message":"no"}' }, { table: alias });
}

/** What must not change: the rows, and everything that SQLite has under the name. */
const state = (fixture: Fixture, query: string): unknown[] => [
  fixture.rows(query),
  fixture.rows(`SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'Secret' COLLATE NOCASE OR name = 'Secret'`),
];

test.each(
  MINE.flatMap((one) => [
    [...one, 'Secret', SETTINGS] as const,
    [...one, 'Secrets', SETTINGS] as const,
    [...one, 'Secret', {}] as const,
    [...one, 'Secrets', {}] as const,
  ]),
)('%s that was made under the name of an unread table stays as it is', async (_what, made, query, name, options) => {
  await using fixture = await startFixture({ tables: [table('Note'), table('Secret')] }, options);
  refuse(fixture, 'Secret');
  await fixture.pull();
  fixture.execute(made);
  const before = state(fixture, query);
  const { id } = fixture.sandbox.store.table('Secret');
  if (name !== 'Secret') rename(fixture, 'Secret', name);

  const reports = [await fixture.pull(), await fixture.pull()];

  const here = name === 'Secret' ? `Secret_${id}` : name;
  for (const { error, tables: read } of reports) {
    expect(error).toBeNull();
    expect(read.map((one) => [one.table, one.error ?? one.held, one.rowCount])).toEqual([
      ['Note', null, 2],
      [here, null, 2],
    ]);
  }
  expect(titles(fixture, here)).toEqual(['Secret one', 'Secret two']);
  expect(state(fixture, query)).toEqual(before);
});

test.each(MINE.slice(0, 5))('%s that is made while its namesake is described stays', async (_what, made, query) => {
  await using fixture = await startFixture({ tables: [table('Secret')] }, SETTINGS);
  const before: unknown[][] = [];
  const context = fixture.context();
  const describeTable: typeof context.origin.describeTable = async (...asked) => {
    const answer = await context.origin.describeTable(...asked);
    if (before.length === 0) fixture.execute(made.replace(/"Note"/, '(SELECT 1 AS _id, 2 AS _allow, 3 AS "Title")'));
    before.push(state(fixture, query));
    return answer;
  };

  const report = await pull(
    { ...context, origin: { ...context.origin, describeTable } },
    { tables: [], confirm: false },
  );

  const { id } = fixture.sandbox.store.table('Secret');
  expect(report.tables).toMatchObject([{ table: `Secret_${id}`, rowCount: 2, error: null }]);
  expect(state(fixture, query)).toEqual(before[0]);
});

test('a table that may never be read keeps nothing of its name from another program, and no table from being read', async () => {
  await using fixture = await startFixture({ tables: [table('Note'), table('Secret')] }, SETTINGS);
  refuse(fixture, 'Secret', 20);
  await fixture.pull();
  fixture.execute(MINE[0]?.[1] ?? '');
  const before = state(fixture, 'SELECT * FROM "Secret"');
  const { id } = fixture.sandbox.store.table('Secret');

  const denied = [await fixture.pull(), await fixture.pull()];
  const here = tables(fixture);
  fixture.sandbox.store.dropTable('Secret');
  const gone = await fixture.pull({ confirm: true });
  await fixture.replica.write('Pruning', (tx) => prune(tx, '2026-01-01T00:00:00Z'));

  expect([...denied, gone].map(({ error }) => error)).toEqual([null, null, null]);
  for (const { tables: read } of denied)
    expect(read.map((one) => [one.table, one.error?.code])).toEqual([
      [`Secret_${id}`, 'origin.forbidden'],
      ['Note', undefined],
    ]);
  expect(here).toEqual(['Note steady', `Secret_${id} failed`]);
  expect(tables(fixture)).toEqual(['Note steady']);
  expect(state(fixture, 'SELECT * FROM "Secret"')).toEqual(before);
});

test('a table that is gone before it was read gives its name up, and a table of the user under that name stays', async () => {
  await using fixture = await startFixture({ tables: [table('Note'), table('Secret')] }, SETTINGS);
  refuse(fixture, 'Secret', 2);
  await fixture.pull();
  fixture.sandbox.store.dropTable('Secret');
  await fixture.pull({ confirm: true });
  fixture.execute(MINE[1]?.[1] ?? '');
  const before = state(fixture, 'SELECT * FROM "Secret"');
  fixture.sandbox.store.addTable(table('Secret'));

  const { error } = await fixture.pull();
  await fixture.replica.write('Pruning', (tx) => prune(tx, '2026-01-01T00:00:00Z'));

  expect(error).toBeNull();
  expect(titles(fixture, `Secret_${fixture.sandbox.store.table('Secret').id}`)).toEqual(['Secret one', 'Secret two']);
  expect(state(fixture, 'SELECT * FROM "Secret"')).toEqual(before);
});

test('tables that are not read yet exchange their names', async () => {
  await using fixture = await startFixture({ tables: [table('Note'), table('A'), table('B')] }, SETTINGS);
  for (const name of ['A', 'B']) refuse(fixture, name);
  await fixture.pull();
  rename(fixture, 'A', 'Between', 'B', 'A', 'Between', 'B');

  const { error } = await fixture.pull();

  expect(error).toBeNull();
  expect([titles(fixture, 'A'), titles(fixture, 'B')]).toEqual([
    ['B one', 'B two'],
    ['A one', 'A two'],
  ]);
});

test.each([
  ['mirror', {}],
  ['two-way table', SETTINGS],
])(
  'a %s that was dropped is made again with a warning, also where another table is renamed',
  async (_what, options) => {
    await using fixture = await startFixture({ tables: [table('Note'), table('Other'), table('Third')] }, options);
    await fixture.pull();
    fixture.execute('DROP TABLE "Other"; DROP TABLE "Third"');
    rename(fixture, 'Note', 'Notes', 'Third', 'Other 3');
    const logged: string[] = [];
    const destination = { write: (line: string) => void logged.push(line) };
    const log = createLogger({ level: 'warn', destination, secrets: [] });

    const { error } = await pull({ ...fixture.context(), log }, { tables: [], confirm: false });

    expect(error).toBeNull();
    const told = logged.filter((line) => line.includes('table.restored'));
    expect(told.map((line) => String(/"table":"([^"]*)"/.exec(line)?.[1])).toSorted()).toEqual(['Other', 'Other 3']);
    expect([titles(fixture, 'Other'), titles(fixture, 'Other 3')]).toEqual([
      ['Other one', 'Other two'],
      ['Third one', 'Third two'],
    ]);
  },
);

function tablesOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    name: `Note ${index}`,
    columns: ['Text', 'Numeric', 'Checkbox'].map((type) => ({ name: `A ${type}`, type })),
    rows: [{ 'A Text': 'theirs' }],
  }));
}

test('a table that a pull noted and could not describe is none that another program dropped', async () => {
  await using fixture = await startFixture({ tables: tablesOf(1) });
  const answer = await fixture.origin.describeDatabase();
  await placeTables(fixture.context(), answer.kind === 'ok' ? answer.value.tables : []);
  const logged: string[] = [];
  const destination = { write: (line: string) => void logged.push(line) };
  const log = createLogger({ level: 'warn', destination, secrets: [] });

  expect(fixture.rows('SELECT "table", state FROM sync_status')).toEqual([{ table: 'Note 0', state: 'loading' }]);
  const report = await pull({ ...fixture.context(), log }, { tables: [], confirm: false });

  expect(report.tables).toMatchObject([{ error: null, rowCount: 1 }]);
  expect(logged).toEqual([]);
  expect(fixture.rows('SELECT state FROM sync_status')).toEqual([{ state: 'steady' }]);
});

test('follows a table whose name changes only in case', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.renameTable('Good', 'GOOD');

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ table: 'GOOD', error: null });
  expect(fixture.rows(`SELECT name FROM sqlite_schema WHERE name = 'Good' COLLATE NOCASE`)).toEqual([{ name: 'GOOD' }]);
});

test('follows the rename of a table, with its refusals under the new name', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.renameTable('Good', 'Ware');

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ table: 'Ware', rowCount: 3, insertedCount: 0, error: null }]);
  expect(() => fixture.execute('DELETE FROM "Ware"')).toThrow(/Ware is a read-only mirror/);
  expect(() => fixture.rows('SELECT * FROM "Good"')).toThrow(/no such table/);
});

test('replicates a table that was dropped and made again under its name as another table, which has the name', async () => {
  await using fixture = await startFixture({ tables: [goods(), goods('Other')] });
  await fixture.pull();
  fixture.sandbox.store.dropTable('Good');
  fixture.sandbox.store.addTable(goods());

  const report = await fixture.pull();

  expect(report.tables.find((one) => one.table === 'Good')).toMatchObject({ insertedCount: 3, error: null });
  expect(fixture.rows('SELECT count(*) AS n FROM "Good"')).toEqual([{ n: 3 }]);
  const gone = fixture.rows(`SELECT rows FROM sync_status WHERE "table" GLOB 'Good (gone *)'`);
  expect(gone).toEqual([{ rows: 3 }]);
});

test('a mirror that another program renamed is made again, and the renamed table stays as it is', async () => {
  await using fixture = await startFixture({ tables: [notes(2)] });
  await fixture.pull();
  fixture.execute(`INSERT INTO _rowsync_moments (at, tables, not_covered, holds) VALUES ('2026-11-27T08:00:00Z', '["Note"]', '[]', 1);
    ALTER TABLE "Note" RENAME TO own_name`);

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ table: 'Note', rowCount: 2, error: null }]);
  expect(fixture.rows('SELECT count(*) AS kept FROM own_name')).toEqual([{ kept: 2 }]);
  expect(() => fixture.execute('DELETE FROM "Note"')).toThrow('read-only mirror');
  fixture.execute('DELETE FROM own_name');
  // The table had no rows for a while.
  expect(fixture.rows('SELECT holds FROM sync_moments')).toEqual([{ holds: 0 }]);
});
