/**
 * Following a table: what it costs, what it brings, what it cannot see, and when it sweeps instead.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock, type TestClock } from '../support/clock.ts';
import { expectSame, note, startFollowed } from '../support/followed.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { HISTORY } from '../support/history.ts';
import { pushNow } from '../support/push.ts';
import { startTwoWay, twoWaySettings } from '../support/two-way.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { forgetEtags } from '../../src/replica/bookkeeping/pages.ts';

function selects({ sandbox }: Fixture): number {
  return sandbox.requests.count({ method: 'select' });
}

test('an unchanged table costs two questions about its rows, however many pages it has', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ insertedCount: 0, updatedCount: 0, pagesReadCount: 0, error: null }]);
  expect(selects(fixture)).toBe(2);
  expect(fixture.rows('SELECT followed_at, state FROM sync_status')).toEqual([
    { followed_at: '2026-01-01T02:00:00Z', state: 'steady' },
  ]);
  expect(fixture.rows('SELECT kind FROM sync_runs ORDER BY id DESC LIMIT 2')).toEqual([
    { kind: 'follow' },
    { kind: 'pull' },
  ]);
});

test('brings rows that were changed or added anywhere', async () => {
  const { fixture, clock } = await startFollowed();
  await using _ = fixture;
  for (const id of [1, 14, 30]) fixture.sandbox.store.update('Note', id, { Title: `new ${id}` });
  fixture.sandbox.store.insert('Note', { Title: 'added' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ insertedCount: 1, updatedCount: 3 }]);
  expect(selects(fixture)).toBe(2);
  expectSame(fixture);
  clock.advance(60_000);
  const sweep = await fixture.pull();
  expect(sweep.tables).toMatchObject([{ insertedCount: 0, updatedCount: 0, deletedCount: 0 }]);
  expectSame(fixture);
});

test('a bulk edit with one stamp comes page by page', async () => {
  const { fixture } = await startFollowed(33);
  await using _ = fixture;
  for (let id = 1; id <= 33; id += 1) fixture.sandbox.store.update('Note', id, { Title: `new ${id}` });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ updatedCount: 33 }]);
  expectSame(fixture);
});

test('a delete shows in the number of rows, and the list of deleted rows says which one to ask for', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 1 }]);
  expect(fixture.rows('SELECT row_id FROM sync_deleted')).toEqual([{ row_id: 7 }]);
  expectSame(fixture);
});

test('deletes of more than half of the rows wait for a person, though they come in several requests', async () => {
  const { fixture } = await startFollowed(20);
  await using _ = fixture;
  fixture.execute('UPDATE _rowsync_tables SET page_rows = 3');
  for (let id = 1; id <= 12; id += 1) fixture.sandbox.store.delete('Note', id);

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 0, rowCount: 20, held: { code: 'guard.deletes' } }]);
});

test('deletes of more than half of the rows wait for a person, though a list of deleted rows names some of them', async () => {
  const { fixture } = await startFollowed(20);
  await using _ = fixture;
  for (let id = 1; id <= 12; id += 1) fixture.sandbox.store.delete('Note', id);
  const deleted = [1, 2, 3].map((id) => ({ '@row.id': id, deleted: '2026-01-01T01:30:00.000+00:00', deletedby: null }));
  const answer = { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(deleted) };
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, answer, { method: 'deleted' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 0, rowCount: 20, held: { code: 'guard.deletes' } }]);
});

test('a delete beside an insert is noticed too, since what was added is here before rows are counted', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);
  fixture.sandbox.store.insert('Note', { Title: 'added' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ insertedCount: 1, deletedCount: 1, isFollowed: true }]);
  expectSame(fixture);
});

test('a row that is added while it reads hides no delete', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);
  fixture.sandbox.before(2, () => void fixture.sandbox.store.insert('Note', { Title: 'added' }), { method: 'select' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 1, isFollowed: true }]);
  expectSame(fixture);
});

test('an ETag vouches for nothing that it did not bring: rows that are changed back are read', async () => {
  const { fixture, clock } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.update('Note', 3, { Title: 'for a while' });
  await fixture.pull({ follow: true });
  clock.advance(1_000);
  // As it was, with the stamp that it had: the page answers as before.
  fixture.sandbox.requests.clear();
  fixture.sandbox.store.update('Note', 3, { Title: 'title 3' });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ updatedCount: 1 }]);
  expectSame(fixture);
});

test('the first time, and after anything that makes all pages suspect, it sweeps', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  await using fixture = await startFixture(
    { tables: [note(12)], clock },
    { clock, settings: { pageRows: 5, follows: 'all' as const } },
  );

  await fixture.pull({ follow: true });
  expect(fixture.rows('SELECT rows, followed_at FROM sync_status')).toEqual([{ rows: 12, followed_at: null }]);
  await fixture.replica.write('test', (tx) => forgetEtags(tx, readTables(tx)[0]?.id ?? 0));
  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ pagesReadCount: 3 }]);
  expectSame(fixture);
});

test.each([
  ['renamed', (fixture: Fixture) => fixture.sandbox.store.renameColumn('Note', 'Title', 'Heading')],
  ['dropped', (fixture: Fixture) => fixture.sandbox.store.dropColumn('Note', 'Title')],
])('a column that was %s makes it sweep, and the table does not fail', async (_what, change) => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  change(fixture);

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ error: null, isFollowed: false }]);
});

test('a refusal under unchanged columns is told, and nothing is swept', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  for (const nth of [1, 2, 3]) fixture.sandbox.answerInstead(nth, REFUSAL, { method: 'select' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ isFollowed: false, pagesReadCount: 0, error: { kind: 'originRefused' } }]);
});

test('a table without a time of modification is swept', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  await using fixture = await startFixture(
    { tables: [note(12)], clock },
    { clock, settings: { pageRows: 5, follows: 'all' as const } },
  );
  const hiddenColumns = [['Note', 'Date Modified']] as const;
  fixture.sandbox.store.setRole({ name: 'Administrator', canWrite: true, hiddenTables: [], hiddenColumns });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 3, { Title: 'new' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ isFollowed: false, updatedCount: 1 }]);

  expectSame(fixture);
});

test('in a two-way table, what comes is merged, and edits stay', async () => {
  await using fixture = await startTwoWay();
  const settings = { ...twoWaySettings(), follows: 'all' as const };
  await fixture.pull({ settings });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Count: 99 });
  fixture.sandbox.store.update('Note', 2, { Title: 'theirs' });

  await fixture.pull({ settings, follow: true });

  expect(fixture.rows('SELECT "Title", "Count" FROM "Note" WHERE _id < 3 ORDER BY _id')).toMatchObject([
    { Title: 'mine', Count: 99 },
    { Title: 'theirs' },
  ]);
  await pushNow(fixture);
  await fixture.pull({ settings, follow: true });
  expect(fixture.sandbox.store.rows('Note')[0]?.values).toMatchObject({ Title: 'mine', Count: 99 });
});

test.each([
  ['followed, and deletes wait for the sweep', true, { deletedCount: 0, isFollowed: true }],
  ['read whole where a table is wanted now', false, { deletedCount: 1, isFollowed: false }],
])('an origin that does not count is %s', async (_what, compares, expected) => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  const body = JSON.stringify({ error: 400, code: 3100, message: 'Column does not exist' });
  fixture.sandbox.answerInstead(
    1,
    { status: 400, headers: { 'Content-Type': 'application/json' }, body },
    { method: 'select' },
  );
  fixture.sandbox.store.update('Note', 3, { Title: 'new' });
  fixture.sandbox.store.delete('Note', 7);

  const report = await fixture.pull({ settings: { compares }, follow: true });

  expect(report.tables).toMatchObject([{ updatedCount: 1, ...expected }]);
  expect(fixture.rows('SELECT followed_at FROM sync_status')).toEqual([{ followed_at: null }]);
});

/** What the origin says of a list that it does not give. */
const REFUSAL = {
  status: 403,
  headers: { 'Content-Type': 'application/json' },
  body: '{"error":403,"code":3200,"message":"Access denied","source":"deleted"}',
};

