/** The names of columns, which may change between the description of a table and the answer with its rows. */
import { expect, test } from 'vitest';
import { asRowsyncError } from '../../src/base/errors.ts';
import { must } from '../../src/base/assert.ts';
import type { Origin } from '../../src/origin/client.ts';
import type { PreparedTable } from '../../src/pull/context.ts';
import { describeTable, requireShapeOf, storedDescription } from '../../src/pull/table-description.ts';
import { baseTarget } from '../../src/replica/base-comparison.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { readRowsById } from '../../src/replica/rows.ts';
import { isWritable, type Row, type RowPage, type TableDescriptor, type TableSummary } from '../../src/wire/schema.ts';
import { forgetEtags } from '../../src/replica/bookkeeping/pages.ts';
import { preparedTable, startFixture, type Fixture } from '../support/replica.ts';
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
  const describeOther: Origin['describeTable'] = (_address, options) =>
    origin.describeTable({ name, alias }, { signal: options?.signal });
  fixture.origin = { ...origin, describeTable: describeOther };

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

/** Requests of a kind for a table, by their status. */
function statuses({ sandbox }: Fixture, method: string): readonly number[] {
  return sandbox.requests.all.filter((one) => one.method === method && one.table !== null).map(({ status }) => status);
}

/** The client of an origin that describes no rights; `change` makes every description another one. */
function withoutRights(fixture: Fixture, change: (described: TableDescriptor) => TableDescriptor): void {
  const { origin } = fixture;
  const describe = async (...given: Parameters<Origin['describeTable']>) => {
    const answer = await origin.describeTable(...given);
    if (answer.kind !== 'ok') return answer;
    const columns = answer.value.columns.map((column) => ({ ...column, kind: null, readOnly: null }));
    return { ...answer, value: change({ ...answer.value, columns }) };
  };
  fixture.origin = { ...origin, describeTable: describe as Origin['describeTable'] };
}

function summaryOf({ replica }: Fixture): Pick<TableSummary, 'id' | 'recordName' | 'alias'> {
  const { id, name, alias } = must(readTables(replica)[0], 'a table was pulled');
  return { id, recordName: name, alias };
}

test('a description that is known is not sent again, unless it is asked for in full', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.requests.clear();

  const known = await describeTable(fixture.context(), summaryOf(fixture));
  const full = await describeTable(fixture.context(), summaryOf(fixture), { inFull: true });

  expect(known).toEqual(full);
  expect(known).toEqual(storedDescription(fixture.context(), known.id));
  expect(statuses(fixture, 'describe')).toEqual([304, 200]);
});

test('a changed description is kept for the next time', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  fixture.sandbox.store.addColumn('Good', { name: 'Stock', type: 'Numeric' });
  fixture.sandbox.requests.clear();

  const changed = await describeTable(fixture.context(), summaryOf(fixture));
  const again = await describeTable(fixture.context(), summaryOf(fixture));

  expect(changed.columns.at(-1)?.name).toBe('Stock');
  expect(again).toEqual(changed);
  expect(statuses(fixture, 'describe')).toEqual([200, 304]);
});

test('rights that a description leaves open are asked for once, and kept', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  withoutRights(fixture, (described) => described);
  fixture.sandbox.requests.clear();

  const described = await describeTable(fixture.context(), summaryOf(fixture), { inFull: true });
  const again = await describeTable(fixture.context(), summaryOf(fixture));

  expect(described.columns.map(({ name, kind }) => [name, kind])).toEqual([
    ['Id', 'Key'],
    ['Title', 'Updatable'],
    ['Price', 'Updatable'],
  ]);
  expect(again).toEqual(described);
  expect(statuses(fixture, 'select')).toEqual([200]);
});

test('without a row the rights stay open, and are asked for each time', async () => {
  await using fixture = await startFixture({ tables: [{ ...goods(), rows: [] }] });
  await fixture.pull();
  withoutRights(fixture, (described) => ({
    ...described,
    columns: described.columns.map((one) => ({ ...one, id: one.id + 1000 })),
  }));
  fixture.sandbox.requests.clear();

  const described = await describeTable(fixture.context(), summaryOf(fixture), { inFull: true });
  await describeTable(fixture.context(), summaryOf(fixture), { inFull: true });

  expect(described.columns.filter(isWritable)).toEqual([]);
  expect(statuses(fixture, 'select')).toEqual([200, 200]);
});

test('a table that changes each time it is described is not read, and nothing of it is kept', async () => {
  await using fixture = await startFixture({ tables: [goods()] });
  await fixture.pull();
  const before = storedDescription(fixture.context(), summaryOf(fixture).id);
  let count = 0;
  withoutRights(fixture, (described) => ({ ...described, recordsName: `goods ${(count += 1)}` }));

  const described = describeTable(fixture.context(), summaryOf(fixture), { inFull: true });

  await expect(described).rejects.toMatchObject({ code: 'origin.moving' });
  expect(storedDescription(fixture.context(), summaryOf(fixture).id)).toEqual(before);
  expect(count).toBeLessThan(6);
});

test('names are looked at again only before rows of a two-way table are stored that differ from their base', async () => {
  await using mirror = await startFixture({ tables: [NOTE] });
  await mirror.pull();
  await using fixture = await startTwoWay();
  const countOf = async (at: Fixture, page: (table: PreparedTable) => Pick<RowPage, 'rows' | 'unreadable'>) => {
    const context = at.context();
    const table = await preparedTable(at, context);
    at.sandbox.requests.clear();
    await requireShapeOf({ context, table }, page(table));
    return at.sandbox.requests.count({ method: 'describe' });
  };
  const base = (table: PreparedTable, id: number) =>
    must(readRowsById(fixture.replica, baseTarget(table.target), [id]).get(id), 'it has a base');
  const changed = (row: Row): Row => ({ ...row, values: row.values.map(() => null) });

  expect([
    await countOf(mirror, () => ({ rows: [{ id: 1, allow: null, values: [] }], unreadable: [] })),
    await countOf(fixture, (table) => ({ rows: [base(table, 1), base(table, 2)], unreadable: [] })),
    await countOf(fixture, (table) => ({ rows: [base(table, 1), changed(base(table, 2))], unreadable: [] })),
    await countOf(fixture, (table) => ({ rows: [{ ...base(table, 1), id: 99 }], unreadable: [] })),
    await countOf(fixture, () => ({ rows: [], unreadable: [{ id: 1, column: 'Done', reason: 'no' }] as never })),
  ]).toEqual([0, 0, 1, 1, 1]);
});
