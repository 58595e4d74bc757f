/**
 * Following a table: what it costs, what it brings, what it cannot see, and when it sweeps instead.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock, type TestClock } from '../support/clock.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { pushNow } from '../support/push.ts';
import { startTwoWay, twoWaySettings } from '../support/two-way.ts';
import { readTables } from '../../src/replica/ledger.ts';
import { forgetEtags } from '../../src/replica/pages.ts';

const note = (rowCount: number): TableSpec => ({
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ],
  rows: Array.from({ length: rowCount }, (_, index) => ({ Title: `title ${index + 1}` })),
});

/** A followed fixture after a first pull, an hour after its rows were made. */
async function start(rowCount = 30, pageRows = 5): Promise<{ fixture: Fixture; clock: TestClock }> {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  const fixture = await startFixture(
    { tables: [note(rowCount)], clock },
    { clock, settings: { pageRows, follows: true } },
  );
  await fixture.pull();
  // Later than all others by more than the overlap, so that they are not read again.
  clock.advance(3_600_000);
  fixture.sandbox.store.update('Note', rowCount, { Count: 1 });
  await fixture.pull();
  clock.advance(3_600_000);
  fixture.sandbox.requests.clear();
  return { fixture, clock };
}

/** Rows here and there are the same. */
function expectSame(fixture: Fixture): void {
  const there = fixture.sandbox.store.rows('Note').map(({ id, values }) => [id, values['Title']]);
  const here = fixture
    .rows('SELECT _id, "Title" FROM "Note" ORDER BY _id')
    .map((row) => Object.values(row as Record<string, unknown>));
  expect(here).toEqual(there);
}

function selects({ sandbox }: Fixture): number {
  return sandbox.requests.count({ method: 'select' });
}

test('an unchanged table costs two questions about its rows, however many pages it has', async () => {
  const { fixture } = await start();
  await using _ = fixture;

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ insertedCount: 0, updatedCount: 0, pagesReadCount: 0, error: null }]);
  expect(selects(fixture)).toBe(2);
  expect(fixture.rows('SELECT followed_at, state FROM sync_status')).toEqual([
    { followed_at: '2026-01-01T02:00:00Z', state: 'steady' },
  ]);
});

test('brings rows that were changed or added anywhere', async () => {
  const { fixture, clock } = await start();
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
  const { fixture } = await start(33);
  await using _ = fixture;
  for (let id = 1; id <= 33; id += 1) fixture.sandbox.store.update('Note', id, { Title: `new ${id}` });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ updatedCount: 33 }]);
  expectSame(fixture);
});

test('a delete that nobody announced shows in the number of rows, and the sweep finds it', async () => {
  const { fixture } = await start();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 1 }]);
  expect(fixture.rows('SELECT row_id FROM sync_deleted')).toEqual([{ row_id: 7 }]);
  expectSame(fixture);
});

test('a delete beside an insert is noticed too, since what was added is here before rows are counted', async () => {
  const { fixture } = await start();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);
  fixture.sandbox.store.insert('Note', { Title: 'added' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ insertedCount: 1, deletedCount: 1, isFollowed: false }]);
  expectSame(fixture);
});

test('a row that is added while it reads hides no delete', async () => {
  const { fixture } = await start();
  await using _ = fixture;
  fixture.sandbox.store.delete('Note', 7);
  fixture.sandbox.before(2, () => void fixture.sandbox.store.insert('Note', { Title: 'added' }), { method: 'select' });

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ deletedCount: 1, isFollowed: false }]);
  expectSame(fixture);
});

test('an ETag vouches for nothing that it did not bring: rows that are changed back are read', async () => {
  const { fixture, clock } = await start();
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
    { clock, settings: { pageRows: 5, follows: true } },
  );

  await fixture.pull({ follow: true });
  expect(fixture.rows('SELECT rows, followed_at FROM sync_status')).toEqual([{ rows: 12, followed_at: null }]);
  await fixture.replica.write('test', (tx) => forgetEtags(tx, readTables(tx)[0]?.id ?? 0));
  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ pagesReadCount: 3 }]);
  expectSame(fixture);
});

test('a table without a time of modification is swept', async () => {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
  await using fixture = await startFixture(
    { tables: [note(12)], clock },
    { clock, settings: { pageRows: 5, follows: true } },
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
  const settings = { ...twoWaySettings(), follows: true };
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

test('an origin that does not count is followed, and deletes wait for the sweep', async () => {
  const { fixture } = await start();
  await using _ = fixture;
  const body = JSON.stringify({ error: 400, code: 3100, message: 'Column does not exist' });
  fixture.sandbox.answerInstead(
    1,
    { status: 400, headers: { 'Content-Type': 'application/json' }, body },
    { method: 'select' },
  );
  fixture.sandbox.store.update('Note', 3, { Title: 'new' });
  fixture.sandbox.store.delete('Note', 7);

  const report = await fixture.pull({ follow: true });

  expect(report.tables).toMatchObject([{ updatedCount: 1, deletedCount: 0 }]);
});
