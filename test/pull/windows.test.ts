/**
 * Windows of the creation time: what a sweep asks for, and what becomes of windows that grow, shrink, move or do not
 * hold.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { must } from '../../src/base/assert.ts';
import { forgetEtags } from '../../src/replica/bookkeeping/pages.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { brokenPages, readOrigin, readReplica } from '../support/compare.ts';
import { testClock, type TestClock } from '../support/clock.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

/** Pages of five rows that share one, four of them a window. */
const SETTINGS = { pageRows: 5, windowPages: 4 };

function notes(rowCount: number, isOfOneSecond = false): TableSpec {
  const rows = Array.from({ length: rowCount }, (_, index) => ({ Title: `note ${index + 1}` }));
  const columns = [{ name: 'Title', type: 'Text' as const }];
  return { name: 'Note', columns, rows, ...(isOfOneSecond ? {} : { createdFromMs: Date.UTC(2026, 0, 1) }) };
}

async function start(rowCount: number, settings: object = SETTINGS, clock?: TestClock): Promise<Fixture> {
  const fixture = await startFixture(
    { tables: [notes(rowCount)], ...(clock === undefined ? {} : { clock }) },
    { settings, ...(clock === undefined ? {} : { clock }) },
  );
  await fixture.pull();
  fixture.sandbox.requests.clear();
  return fixture;
}

function expectSame(fixture: Fixture): void {
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(brokenPages(fixture.path)).toEqual([]);
}

function selects({ sandbox }: Fixture): number {
  return sandbox.requests.count({ method: 'select' });
}

/** Pages of each window, in order. */
function shape(fixture: Fixture): readonly unknown[] {
  return fixture
    .rows('SELECT count(*) AS pages FROM sync_freshness GROUP BY "window" ORDER BY "window"')
    .map((row) => (row as { pages: number }).pages);
}

test('a table is tiled by windows as it is loaded, and an unchanged one answers 304 throughout', async () => {
  await using fixture = await start(100);

  const report = await fixture.pull();

  expect(shape(fixture)).toEqual([4, 4, 4, 4, 4, 4, 1, 1]);
  expect(fixture.rows('SELECT windows, one_window, pages FROM sync_status')).toEqual([
    { windows: 8, one_window: null, pages: 26 },
  ]);
  expect(report.tables).toMatchObject([{ pagesReadCount: 0, pagesNotModifiedCount: 26 }]);
  expectSame(fixture);
});

test('a first load asks for few pages that are empty', async () => {
  await using fixture = await startFixture({ tables: [notes(401)] }, { settings: { ...SETTINGS, concurrency: 4 } });

  await fixture.pull();

  // 100 pages fill 401 rows; beside them the window without stamps, and what was asked ahead of the end.
  expect(selects(fixture)).toBeLessThanOrEqual(100 + 6);
  expectSame(fixture);
});

test('a row that is deleted at the front moves the pages of its window only', async () => {
  await using fixture = await start(100);
  fixture.sandbox.store.delete('Note', 1);

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ pagesReadCount: 4, deletedCount: 1 }]);
  expectSame(fixture);
});

test('rows that are added begin new windows, and the pages before them stay', async () => {
  await using fixture = await start(100);
  for (let count = 0; count < 40; count += 1) fixture.sandbox.store.insert('Note', { Title: `later ${count}` });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ insertedCount: 40, deletedCount: 0, pagesNotModifiedCount: 25 }]);
  expectSame(fixture);
});

test('neighbours that shrink are joined', async () => {
  await using fixture = await start(100, { ...SETTINGS, maxDeletePercent: 100 });
  const { store } = fixture.sandbox;
  for (const id of store.ids('Note').filter((row) => row % 8 !== 0)) store.delete('Note', id);

  await fixture.pull();
  const before = shape(fixture);
  await fixture.pull();

  expect([before, shape(fixture)]).toEqual([
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 1],
  ]);
  expectSame(fixture);
});

test('a window that grows in its middle is cut', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  await using fixture = await start(60, SETTINGS, clock);
  for (let count = 0; count < 30; count += 1) {
    clock.advance(1_000);
    fixture.sandbox.store.insert('Note', { Title: `between ${count}` });
  }

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ insertedCount: 30, deletedCount: 0 }]);
  expectSame(fixture);
  fixture.sandbox.requests.clear();
  expect((await fixture.pull()).tables).toMatchObject([{ pagesReadCount: 0 }]);
});

test('rows of one second never lie in two windows', async () => {
  const clock = testClock();
  await using fixture = await startFixture({ tables: [notes(100, true)], clock }, { settings: SETTINGS, clock });

  await fixture.pull();

  expect(shape(fixture)).toEqual([25]);
  expectSame(fixture);
});

