/** A table here gets the columns that the origin describes, without losing a value. */
import { describe, expect, test } from 'vitest';
import { startFixture, type Fixture } from '../support/replica.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import type { TableSettings } from '../../src/pull/context.ts';
import { pushNow } from '../support/push.ts';
import { captured, dropCaptureTriggers, startTwoWay } from '../support/two-way.ts';
import { goods, sides } from '../support/small-tables.ts';

function columnsOf(fixture: Fixture, table: string): unknown[] {
  return fixture.rows('SELECT name FROM pragma_table_info(?)', table).map((row) => (row as { name: string }).name);
}

function described(fixture: Fixture): unknown[] {
  return fixture.rows('SELECT "column", state FROM sync_columns ORDER BY "column"');
}

test('adds a column and fills it, although no page had changed but for it', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.addColumn('Good', { name: 'Stock', type: 'Numeric', defaultValue: 7 });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ updatedCount: 3, error: null });
  expect(fixture.rows('SELECT "Title", "Stock" FROM "Good" ORDER BY _id')).toEqual([
    { Title: 'a', Stock: 7 },
    { Title: 'b', Stock: 7 },
    { Title: 'c', Stock: 7 },
  ]);
});

test('follows the rename of a column without losing a value', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.renameColumn('Good', 'Title', 'Name');

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ updatedCount: 0, error: null });
  expect(columnsOf(fixture, 'Good')).toEqual(['_id', '_allow', 'Id', 'Name', 'Price']);
  expect(fixture.rows('SELECT "Name" FROM "Good" ORDER BY _id')).toEqual([{ Name: 'a' }, { Name: 'b' }, { Name: 'c' }]);
});

test('follows two columns that swap their names', async () => {
  await using fixture = await startFixture({
    tables: [goods('Good', [{ name: 'Note', type: 'Text', defaultValue: 'n' }])],
  });
  await fixture.pull();
  fixture.sandbox.store.renameColumn('Good', 'Title', 'Between');
  fixture.sandbox.store.renameColumn('Good', 'Note', 'Title');
  fixture.sandbox.store.renameColumn('Good', 'Between', 'Note');

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT "Title", "Note" FROM "Good" WHERE "Price" = 1')).toEqual([{ Title: 'n', Note: 'a' }]);
});

test('follows a column that takes the name which another one leaves, and one whose name changes only in case', async () => {
  await using fixture = await startFixture({
    tables: [goods('Good', [{ name: 'Note', type: 'Text', defaultValue: 'n' }])],
  });
  await fixture.pull();
  fixture.sandbox.store.renameColumn('Good', 'Note', 'Remark');
  fixture.sandbox.store.renameColumn('Good', 'Title', 'Note');
  fixture.sandbox.store.renameColumn('Good', 'Price', 'PRICE');

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT * FROM "Good" WHERE "Price" = 1')).toEqual([
    expect.objectContaining({ Note: 'a', Remark: 'n', PRICE: 1 }),
  ]);
});

test.each(['TEXT', 'TEXT AS (upper("Title"))'])(
  'gives a column another name that is called like one which a client added (%s)',
  async (type) => {
    await using fixture = await startTwoWay({ tables: [goods()] });
    const { store } = fixture.sandbox;
    fixture.execute(`ALTER TABLE "Good" ADD COLUMN "stock" ${type}; ALTER TABLE "Good" ADD COLUMN "Cost" ${type}`);
    store.addColumn('Good', { name: 'Stock', type: 'Numeric', defaultValue: 7 });
    store.renameColumn('Good', 'Price', 'Cost');
    const here = (name: string): string => {
      const id = store.table('Good').columns.find((column) => column.name === name)?.id;
      return `"${name}_${id}"`;
    };

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ error: null, held: null }]);
    expect(fixture.rows(`SELECT ${here('Cost')} AS cost, ${here('Stock')} AS stock FROM "Good" ORDER BY _id`)).toEqual([
      { cost: 1, stock: 7 },
      { cost: 2, stock: 7 },
      { cost: 3, stock: 7 },
    ]);
    expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
  },
);

