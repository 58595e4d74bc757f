/** The colors that a formula at the origin gives rows: kept beside the values, and never taken for one. */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { captured, twoWaySettings } from '../support/two-way.ts';
import { codesOf, pushNow } from '../support/push.ts';

/** Rows whose color stands in a column that the caller does not see. */
const NOTE: TableSpec = {
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Signal', type: 'Text', options: ['RowColor'] },
  ],
  rows: [
    { Title: 'a', Signal: '#FF0000' },
    { Title: 'b', Signal: null },
    { Title: 'c', Signal: 'green' },
  ],
};
const PLAIN: TableSpec = { name: 'Plain', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'p' }] };

function hideSignal({ sandbox }: Fixture): void {
  const role = { name: 'Caller', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Signal']] as const };
  sandbox.store.setRole(role);
  sandbox.store.changeUser({ role: 'Caller' });
}

/** A fixture whose table has been pulled, `count` times. */
async function startColored(
  count: number,
  options: Parameters<typeof startFixture>[0] = {},
  extra: Parameters<typeof startFixture>[1] = {},
): Promise<Fixture> {
  const fixture = await startFixture({ tables: [NOTE, PLAIN], ...options }, extra);
  hideSignal(fixture);
  for (let left = count; left > 0; left -= 1) await fixture.pull();
  return fixture;
}

const TWO_WAY = { settings: twoWaySettings() };

function colors(fixture: Fixture): unknown[] {
  return fixture
    .rows('SELECT "Title", _color FROM "Note" ORDER BY _id')
    .map((row) => Object.values(row as object).join(' '));
}

function names(fixture: Fixture, table: string): unknown[] {
  return fixture.rows('SELECT name FROM pragma_table_info(?)', table).map((row) => (row as { name: string }).name);
}

test.each(['json', 'xml'] as const)(
  'the colors of rows are kept from the second pull on, in %s, only where one came',
  async (format) => {
    await using fixture = await startColored(1, {}, { format });
    const before = names(fixture, 'Note');
    const plain = names(fixture, 'Plain');

    const report = await fixture.pull();

    expect(report.tables.map(({ error }) => error)).toEqual([null, null]);
    expect(report.tables[0]).toMatchObject({ insertedCount: 0, updatedCount: 0 });
    expect(before).not.toContain('_color');
    expect(names(fixture, 'Note')).toEqual([...before, '_color']);
    expect(names(fixture, 'Plain')).toEqual(plain);
    expect(colors(fixture)).toEqual(['a #FF0000', 'b ', 'c green']);
  },
);

test.each([
  ['a mirror', {}],
  ['a two-way table', TWO_WAY],
])('a color that changes or goes counts as no change of a row in %s', async (_what, extra) => {
  await using fixture = await startColored(2, {}, extra);
  fixture.sandbox.store.update('Note', 1, { Signal: 'blue' });
  fixture.sandbox.store.update('Note', 3, { Signal: null });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ insertedCount: 0, error: null });
  expect(colors(fixture)).toEqual(['a blue', 'b ', 'c ']);
  expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
});

test('a color that changes alone is neither an edit nor an update, nor in the history', async () => {
  const tables = [{ ...NOTE, systemColumns: false }];
  const settings = {
    tableOptions: () => ({
      sort: null,
      editing: { match: null, conflict: 'origin', workflow: 'run' } as const,
      history: { keepDays: 400, bytesMax: 1_000_000 },
    }),
  };
  await using fixture = await startColored(3, { tables }, { settings });
  const entries = (): unknown => fixture.rows(`SELECT count(*) AS n FROM sync_history WHERE cause = 'pull'`);
  const before = entries();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Signal: 'blue' });
  fixture.sandbox.store.update('Note', 2, { Signal: 'blue' });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ insertedCount: 0, updatedCount: 0, error: null });
  expect(colors(fixture)).toEqual(['mine blue', 'b blue', 'c green']);
  expect(await captured(fixture)).toEqual(['update 1 Title']);
  expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
  expect(entries()).toEqual(before);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(fixture.sandbox.store.rows('Note').map(({ values }) => [values['Title'], values['Signal']])).toEqual([
    ['mine', 'blue'],
    ['b', 'blue'],
    ['c', 'green'],
  ]);
});

