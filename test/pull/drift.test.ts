import { expect, test } from 'vitest';

import { asRowsyncError } from '../../src/base/errors.ts';
import type { Origin } from '../../src/origin/client.ts';
import { forgetEtags } from '../../src/replica/bookkeeping/pages.ts';
import type { ColumnSpec, TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { NOTE, startTwoWay, swapNames, twoWaySettings, twoWayTable } from '../support/two-way.ts';

/** Three rows with a title and a price. */
function goods(name = 'Good', columns: readonly ColumnSpec[] = []): TableSpec {
  return {
    name,
    columns: [{ name: 'Title', type: 'Text' }, { name: 'Price', type: 'Numeric' }, ...columns],
    rows: [
      { Title: 'a', Price: 1 },
      { Title: 'b', Price: 2 },
      { Title: 'c', Price: 3 },
    ],
    systemColumns: false,
  };
}

function columnsOf(fixture: Fixture, table: string): unknown[] {
  return fixture.rows('SELECT name FROM pragma_table_info(?)', table).map((row) => (row as { name: string }).name);
}

function titles(fixture: Fixture): unknown[] {
  return fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1');
}

function described(fixture: Fixture): unknown[] {
  return fixture.rows('SELECT "column", state FROM sync_columns ORDER BY "column"');
}

/** Lets the names change once, behind the description and before the rows are read. */
function swapBeforePages(fixture: Fixture): void {
  const { origin } = fixture;
  let isSwapped = false;
  const select: Origin['select'] = (request, options) => {
    if (!isSwapped) swapNames(fixture);
    isSwapped = true;
    return origin.select(request, options);
  };
  fixture.origin = { ...origin, select };
}

test('takes no description of another table, whose options would not be those of its own', async () => {
  await using fixture = await startTwoWay();
  fixture.sandbox.store.addTable(goods());
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Good', 1, { Title: 'theirs' });
  const { origin } = fixture;
  const { name, alias } = fixture.sandbox.store.table('Note');
  const describeTable: Origin['describeTable'] = (_address, options) =>
    origin.describeTable({ name, alias }, { signal: options?.signal });
  fixture.origin = { ...origin, describeTable };

  const report = await fixture.pull();
  fixture.origin = origin;
  const again = await fixture.pull();

  expect(new Map(report.tables.map(({ table, error }) => [table, error?.code]))).toEqual(
    new Map([
      ['Good', 'origin.moving'],
      ['Note', undefined],
    ]),
  );
  expect(again.tables.map(({ error }) => error)).toEqual([null, null]);
  expect(titles(fixture)).toEqual([{ Title: 'mine' }]);
  expect(columnsOf(fixture, 'Good')).toContain('Price');
  expect(fixture.rows('SELECT "Title" FROM "Good" WHERE _id = 1')).toEqual([{ Title: 'theirs' }]);
});

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

test('tells an edit from columns that swap their names before its page is read', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'origin' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
  swapBeforePages(fixture);

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs', Body: 'mine' }]);
  expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
});

test('no "not modified" vouches for the columns of rows that meet edits', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'origin' } });
  const { sandbox } = fixture;
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  sandbox.store.update('Note', 1, { Body: 'theirs' });
  swapBeforePages(fixture);
  sandbox.answerInstead(3, { status: 304, body: '' }, { method: 'describe' }); // the database's and the table's came before

  await fixture.pull();
  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs', Body: 'mine' }]);
  expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
});

test('tells an edit that is made behind the read of its page from columns that swapped their names', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'origin' } });
  const { sandbox } = fixture;
  sandbox.store.update('Note', 1, { Body: 'theirs' });
  swapBeforePages(fixture);
  sandbox.before(3, () => fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`), { method: 'describe' });

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs', Body: 'mine' }]);
  expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
});

test('keeps what is edited right behind a page under its own columns, though they swapped their names and the row is deleted there', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'local' } });
  const { sandbox } = fixture;
  sandbox.store.update('Note', 1, { Body: 'the body' });
  await fixture.pull();
  swapBeforePages(fixture);
  const editAndDelete = (): void => {
    fixture.execute('UPDATE "Note" SET "Count" = 99 WHERE _id = 1');
    sandbox.store.delete('Note', 1);
  };
  sandbox.before(3, editAndDelete, { method: 'describe' }); // the database's and the table's come before, the page between

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  const kept = ['Title', 'Body', 'Count'].map((name) => `local ->> '${name}' AS "${name}"`).join();
  expect(fixture.rows(`SELECT kind, ${kept} FROM sync_conflicts`)).toEqual([
    { kind: 'deletedThere', Title: 'the body', Body: 'title 1', Count: 99 },
  ]);
});

test('stores no page that was read under names which columns had for a moment', async () => {
  await using fixture = await startTwoWay({ pageRows: 4 });
  const { sandbox } = fixture;
  for (const id of [1, 6]) sandbox.store.update('Note', id, { Count: 100 });
  swapBeforePages(fixture);
  sandbox.before(4, () => swapNames(fixture), { method: 'describe' }); // the third was the look behind one page, this is that behind the other

  const report = await fixture.pull();

  expect(report.tables[0]?.error?.code).toBe('origin.moving');
  expect(fixture.rows('SELECT "Title" FROM "Note" ORDER BY _id')).toEqual(
    Array.from({ length: 6 }, (_, index) => ({ Title: `title ${index + 1}` })),
  );
});

test('shows no value under the name of another column in a table that is edited', async () => {
  await using fixture = await startTwoWay();
  const { sandbox } = fixture;
  swapBeforePages(fixture);
  const seen: unknown[] = [];
  sandbox.before(3, () => seen.push(...titles(fixture)), { method: 'describe' });

  await fixture.pull();

  expect(seen).toEqual([{ Title: 'title 1' }]);
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: null, Body: 'title 1' }]);
});

test('reads a mirror again whose columns swap their names while its rows are read', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  swapBeforePages(fixture);

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: null, Body: 'title 1' }]);
});

test('a table that people edit is described once where its pages say what is known', async () => {
  await using fixture = await startTwoWay();
  const { sandbox, replica } = fixture;
  await replica.write('Forgetting', (tx) => forgetEtags(tx, twoWayTable(fixture).id));
  const before = sandbox.requests.count({ method: 'describe' });

  await fixture.pull();

  expect(sandbox.requests.count({ method: 'describe' }) - before).toBe(2); // the database, and the table
});

test('a table is edited only when its columns are called as they were before its first rows came', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: twoWaySettings() });
  const { sandbox } = fixture;
  swapBeforePages(fixture);
  const refusals: unknown[] = [];
  const edit = (): void => {
    try {
      fixture.execute(`UPDATE "Note" SET "Count" = 99 WHERE _id = 1`);
    } catch (thrown) {
      refusals.push(asRowsyncError(thrown).message);
    }
  };
  for (const nth of [3, 4]) sandbox.before(nth, edit, { method: 'describe' });

  const report = await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Count" = 100 WHERE _id = 1`);

  expect(report.tables[0]?.error).toBeNull();
  expect(refusals).toEqual([
    expect.stringContaining('cannot be edited yet'),
    expect.stringContaining('cannot be edited yet'),
  ]);
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: null, Body: 'title 1' }]);
});