test('what it costs: two requests without a change, and one more for a description where rows came', async () => {
  const { fixture } = await startFollowed(30, 40);
  await using _ = fixture;

  await fixture.pull({ follow: true });
  const unchanged = fixture.sandbox.requests.count({});
  for (const id of [1, 14, 30]) fixture.sandbox.store.update('Note', id, { Title: `new ${id}` });
  await fixture.pull({ follow: true });
  const edited = fixture.sandbox.requests.count({}) - unchanged;
  fixture.sandbox.store.delete('Note', 1);
  await fixture.pull({ follow: true });
  const deleted = fixture.sandbox.requests.count({}) - unchanged - edited;

  expect([unchanged, edited, deleted]).toEqual([2, 3, 5]);
  expectSame(fixture);
});

test('where the origin has no list of deleted rows a sweep finds which one it was', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, REFUSAL, { method: 'deleted' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 1, isFollowed: false }]);
  expectSame(fixture);
});

test('without a list of deleted rows, counting finds the window that has one less, and only that is read', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 2) });
  const settings = { pageRows: 5, windowPages: 2, follows: 'all' as const };
  const table = { ...note(200), createdFromMs: Date.UTC(2026, 0, 1) };
  await using fixture = await startFixture({ tables: [table], clock }, { clock, settings });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 200, { Count: 1 });
  await fixture.pull();
  fixture.sandbox.requests.clear();
  fixture.sandbox.store.delete('Note', 77);
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, REFUSAL, { method: 'deleted' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 1, isFollowed: true }]);
  // Three rounds, what days add up to, which is one here, five halvings of 25 windows, and the pages of one.
  expect(selects(fixture)).toBeLessThanOrEqual(6 + 1 + 5 + 3);
  expectSame(fixture);
});

