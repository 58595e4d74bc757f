/**
 * Entries with every byte of their values, under the columns of today.
 */
import { expect, test } from 'vitest';
import { sql } from '../../../src/base/sql.ts';
import { readExactEntries, type ExactEntry } from '../../../src/extras/history/exact-entries.ts';
import type { Column } from '../../../src/replica/history-writer.ts';
import { HISTORY } from '../../support/history.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { capture, NOTE, twoWaySettings } from '../../support/two-way.ts';

const TWO_WAY = {
  tableOptions: () => ({ ...twoWaySettings({ match: 'Code' }).tableOptions(''), sort: null, history: HISTORY }),
};

async function startKept(): Promise<Fixture> {
  const fixture = await startFixture({ tables: [NOTE] }, { settings: TWO_WAY });
  await fixture.pull();
  return fixture;
}

/** The columns of Note by name, without those named. */
function columnsOf(fixture: Fixture, names: readonly string[]): readonly Column[] {
  const known = fixture.rows('SELECT seq, local_name AS name FROM _rowsync_columns') as Column[];
  return names.flatMap((name) => known.find((column) => column.name === name) ?? []);
}

/** Entries of rows of Note; cells as `index: before > after`. */
function entriesOf(fixture: Fixture, names: readonly string[], order = sql`ASC`): readonly ExactEntry[] {
  const [{ id } = { id: 0 }] = fixture.rows('SELECT id FROM _rowsync_tables') as { id: number }[];
  const place = { tableId: id, columns: columnsOf(fixture, names), order };
  return [...readExactEntries(fixture.replica, place, { filter: sql`h.seq > @after`, values: { after: 1 } })];
}

test('values are what they were, of the same type and with every byte', async () => {
  await using fixture = await startKept();
  fixture.execute(`UPDATE "Note" SET "Body" = CAST(x'ff41' AS TEXT), "Count" = 9007199254740993, "Title" = '{"blob":"00"}' WHERE _id = 1;
    UPDATE "Note" SET "Count" = 1e300, "Spent" = -0.5 WHERE _id = 2`);
  await capture(fixture);

  const [first, second] = entriesOf(fixture, ['Title', 'Body', 'Count', 'Spent']);

  expect(first?.cells).toEqual([
    { index: 0, before: 'title 1', after: '{"blob":"00"}' },
    { index: 1, before: null, after: { raw: 'ff41' } },
    { index: 2, before: 1n, after: 9007199254740993n },
  ]);
  expect(second?.cells).toEqual([
    { index: 2, before: 2n, after: 1e300 },
    { index: 3, before: null, after: -0.5 },
  ]);
});

test('cells of columns that are gone are left out, and entries of a row come in the order that was asked', async () => {
  await using fixture = await startKept();
  for (const title of ['one', 'two']) {
    fixture.execute(`UPDATE "Note" SET "Title" = '${title}', "Body" = '${title}' WHERE _id = 1`);
    await capture(fixture);
  }
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 2`);
  await capture(fixture);

  const up = entriesOf(fixture, ['Body']);
  const down = entriesOf(fixture, ['Title'], sql`DESC`);

  expect(up.map(({ rowId, cells }) => [rowId, cells.map(({ after }) => after)])).toEqual([
    [1, ['one']],
    [1, ['two']],
    [2, []],
  ]);
  expect(down.map(({ rowId, cells }) => [rowId, cells.map(({ after }) => after)])).toEqual([
    [1, ['two']],
    [1, ['one']],
    [2, ['x']],
  ]);
});

test('only a change at the origin has an author: none of an edit here, nor of what the origin made of it', async () => {
  await using fixture = await startKept();
  fixture.execute(
    `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'c8')`,
  );
  await pushNow(fixture);
  fixture.sandbox.store.update('Note', 2, { Title: 'theirs' });
  await fixture.pull();

  const authors = entriesOf(fixture, ['Title']).map(({ rowId, kind, by }) => [rowId > 0 ? rowId : 'new', kind, by]);

  expect(authors.filter(([, , by]) => by !== null)).toEqual([
    ['new', 'delete', ''],
    [2, 'update', 'Alice Martin <alice.martin@example.com>'],
  ]);
  expect(authors).toEqual(
    expect.arrayContaining([
      [1, 'update', null],
      [7, 'insert', null],
    ]),
  );
});

test.each([
  ['of a row', null, [0, 1]],
  ['of one column', 'Body', [1]],
  ['of a column that is gone', 'Count', []],
])('what was forgotten %s is of unknown value', async (_what, column, indexes) => {
  await using fixture = await startKept();
  const [seq] = column === null ? [null] : columnsOf(fixture, [column]).map((one) => one.seq);
  fixture.execute(`INSERT INTO _rowsync_history (table_id, row_id, kind, at, cause, cells)
    SELECT id, 1, 'forgotten', unixepoch(), 'decision', '{"column":null,"columnSeq":${seq},"entries":1}' FROM _rowsync_tables`);

  const [entry] = entriesOf(fixture, ['Title', 'Body']);

  expect(entry).toEqual({
    rowId: 1,
    kind: 'forgotten',
    wasId: null,
    by: null,
    cells: indexes.map((index) => ({ index, before: null, after: null })),
  });
});
