import { expect, test } from 'vitest';

import type { TableSettings } from '../../src/pull/context.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture } from '../support/replica.ts';
import { pushNow } from '../support/push.ts';
import { twoWaySettings } from '../support/two-way.ts';

const WILD_NAMES = [
  'a "quoted" name',
  'it’s [in] brackets]',
  "single ' quote",
  'two\nlines',
  'select',
  'Größe / Poids; DROP TABLE x--',
  '%2F?#&=+',
  'back\\slash',
  '§ Id',
  '𝔘nicode 😀',
  ' leading and trailing ',
];

function table(name: string, columns: readonly string[] = ['Title']): TableSpec {
  return {
    name,
    columns: columns.map((column) => ({ name: column, type: 'Text' })),
    rows: [Object.fromEntries(columns.map((column) => [column, `value of ${column}`]))],
    systemColumns: false,
  };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

test.each(WILD_NAMES)('replicates a table and a column called %j under that name', async (name) => {
  await using fixture = await startFixture({ tables: [table(name, [name])] });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ table: name, error: null, rowCount: 1 });
  expect(fixture.rows(`SELECT ${quoted(name)} AS v FROM ${quoted(name)}`)).toEqual([{ v: `value of ${name}` }]);
});

test.each([
  ['sqlite_stat1', 'origin_sqlite_stat1'],
  ['_rowsync_pages', 'origin__rowsync_pages'],
  ['sync_status', 'origin_sync_status'],
  ['dbstat', 'origin_dbstat'],
])('replicates the table %s as %s', async (name, local) => {
  await using fixture = await startFixture({ tables: [table(name)] });

  const first = await fixture.pull();
  const second = await fixture.pull();

  expect(first.tables[0]).toMatchObject({ table: local, error: null, rowCount: 1 });
  expect(second.tables[0]).toMatchObject({ table: local, error: null, pagesReadCount: 0 });
});

test('gives columns that are called like ours another name, and says which', async () => {
  await using fixture = await startFixture({ tables: [table('T', ['_id', '_allow', '__proto__', 'constructor'])] });

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT origin__id AS a, origin__allow AS b, "__proto__" AS c, constructor AS d FROM T')).toEqual(
    [{ a: 'value of _id', b: 'value of _allow', c: 'value of __proto__', d: 'value of constructor' }],
  );
  expect(fixture.rows(`SELECT "column" FROM sync_columns WHERE origin_column = '_id'`)).toEqual([
    { column: 'origin__id' },
  ]);
});

test('a column may become one of the names that SQLite keeps for the number of a row, and be added or left under one', async () => {
  await using fixture = await startFixture({ tables: [table('T', ['Title', 'OID'])] });
  const { store } = fixture.sandbox;
  await fixture.pull();
  store.renameColumn('T', 'Title', 'rowid');
  store.renameColumn('T', 'OID', 'Title');
  store.addColumn('T', { name: 'oid', type: 'Text', defaultValue: 'new' });

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT origin_rowid AS a, Title AS b, origin_oid AS c FROM T')).toEqual([
    { a: 'value of Title', b: 'value of OID', c: 'new' },
  ]);
});

test('keeps two tables and two columns apart whose names differ in case only', async () => {
  await using fixture = await startFixture({ tables: [table('Note'), table('NOTE', ['title', 'Title'])] });
  const upper = fixture.sandbox.store.table('NOTE');
  const title = upper.columns.find(({ name }) => name === 'Title');

  const report = await fixture.pull();

  expect(
    report.tables.map(({ table: name, error }) => ({ name, error })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  ).toEqual([
    { name: `NOTE_${upper.id}`, error: null },
    { name: 'Note', error: null },
  ]);
  expect(fixture.rows(`SELECT title, "Title_${title?.id}" AS other FROM "NOTE_${upper.id}"`)).toEqual([
    { title: 'value of title', other: 'value of Title' },
  ]);
});

test('replicates a table of 60 columns', async () => {
  const names = Array.from({ length: 60 }, (_, index) => `Column number ${index + 1}`);
  await using fixture = await startFixture({ tables: [table('Wide', names)] });

  const report = await fixture.pull();
  fixture.sandbox.store.delete('Wide', fixture.sandbox.store.ids('Wide')[0] ?? 0);
  const deleted = await fixture.pull({ confirm: true });

  expect(report.tables[0]).toMatchObject({ rowCount: 1, error: null });
  expect(deleted.tables[0]).toMatchObject({ rowCount: 0, deletedCount: 1, error: null });
  expect(fixture.rows(`SELECT last_values ->> 'Column number 60' AS v FROM sync_deleted`)).toEqual([
    { v: 'value of Column number 60' },
  ]);
});

test.each([
  ['view', 'CREATE VIEW pending AS SELECT "table", row_id FROM sync_changes'],
  [
    'trigger',
    `CREATE TABLE audit (n); CREATE TRIGGER pending AFTER INSERT ON audit BEGIN SELECT count(*) FROM sync_changes; END`,
  ],
])('follows new names though a %s of the user reads from sync_changes', async (_what, statements) => {
  await using fixture = await startFixture({ tables: [table('Note', ['Title'])] });
  await fixture.pull();
  fixture.execute(statements);
  fixture.sandbox.store.renameTable('Note', 'Remark');
  fixture.sandbox.store.renameColumn('Remark', 'Title', 'Heading');

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ table: 'Remark', error: null }]);
  expect(fixture.rows('SELECT "Heading" FROM "Remark"')).toEqual([{ Heading: 'value of Title' }]);
  expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
});