test('sets a column aside whose values changed their form', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.changeColumn('Good', 'Price', { type: 'Text' });

  const report = await fixture.pull();

  const [aside] = columnsOf(fixture, 'Good').filter((name) => String(name).startsWith('Price (was Numeric '));
  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows(`SELECT "${String(aside)}" AS old FROM "Good" ORDER BY _id`)).toEqual([
    { old: 1 },
    { old: 2 },
    { old: 3 },
  ]);
  expect(fixture.rows('SELECT typeof("Price") AS t FROM "Good" WHERE "Price" IS NOT NULL')).not.toContainEqual({
    t: 'integer',
  });
  expect(described(fixture)).toContainEqual({ column: aside, state: 'aside' });
});

test('changes nothing when most columns vanish at once, until a person confirms', async () => {
  await using fixture = await startFixture({ tables: [goods('Good', [{ name: 'Note', type: 'Text' }])] });
  await fixture.pull();
  fixture.sandbox.store.setRole({
    name: 'Blind',
    canWrite: true,
    hiddenTables: [],
    hiddenColumns: [
      ['Good', 'Title'],
      ['Good', 'Price'],
      ['Good', 'Note'],
    ],
  });
  fixture.sandbox.store.changeUser({ role: 'Blind' });

  const held = await fixture.pull();
  const before = described(fixture);
  const confirmed = await fixture.pull({ confirm: true });

  expect(held.tables[0]).toMatchObject({ error: null, held: { code: 'guard.schema', exitCode: 3 } });
  expect(before).not.toContainEqual({ column: 'Title', state: 'removed' });
  expect(confirmed.tables[0]).toMatchObject({ error: null, held: null });
  expect(described(fixture)).toContainEqual({ column: 'Title', state: 'removed' });
  expect(fixture.rows('SELECT "Title" FROM "Good" ORDER BY _id')).toHaveLength(3);
});

describe('a column that another client dropped', () => {
  function dropColumn(fixture: Fixture, name: string): void {
    dropCaptureTriggers(fixture);
    fixture.execute(`DROP VIEW sync_changes; ALTER TABLE "Note" DROP COLUMN "${name}"`);
  }

  test('is no edit of a two-way table, and a person is told', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    dropColumn(fixture, 'Count');

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ error: null, held: null }]);
    expect(sides(fixture, 'Note', 'Count').here).toEqual(sides(fixture, 'Note', 'Count').there);
    expect(await captured(fixture)).toEqual(['update 1 Title']);
    expect(
      fixture.rows(`SELECT * FROM _rowsync_schema_changes WHERE kind = 'columnRemade' AND column_name = 'Count'`),
    ).toHaveLength(1);
  });

  test('leaves what was sent in doubt, since nothing shows what it was', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Count" = 99 WHERE _id = 1`);
    const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
    await pushNow(fixture, {
      before: (step) => {
        if (step === 'readBack') throw end;
      },
    });
    dropColumn(fixture, 'Count');

    const report = await fixture.pull();

    expect(report.tables.map(({ error }) => error?.code)).not.toContain('pull.unsettled');
    expect(fixture.rows('SELECT * FROM _rowsync_batches')).toEqual([]);
  });
});

test.each<[string, Partial<TableSettings>, string]>([
  [
    'an order by a column that is not there',
    { sort: ['Title', 'Nope'] },
    'tables.Good.sort names columns that do not exist: Nope',
  ],
  [
    'a name for a column that is not there',
    { columnNames: new Map([['Nope', 'x']]) },
    'tables.Good.columnNames names columns',
  ],
  ['a filter, and no key to ask by', { rows: '[Price] > 1' }, 'tables.Good.rows needs the key column'],
])('%s is a mistake of the configuration, and the table stays as it is', async (_what, change, message) => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  if ('rows' in change) {
    fixture.sandbox.store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Good', 'Id']] });
    fixture.sandbox.store.changeUser({ role: 'Half' });
  }
  fixture.sandbox.store.addColumn('Good', { name: 'Stock', type: 'Numeric' });
  const before = columnsOf(fixture, 'Good');

  const report = await fixture.pull({ settings: { tableOptions: () => ({ sort: null, ...change }) } });

  expect(report.tables[0]?.error).toMatchObject({
    code: 'config.invalid',
    message: expect.stringContaining(message) as string,
  });
  expect(columnsOf(fixture, 'Good')).toEqual(before);
});
