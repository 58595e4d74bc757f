/** The names of columns, which may change between the description of a table and the answer with its rows. */
import { expect, test } from 'vitest';
import { asRowsyncError } from '../../src/base/errors.ts';
import type { Origin } from '../../src/origin/client.ts';
import { forgetEtags } from '../../src/replica/bookkeeping/pages.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { NOTE, startTwoWay, swapNames, twoWaySettings, twoWayTable } from '../support/two-way.ts';
import { goods } from '../support/small-tables.ts';

function columnsOf(fixture: Fixture, table: string): unknown[] {
  return fixture.rows('SELECT name FROM pragma_table_info(?)', table).map((row) => (row as { name: string }).name);
}

function titles(fixture: Fixture): unknown[] {
  return fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1');
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