test('does not take a name that a table or view of the user has in the file', async () => {
  await using fixture = await startFixture({ tables: [table('Note')] });
  fixture.execute('CREATE VIEW "note" AS SELECT 1 AS mine');
  const { id } = fixture.sandbox.store.table('Note');

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ table: `Note_${id}`, rowCount: 1, error: null });
  expect(fixture.rows('SELECT mine FROM note')).toEqual([{ mine: 1 }]);
});

test('writes names in snake case once that is asked for, and back, with an edit that waits and a view of another program', async () => {
  await using fixture = await startFixture({ tables: [table('Order Line', ['Unit Price', 'note'])] });
  const first = await fixture.pull({ settings: twoWaySettings() });
  fixture.execute(`CREATE VIEW prices AS SELECT "Unit Price" AS price FROM "Order Line";
    UPDATE "Order Line" SET "Unit Price" = '7' WHERE _id = 1`);

  const restyled = await fixture.pull({ settings: { ...twoWaySettings(), names: 'snake' } });
  const again = await fixture.pull({ settings: { ...twoWaySettings(), names: 'snake' } });

  expect(restyled.tables[0]).toMatchObject({ table: 'order_line', error: null, rowCount: 1 });
  expect(again.tables[0]).toMatchObject({ table: 'order_line', pagesReadCount: 0 });
  expect(fixture.rows('SELECT unit_price, note FROM order_line')).toEqual([{ unit_price: '7', note: 'value of note' }]);
  expect(fixture.rows('SELECT price FROM prices')).toEqual([{ price: '7' }]);
  expect(
    fixture.rows(`SELECT "table", origin_table, origin_column FROM sync_columns WHERE "column" = 'unit_price'`),
  ).toEqual([{ table: 'order_line', origin_table: 'Order Line', origin_column: 'Unit Price' }]);

  await pushNow(fixture);
  expect(JSON.stringify(fixture.sandbox.store.rows('Order Line'))).toContain('"7"');
  expect(fixture.rows('SELECT unit_price FROM order_line')).toEqual([{ unit_price: '7' }]);

  const back = await fixture.pull({ settings: twoWaySettings() });
  expect(fixture.rows('SELECT "Unit Price", note FROM "Order Line"')).toHaveLength(1);
  expect([first, restyled, again, back].map(({ notes }) => notes)).toEqual([
    [],
    ['Tables and columns here have snake names from now on (replica.names): Order Line is order_line'],
    [],
    ['Tables and columns here have the names of the origin from now on (replica.names): order_line is Order Line'],
  ]);
});

test('calls a table and its columns as the configuration says, with an edit that waits, and takes that back', async () => {
  await using fixture = await startFixture({ tables: [table('Order Line', ['Unit Price', 'Total']), table('Other')] });
  await fixture.pull({ settings: twoWaySettings() });
  fixture.execute(`UPDATE "Order Line" SET "Unit Price" = '7' WHERE _id = 1`);
  const settingsWith = (columns: Readonly<Record<string, string>>) => ({
    ...twoWaySettings(),
    names: 'snake' as const,
    ownNameOf: (name: string) => (name === 'Other' ? undefined : 'Line'),
    tableOptions: (name: string): TableSettings | null => ({
      sort: null,
      ...twoWaySettings().tableOptions(name),
      columnNames: name === 'Other' ? undefined : new Map(Object.entries(columns)),
    }),
  });

  const named = await fixture.pull({ settings: settingsWith({ 'Unit Price': 'price' }) });
  const again = await fixture.pull({ settings: settingsWith({ 'Unit Price': 'price' }) });

  expect(new Map(named.tables.map(({ table: name, error }) => [name, error]))).toEqual(
    new Map([
      ['Line', null],
      ['other', null],
    ]),
  );
  expect(again.tables.map(({ pagesReadCount }) => pagesReadCount)).toEqual([0, 0]);
  expect(fixture.rows('SELECT price, total FROM "Line"')).toEqual([{ price: '7', total: 'value of Total' }]);
  expect(
    fixture.rows(`SELECT "table", origin_table, origin_column FROM sync_columns WHERE "column" = 'price'`),
  ).toEqual([{ table: 'Line', origin_table: 'Order Line', origin_column: 'Unit Price' }]);

  // The name of another column is taken, so this one gets its number behind it.
  await fixture.pull({ settings: settingsWith({ 'Unit Price': 'total' }) });
  const taken = fixture.rows(`SELECT "column" FROM sync_columns WHERE origin_column = 'Unit Price'`);
  expect(taken).toEqual([{ column: expect.stringMatching(/^total_\d+$/) as string }]);
  const misnamed = await fixture.pull({ settings: settingsWith({ 'Unit price': 'price' }) });
  expect(misnamed.tables.flatMap(({ error }) => error?.message ?? [])).toEqual([
    'tables.Order Line.columnNames names columns that do not exist: Unit price',
  ]);

  await fixture.pull({ settings: twoWaySettings() });
  await pushNow(fixture);
  expect(fixture.rows('SELECT "Unit Price", "Total" FROM "Order Line"')).toEqual([
    { 'Unit Price': '7', Total: 'value of Total' },
  ]);
  expect(JSON.stringify(fixture.sandbox.store.rows('Order Line'))).toContain('"7"');
});

test('a name that differs in case alone is written in the style too', async () => {
  await using fixture = await startFixture({ tables: [table('Order', ['Title'])] });
  await fixture.pull();

  await fixture.pull({ settings: { names: 'snake' } });

  expect(fixture.rows(`SELECT name FROM sqlite_schema WHERE name = 'order'`)).toHaveLength(1);
  expect(fixture.rows('SELECT * FROM "order"')).toMatchObject([{ title: 'value of Title' }]);
});