test('a window of before there were windows keeps its ETags, and is cut where its rows move', async () => {
  await using fixture = await start(100, { pageRows: 5, windowPages: 1_000 });

  const unchanged = await fixture.pull({ settings: SETTINGS });
  fixture.sandbox.store.delete('Note', 1);
  const moved = await fixture.pull({ settings: SETTINGS });

  expect(unchanged.tables).toMatchObject([{ pagesReadCount: 0, pagesNotModifiedCount: 25 }]);
  expect(moved.tables).toMatchObject([{ insertedCount: 0, updatedCount: 0, deletedCount: 1 }]);
  expect(shape(fixture)).toEqual([4, 4, 4, 4, 4, 4, 1, 1]);
  expectSame(fixture);
});

/** What no Records API answers. */
const GARBAGE = { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<p>' };

test('a sweep that is cut off between two windows is resumed', async () => {
  await using fixture = await startFixture({ tables: [notes(100)] }, { settings: { ...SETTINGS, concurrency: 1 } });
  for (const nth of [4, 1, 2, 5, 8]) {
    fixture.sandbox.answerInstead(nth, GARBAGE, { method: 'select' });
    expect((await fixture.pull()).tables).toMatchObject([{ error: { kind: 'wireFormat' } }]);
  }

  await fixture.pull();

  expectSame(fixture);
});

test('an unchanged sweep that is cut off keeps what it has proven', async () => {
  await using fixture = await start(100, { ...SETTINGS, concurrency: 1 });
  fixture.sandbox.answerInstead(20, GARBAGE, { method: 'select' });
  expect((await fixture.pull()).tables).toMatchObject([{ error: { kind: 'wireFormat' } }]);
  fixture.sandbox.requests.clear();

  await fixture.pull();

  // The rest of the former sweep (requests that waited were answered, too), and a whole one behind it.
  expect(selects(fixture)).toBeLessThanOrEqual(7 + 26);
});

/** A refusal as the origin words it. */
const REFUSAL = {
  status: 400,
  headers: { 'Content-Type': 'application/json' },
  body: '{"error":400,"code":2000,"message":"Filter is not valid","source":"filter"}',
};

test('where the origin refuses the filter the table is one window, until its ETags are forgotten', async () => {
  await using fixture = await startFixture({ tables: [notes(30)] }, { settings: { ...SETTINGS, concurrency: 1 } });
  fixture.sandbox.answerInstead(5, REFUSAL, { method: 'select' });

  const first = await fixture.pull();
  const second = await fixture.pull();

  expect(first.tables).toMatchObject([{ error: null, rowCount: 30 }]);
  expect(second.tables).toMatchObject([{ pagesReadCount: 0 }]);
  expect(fixture.rows('SELECT windows, one_window FROM sync_status')).toEqual([{ windows: 1, one_window: 'filter' }]);
  expectSame(fixture);

  await fixture.replica.write('Forgetting', (tx) => forgetEtags(tx, readTables(tx)[0]?.id ?? 0));
  await fixture.pull();
  expect(fixture.rows('SELECT one_window FROM sync_status')).toEqual([{ one_window: null }]);
});

test.each([
  ['rows from outside of their window', 'filter', (ids: readonly number[]) => ids.map(() => 0)],
  ['rows out of order', 'order', (ids: readonly number[]) => ids.map((_, index) => 90 - index)],
])('where a page has %s the table is one window', async (_what, reason, seconds) => {
  await using fixture = await startFixture({ tables: [notes(30)] }, { settings: { ...SETTINGS, concurrency: 1 } });
  const stored = fixture.sandbox.store.rows('Note').slice(17, 22);
  const rows = seconds(stored.map(({ id }) => id)).map((second, index) => {
    const created = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString().slice(0, 19);
    const { id, values } = must(stored[index], 'as many as there are seconds');
    return { '@row.id': id, ...values, 'Date Created': `${created}+00:00`, 'Date Modified': null };
  });
  const answer = { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(rows) };
  fixture.sandbox.answerInstead(6, answer, { method: 'select' });

  await fixture.pull();

  expect(fixture.rows('SELECT windows, one_window FROM sync_status')).toEqual([{ windows: 1, one_window: reason }]);
  expectSame(fixture);
});

test('another order of the configuration makes one window of all', async () => {
  await using fixture = await start(100);

  const report = await fixture.pull({ settings: { tableOptions: () => ({ sort: ['Title'] }) } });

  expect(report.tables).toMatchObject([{ error: null, insertedCount: 0, deletedCount: 0 }]);
  expect(fixture.rows('SELECT windows, one_window FROM sync_status')).toEqual([{ windows: 1, one_window: 'sort' }]);
  expectSame(fixture);
});