/** Rows of one day each, in windows of two pages of four new rows; the last one was changed an hour after. */
async function startByDay(tables: readonly TableSpec[] = [note(0)]): Promise<{ fixture: Fixture; clock: TestClock }> {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  const settings = { pageRows: 5, windowPages: 2, follows: 'all' as const };
  const fixture = await startFixture({ tables, clock }, { clock, settings });
  fixture.sandbox.store.change(() => {
    for (let day = 1; day <= 100; day += 1) {
      fixture.sandbox.store.insert('Note', { Title: `title ${day}`, Count: day });
      clock.advance(86_400_000);
    }
  });
  fixture.sandbox.store.update('Note', 100, { Count: 1 });
  clock.advance(3_600_000);
  await fixture.pull();
  fixture.sandbox.requests.clear();
  return { fixture, clock };
}

test('without a list of deleted rows, what days add up to says which windows to read', async () => {
  const { fixture } = await startByDay();
  await using _ = fixture;
  for (const id of [7, 30, 31, 77, 95]) fixture.sandbox.store.delete('Note', id);
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, REFUSAL, { method: 'deleted' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 5, isFollowed: true }]);
  // Three rounds, the days, and the pages of four windows.
  expect(selects(fixture)).toBeLessThanOrEqual(6 + 1 + 4 * 3);
  expectSame(fixture);
});

test('a row that was followed and then deleted is missed by no window', async () => {
  const { fixture } = await startByDay();
  await using _ = fixture;
  fixture.sandbox.store.update('Note', 30, { Title: 'new' });
  const added = fixture.sandbox.store.insert('Note', { Title: 'added' });
  await fixture.pull({ follow: true });
  fixture.sandbox.store.delete('Note', 30);
  fixture.sandbox.store.delete('Note', added);
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, REFUSAL, { method: 'deleted' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 2, isFollowed: true }]);
  expectSame(fixture);
});

const GROUP: TableSpec = {
  name: 'Group',
  key: 'Name',
  columns: [
    { name: 'Name', type: 'Text', options: ['Unique', 'Required'] },
    { name: 'Budget', type: 'Numeric' },
  ],
  rows: [{ Name: 'a', Budget: '10.5' }],
};

const looking = (rowCount: number): TableSpec => {
  const computed = { how: 'lookup', reference: 'Group', table: 'Group', column: 'Budget' } as const;
  const { columns, ...spec } = note(rowCount);
  return {
    ...spec,
    columns: [...columns, { name: 'Group', type: 'Text' }, { name: 'Group Budget', type: 'Numeric', computed }],
  };
};

test('a formula that changed without a stamp comes with the first follow ten minutes after all rows were read', async () => {
  const { fixture, clock } = await startByDay([GROUP, looking(0)]);
  await using _ = fixture;
  fixture.sandbox.store.update('Note', 20, { Group: 'a' });
  // Later by more than the overlap, so that the row of the formula is not read in any case.
  clock.advance(300_000);
  fixture.sandbox.store.update('Note', 100, { Count: 2 });
  await fixture.pull();
  const budget = (): unknown => fixture.rows('SELECT "Group Budget" AS b FROM "Note" WHERE _id = 20')[0];
  const freshSince = (): unknown => fixture.rows(`SELECT fresh_since FROM sync_status WHERE "table" = 'Note'`)[0];
  const before = freshSince();
  const of = { tables: ['Note'], follow: true };
  fixture.sandbox.store.update('Group', 1, { Budget: '20.5' });

  clock.advance(599_000);
  await fixture.pull(of);
  expect(budget()).toEqual({ b: 10.5 });
  clock.advance(1_000);
  const compared = await fixture.pull(of);
  expect(budget()).toEqual({ b: 20.5 });
  const requests = fixture.sandbox.requests.count({});
  clock.advance(60_000);
  await fixture.pull(of);

  expect(compared.tables).toMatchObject([{ updatedCount: 1, isFollowed: true }]);
  expect(fixture.sandbox.requests.count({}) - requests).toBe(2);
  expect(freshSince()).toEqual(before);
});

test('an origin that adds up nothing is asked once in ten minutes', async () => {
  const { fixture, clock } = await startByDay();
  await using _ = fixture;
  const refuse = (): void => {
    const body = '{"error":400,"code":3100,"message":"Column does not exist","source":"Date Created//DD"}';
    fixture.sandbox.answerInstead(3, { ...REFUSAL, status: 400, body }, { method: 'select' });
  };
  const costs: number[] = [];
  for (const minutes of [11, 1, 10]) {
    clock.advance(minutes * 60_000);
    fixture.sandbox.requests.clear();
    refuse();
    const report = await fixture.pull({ follow: true });
    expect(report.tables).toMatchObject([{ isFollowed: true, error: null }]);
    costs.push(selects(fixture));
  }

  expect(costs).toEqual([3, 2, 3]);
});

