/** Rows with values that cannot be read: what of them comes here, and what says that the rest is missing. */
import { expect, test } from 'vitest';
import { HISTORY } from '../support/history.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { changesOf, capture, NOTE, startTwoWay, twoWaySettings } from '../support/two-way.ts';

/** Half of an emoji in place of a title. */
function cut(title: string): (body: string) => string {
  return (body) => body.replaceAll(`"${title}"`, String.raw`"cut \ud83d"`);
}

function titles(fixture: Fixture): readonly unknown[] {
  return fixture
    .rows('SELECT _id, "Title", "Count" FROM "Note" WHERE _id < 4 ORDER BY _id')
    .map((row) => Object.values(row as Record<string, unknown>));
}

function failures(fixture: Fixture): readonly unknown[] {
  return fixture
    .rows('SELECT row_id, "column", reason FROM sync_failures')
    .map((row) => Object.values(row as Record<string, unknown>));
}

const HALF = 'half of an emoji (U+D83D) as character 5: the text was probably cut at its maximum length';

test('a new row of a mirror comes without the cell, which is NULL until it can be read', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.rewrite = cut('title 2');

  const { tables } = await fixture.pull();
  const first = titles(fixture);
  const listed = failures(fixture);
  const fresh = fixture.rows('SELECT fresh_since, unreadable FROM sync_status');
  fixture.rewrite = null;
  await fixture.pull();

  expect(tables[0]).toMatchObject({ rowCount: 6, unreadableCount: 1, error: null });
  expect(first).toEqual([
    [1, 'title 1', 1],
    [2, null, 2],
    [3, 'title 3', 3],
  ]);
  expect(listed).toEqual([[2, 'Title', HALF]]);
  // No time is claimed since which every row is equal to the origin.
  expect(fresh).toEqual([{ fresh_since: null, unreadable: 1 }]);
  expect(titles(fixture)[1]).toEqual([2, 'title 2', 2]);
  expect(fixture.rows('SELECT fresh_since IS NOT NULL AS fresh, unreadable FROM sync_status')).toEqual([
    { fresh: 1, unreadable: 0 },
  ]);
});

test('a new row of a table that is to be two-way stays away from its first pull on, until it can be read', async () => {
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: twoWaySettings() });
  fixture.rewrite = cut('title 2');

  await fixture.pull();
  const first = titles(fixture);
  const listed = failures(fixture);
  fixture.rewrite = null;
  await fixture.pull();

  expect(first).toEqual([
    [1, 'title 1', 1],
    [3, 'title 3', 3],
  ]);
  expect(listed).toEqual([[2, 'Title', HALF]]);
  expect(titles(fixture)[1]).toEqual([2, 'title 2', 2]);
  expect(changesOf(fixture)).toEqual([]);
});

test('a cell of a mirror that can no longer be read keeps its value, and the others of its row come', async () => {
  const settings = { tableOptions: () => ({ sort: null, history: HISTORY }) };
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  fixture.rewrite = cut('changed');
  fixture.sandbox.store.update('Note', 2, { Title: 'changed', Count: 20 });

  await fixture.pull();

  expect(titles(fixture)[1]).toEqual([2, 'title 2', 20]);
  expect(failures(fixture)).toEqual([[2, 'Title', HALF]]);
  // The journal invents no change of the cell.
  const entries = fixture.rows(`SELECT "column" FROM sync_history_cells WHERE row_id = 2 AND kind = 'update'`);
  expect(entries).toContainEqual({ column: 'Count' });
  expect(entries).not.toContainEqual({ column: 'Title' });
});

test('following brings the readable cells, claims no row that it cannot read, and needs no sweep for it', async () => {
  const settings = { follows: 'all' as const };
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  fixture.rewrite = cut('changed');
  fixture.sandbox.store.update('Note', 2, { Title: 'changed', Count: 20 });

  const { tables } = await fixture.pull({ follow: 'known' });

  expect(tables[0]).toMatchObject({ isFollowed: true, unreadableCount: 1 });
  expect(titles(fixture)[1]).toEqual([2, 'title 2', 20]);
  expect(fixture.rows('SELECT fresh_since FROM sync_status')).toEqual([{ fresh_since: null }]);
});

test('a row of a two-way table stays as it was, since an empty cell could be pushed', async () => {
  await using fixture = await startTwoWay();
  fixture.rewrite = cut('changed');
  fixture.sandbox.store.update('Note', 2, { Title: 'changed', Count: 20 });
  const added = fixture.sandbox.store.insert('Note', { Title: 'changed', Code: 'new' });

  await fixture.pull();
  await capture(fixture);

  expect(titles(fixture)[1]).toEqual([2, 'title 2', 2]);
  expect(fixture.rows('SELECT 1 FROM "Note" WHERE _id = ?', added)).toEqual([]);
  expect(failures(fixture)).toEqual([
    [2, 'Title', HALF],
    [added, 'Title', HALF],
  ]);
  expect(changesOf(fixture)).toEqual([]);
});

test('a mirror that becomes two-way sends nothing of a cell that it could not read', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.rewrite = cut('title 2');
  await fixture.pull();
  const settings = twoWaySettings({ match: 'Code' });

  await fixture.pull({ settings });
  await fixture.pull({ settings });
  await capture(fixture);
  const waiting = changesOf(fixture);
  fixture.rewrite = null;
  await fixture.pull({ settings });
  await capture(fixture);

  expect([waiting, changesOf(fixture)]).toEqual([[], []]);
  expect(titles(fixture)[1]).toEqual([2, 'title 2', 2]);
});

test('a row with two such values stays as it was, and the reason names both columns', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  fixture.rewrite = (body) => cut('title 2')(body).replaceAll('"c2"', String.raw`"\udc00c"`);

  const { tables } = await fixture.pull();

  expect(tables[0]).toMatchObject({ rowCount: 5, unreadableCount: 1 });
  expect(failures(fixture)).toEqual([[2, 'Title', `${HALF}; nor can "Code" be read`]]);
});