test('a mirror whose pages were read under wrong names is not edited on the word of a "not modified"', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  const { sandbox } = fixture;
  await fixture.pull();
  const stale = { status: 304, body: '' };
  swapBeforePages(fixture);
  sandbox.answerInstead(3, stale, { method: 'describe' });
  await fixture.pull();
  sandbox.answerInstead(2, stale, { method: 'describe' });

  const report = await fixture.pull({ settings: twoWaySettings() });

  expect(report.tables[0]?.error).not.toBeNull(); // nobody asked for that "not modified"
  expect(() => fixture.execute(`UPDATE "Note" SET "Count" = 99 WHERE _id = 1`)).toThrow(/read-only mirror/);
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

test('follows a table whose name changes only in case', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.renameTable('Good', 'GOOD');

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ table: 'GOOD', error: null });
  expect(fixture.rows(`SELECT name FROM sqlite_schema WHERE name = 'Good' COLLATE NOCASE`)).toEqual([{ name: 'GOOD' }]);
});

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

test('follows the rename of a table, with its refusals under the new name', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.renameTable('Good', 'Ware');

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ table: 'Ware', rowCount: 3, insertedCount: 0, error: null }]);
  expect(() => fixture.execute('DELETE FROM "Ware"')).toThrow(/Ware is a read-only mirror/);
  expect(() => fixture.rows('SELECT * FROM "Good"')).toThrow(/no such table/);
});

test('keeps a table that is gone, says so, and takes it up again when it returns', async () => {
  await using fixture = await startFixture({ tables: [goods(), goods('Other')] });
  await fixture.pull();
  fixture.sandbox.store.setRole({ name: 'Half', canWrite: true, hiddenTables: ['Other'], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Half' });

  const without = await fixture.pull();
  const gone = fixture.rows(`SELECT state, rows FROM sync_status WHERE "table" = 'Other'`);
  fixture.sandbox.store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [] });
  const again = await fixture.pull();

  expect(without.tables.map(({ table }) => table)).toEqual(['Good']);
  expect(gone).toEqual([{ state: 'gone', rows: 3 }]);
  expect(again.tables.find(({ table }) => table === 'Other')).toMatchObject({ rowCount: 3, error: null });
  expect(fixture.rows(`SELECT state FROM sync_status WHERE "table" = 'Other'`)).toEqual([{ state: 'steady' }]);
});

test('leaves all tables as they are when most of them vanish at once', async () => {
  await using fixture = await startFixture({ tables: [goods('A'), goods('B'), goods('C')] });
  await fixture.pull();
  fixture.sandbox.store.setRole({ name: 'Blind', canWrite: true, hiddenTables: ['A', 'B'], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Blind' });

  const held = await fixture.pull();
  const states = fixture.rows('SELECT state FROM sync_status');
  const confirmed = await fixture.pull({ confirm: true });

  expect(held.error).toMatchObject({ code: 'guard.schema', exitCode: 3 });
  expect(states).toEqual([{ state: 'steady' }, { state: 'steady' }, { state: 'steady' }]);
  expect(confirmed.error).toBeNull();
  expect(fixture.rows(`SELECT count(*) AS n FROM sync_status WHERE state = 'gone'`)).toEqual([{ n: 2 }]);
});

test('replicates a table that was dropped and made again under its name as another table, which has the name', async () => {
  await using fixture = await startFixture({ tables: [goods(), goods('Other')] });
  await fixture.pull();
  fixture.sandbox.store.dropTable('Good');
  fixture.sandbox.store.addTable(goods());

  const report = await fixture.pull();

  expect(report.tables.find(({ table }) => table === 'Good')).toMatchObject({ insertedCount: 3, error: null });
  expect(fixture.rows('SELECT count(*) AS n FROM "Good"')).toEqual([{ n: 3 }]);
  const gone = fixture.rows(`SELECT rows FROM sync_status WHERE "table" GLOB 'Good (gone *)'`);
  expect(gone).toEqual([{ rows: 3 }]);
});