test('a color cannot be edited, and is not lost where a row comes back', async () => {
  await using fixture = await startColored(2, {}, TWO_WAY);

  expect(() => fixture.execute(`UPDATE "Note" SET _color = 'x' WHERE _id = 1`)).toThrow('"_color" of Note cannot be');
  expect(() => fixture.execute(`INSERT INTO "Note" ("Title", _color) VALUES ('d', 'x')`)).toThrow('cannot be');
  fixture.execute(`REPLACE INTO "Note" (_id, "Title") VALUES (1, 'a2'); DELETE FROM "Note" WHERE _id = 3`);
  fixture.sandbox.store.update('Note', 3, { Title: 'theirs' });
  await fixture.pull();

  expect(colors(fixture)).toEqual(['a2 #FF0000', 'b ', 'theirs green']);
});

test('a new row that is pushed has the color that the origin gives it', async () => {
  await using fixture = await startColored(2, {}, TWO_WAY);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('d')`);

  const report = await pushNow(fixture);
  const id = fixture.sandbox.store.rows('Note').at(-1)?.id ?? 0;
  fixture.sandbox.store.update('Note', id, { Signal: 'new' });
  await fixture.pull();

  expect(codesOf(report)).toEqual([]);
  expect(colors(fixture)).toEqual(['a #FF0000', 'b ', 'c green', 'd new']);
  expect(await captured(fixture)).toEqual([]);
});

test('colors come back where another client dropped them', async () => {
  await using fixture = await startColored(2);
  fixture.execute('ALTER TABLE "Note" DROP COLUMN _color');

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(colors(fixture)).toEqual(['a #FF0000', 'b ', 'c green']);
});

test.each([
  ['a mirror', {}],
  ['a two-way table', TWO_WAY],
])('colors come back with %s that another client dropped', async (_what, extra) => {
  await using fixture = await startColored(2, {}, extra);
  fixture.execute('DROP TABLE "Note"');

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(colors(fixture)).toEqual(['a #FF0000', 'b ', 'c green']);
});

test('a mirror with colors becomes two-way and a mirror again', async () => {
  await using fixture = await startColored(2);

  await fixture.pull({ settings: twoWaySettings() });
  await fixture.pull({ settings: twoWaySettings() });
  expect(() => fixture.execute(`UPDATE "Note" SET _color = 'x' WHERE _id = 1`)).toThrow('cannot be');
  fixture.execute(`UPDATE "Note" SET "Title" = 'a2' WHERE _id = 1`);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(colors(fixture)).toEqual(['a2 #FF0000', 'b ', 'c green']);
});

test('the column _color of somebody else is left alone', async () => {
  await using fixture = await startColored(1);
  fixture.execute('ALTER TABLE "Note" ADD COLUMN _color TEXT');

  await fixture.pull();
  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(colors(fixture)).toEqual(['a ', 'b ', 'c ']);
});

test('a column of the origin that is called _color keeps its name, or stands beside the colors', async () => {
  await using fixture = await startColored(2);
  fixture.sandbox.store.addColumn('Note', { name: '_color', type: 'Text', defaultValue: 'value' });
  fixture.sandbox.store.addTable({
    name: 'Paint',
    columns: [
      { name: '_color', type: 'Text' },
      { name: 'Signal', type: 'Text', options: ['RowColor'] },
    ],
    rows: [{ _color: 'value', Signal: 'red' }],
  });

  await fixture.pull();
  const report = await fixture.pull();

  expect(report.tables.map(({ error }) => error)).toEqual([null, null, null]);
  expect(colors(fixture)).toEqual(['a #FF0000', 'b ', 'c green']);
  expect(fixture.rows(`SELECT "column" FROM sync_columns WHERE origin_column = '_color'`)).toHaveLength(2);
  expect(fixture.rows('SELECT _color FROM "Paint"')).toEqual([{ _color: 'value' }]);
});