test('a list of deleted rows that names a living one deletes nothing', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);
  const body = JSON.stringify(
    [8, 9].map((id) => ({ '@row.id': id, deleted: '2026-01-01T01:30:00.000+00:00', deletedby: null })),
  );
  const headers = { 'Content-Type': 'application/json' };
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, { status: 200, headers, body }, { method: 'deleted' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 1, isFollowed: false }]);
  expect(fixture.rows('SELECT row_id FROM sync_deleted')).toEqual([{ row_id: 7 }]);
  expectSame(fixture);
});

test('the row that was changed last may be deleted', async () => {
  const { fixture } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 30);

  const reports = [await fixture.pull({ follow: true }), await fixture.pull({ follow: true })];

  expect(reports.map(({ tables }) => tables[0]?.isFollowed)).toEqual([true, true]);
  expectSame(fixture);
});

test('stamps that go back are noticed, and the table is swept', async () => {
  const { fixture, clock } = await startFollowed();
  await using _ = fixture;
  clock.setBack(86_400_000);
  fixture.sandbox.store.update('Note', 30, { Title: 'from a backup' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ isFollowed: false, updatedCount: 1 }]);
  expectSame(fixture);
});

test('rows that were stamped earlier than the overlap and seen late are found by a sweep', async () => {
  const { fixture, clock } = await startFollowed();
  await using _ = fixture;
  fixture.sandbox.store.update('Note', 30, { Count: 2 });
  await fixture.pull({ follow: true });
  const late = (id: number, minutes: number): void => {
    clock.setBack(minutes * 60_000);
    fixture.sandbox.store.update('Note', id, { Title: 'late' });
    clock.setBack(-minutes * 60_000);
  };
  late(3, 10);
  late(4, 1);

  const followed = await fixture.pull({ follow: true });
  const sweep = await fixture.pull();

  expect([followed, sweep].map(({ tables }) => tables[0]?.updatedCount)).toEqual([1, 1]);
  expect(followed.tables[0]?.isFollowed).toBe(true);
  expectSame(fixture);
});

test('on a schedule, a table that was never read whole is left to the sweep', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  await using fixture = await startFixture(
    { tables: [note(12)], clock },
    { clock, settings: { follows: 'all' as const } },
  );
  await fixture.pull();
  fixture.execute('UPDATE _rowsync_tables SET watermark = NULL');

  const report = await fixture.pull({ follow: 'known' });

  expect(report.tables).toMatchObject([{ isFollowed: false, pagesReadCount: 0, error: null }]);
  expect(report.requestCount).toBe(0);
});

test('an origin that sends no ETags is followed, too', async () => {
  const { fixture } = await startFollowed(30, 5, (_request, response) => {
    const writeHead = response.writeHead.bind(response);
    response.writeHead = (status: number, given: unknown) => {
      const headers = Object.entries(given ?? {}).filter(([name]) => name !== 'ETag');
      return writeHead(status, Object.fromEntries(headers));
    };
    return false;
  });
  await using _ = fixture;
  fixture.sandbox.store.update('Note', 7, { Title: 'new' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ updatedCount: 1, isFollowed: true }]);
  expectSame(fixture);
  expect(await fixture.pull()).toMatchObject({ notModifiedCount: 0, error: null });
});

test('what came under names that columns exchanged is no change of a mirror whose history is kept', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  const settings = { follows: 'all' as const, tableOptions: () => ({ sort: null, history: HISTORY }) };
  const columns = ['Title', 'Code'].map((name) => ({ name, type: 'Text' as const }));
  const rows = [{ Title: 'one', Code: 'a' }];
  await using fixture = await startFixture({ tables: [{ name: 'Note', columns, rows }], clock }, { clock, settings });
  await fixture.pull();
  const { store } = fixture.sandbox;
  store.renameColumn('Note', 'Title', 'Between');
  store.renameColumn('Note', 'Code', 'Title');
  store.renameColumn('Note', 'Between', 'Code');
  clock.advance(60_000);
  store.update('Note', 1, { Code: 'two' });

  await fixture.pull({ follow: true });

  expect(fixture.rows('SELECT "Code", "Title" FROM "Note"')).toEqual([{ Code: 'two', Title: 'a' }]);
  expect(
    fixture.rows(`SELECT "column", before, after FROM sync_history_cells WHERE "column" IN ('Title', 'Code')`),
  ).toEqual([{ column: 'Code', before: 'one', after: 'two' }]);
});
