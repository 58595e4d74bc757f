/** Rows that left their page: they are deleted only on the word of the origin, and many only on that of a person. */
import { describe, expect, test } from 'vitest';
import type { PullSettings } from '../../src/pull/context.ts';
import { proveDeletes } from '../../src/pull/suspected-deletes.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { storeConfirmations } from '../../src/replica/confirmation.ts';
import { preparedTable, startFixture, type Fixture } from '../support/replica.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { pushNow } from '../support/push.ts';
import { startTwoWay } from '../support/two-way.ts';
import { notes, sides } from '../support/small-tables.ts';

const SMALL_PAGES = { settings: { pageRows: 5 } };

function selects(fixture: Fixture, status?: number): number {
  return fixture.sandbox.requests.count({ method: 'select', ...(status === undefined ? {} : { status }) });
}

test('follows inserts and deletes, and keeps the last values of what was deleted', async () => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  await fixture.pull();
  const [first, second] = fixture.sandbox.store.ids('Note');
  fixture.sandbox.store.delete('Note', first ?? 0);
  fixture.sandbox.store.delete('Note', second ?? 0);
  fixture.sandbox.store.insert('Note', { Title: 'late' });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ insertedCount: 1, deletedCount: 2, rowCount: 22, error: null });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
  expect(fixture.rows(`SELECT "table", row_id, last_values ->> 'Title' AS title FROM sync_deleted`)).toEqual([
    { table: 'Note', row_id: first, title: 'note 1' },
    { table: 'Note', row_id: second, title: 'note 2' },
  ]);
});

test('asks for a missing row by id before it deletes it', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, SMALL_PAGES);
  await fixture.pull();
  const gone = fixture.sandbox.store.ids('Note')[2] ?? 0;
  fixture.sandbox.store.delete('Note', gone);
  fixture.sandbox.answerInstead(
    1,
    { status: 403, headers: { 'Content-Type': 'application/json' }, body: '{"error":403,"code":4000,"message":"no"}' },
    { method: 'retrieve' },
  );

  const refused = await fixture.pull();
  const kept = fixture.rows('SELECT count(*) AS n FROM "Note"');
  const answered = await fixture.pull();

  expect(refused.tables[0]?.error).not.toBeNull();
  expect(kept).toEqual([{ n: 8 }]);
  expect(answered.tables[0]).toMatchObject({ deletedCount: 1, error: null });
});

test('stops for a person, once, when a table turns up empty, and goes on with the others', async () => {
  await using fixture = await startFixture({ tables: [notes(8), notes(3, 'Other')] }, SMALL_PAGES);
  await fixture.pull();
  for (const id of fixture.sandbox.store.ids('Note')) fixture.sandbox.store.delete('Note', id);
  fixture.sandbox.store.insert('Other', { Title: 'new' });

  const first = await fixture.pull();
  const again = await fixture.pull();

  const held = first.tables.find(({ table }) => table === 'Note');
  expect(held).toMatchObject({
    rowCount: 8,
    deletedCount: 0,
    error: null,
    held: { code: 'guard.deletes', exitCode: 3 },
  });
  expect(first.tables.find(({ table }) => table === 'Other')).toMatchObject({ rowCount: 4, held: null });
  expect(again.tables.find(({ table }) => table === 'Note')?.held?.code).toBe('guard.deletes');
  expect(fixture.rows(`SELECT state, rows FROM sync_status WHERE "table" = 'Note'`)).toEqual([
    { state: 'held', rows: 8 },
  ]);
  expect(fixture.sandbox.requests.count({ method: 'retrieve' })).toBe(0);
});

test.each([
  [1, 'Note: the origin no longer returns the only row; nothing was deleted here'],
  [2, 'Note: the origin no longer returns any of the 2 rows; nothing was deleted here'],
])('says of a table of %i rows that turns up empty what is missing', async (count, sentence) => {
  await using fixture = await startFixture({ tables: [notes(count)] });
  await fixture.pull();
  for (const id of fixture.sandbox.store.ids('Note')) fixture.sandbox.store.delete('Note', id);

  expect((await fixture.pull()).tables[0]?.held?.message).toBe(sentence);
});

test('applies held deletes once a person confirmed them', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, SMALL_PAGES);
  await fixture.pull();
  for (const id of fixture.sandbox.store.ids('Note').slice(0, 6)) fixture.sandbox.store.delete('Note', id);
  const held = await fixture.pull();

  const confirmed = await fixture.pull({ tables: ['note'], confirm: true });

  expect(held.tables[0]?.held?.code).toBe('guard.deletes');
  expect(confirmed.tables[0]).toMatchObject({ held: null, deletedCount: 6, rowCount: 2 });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
  expect(fixture.rows('SELECT state FROM sync_status')).toEqual([{ state: 'steady' }]);
});

test('forgets a held delete when the rows come back', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, SMALL_PAGES);
  await fixture.pull();
  const empty = { status: 200, headers: { 'Content-Type': 'application/json' }, body: '[]' };
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, empty, { method: 'select' });
  const held = await fixture.pull();

  const back = await fixture.pull();

  expect(held.tables[0]).toMatchObject({ rowCount: 8, held: { code: 'guard.deletes' } });
  expect(back.tables[0]).toMatchObject({ rowCount: 8, held: null, deletedCount: 0 });
  expect(fixture.rows('SELECT state, problem FROM sync_status')).toEqual([{ state: 'steady', problem: null }]);
});

test('trusts no ETag after the role changed, and lets its deletes wait for a person', async () => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  await fixture.pull();
  fixture.sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Reader' });
  fixture.sandbox.store.delete('Note', fixture.sandbox.store.ids('Note')[0] ?? 0);
  fixture.sandbox.requests.clear();

  const changed = await fixture.pull();
  const unchangedCount = selects(fixture, 304);
  const confirmed = await fixture.pull({ confirm: true });

  expect(unchangedCount).toBe(0);
  expect(changed.tables[0]).toMatchObject({ deletedCount: 0, rowCount: 23, held: { code: 'guard.deletes' } });
  expect(confirmed.tables[0]).toMatchObject({ deletedCount: 1, rowCount: 22, held: null });
});

test('deletes a row that was on no page when it was last seen', async () => {
  const settings = { pageRows: 5, concurrency: 1, tableOptions: () => ({ sort: ['Title'] }) };
  await using fixture = await startFixture({ tables: [notes(13)] }, { settings });
  await fixture.pull();
  const { store } = fixture.sandbox;
  const ids = store.ids('Note');
  const [second, last] = [ids[1] ?? 0, ids.at(-1) ?? 0];
  // Between two pages the last row goes to the front and one of the front to the end: no page seems to shift.
  fixture.sandbox.before(
    2,
    () => {
      store.update('Note', last, { Title: 'a' });
      store.update('Note', second, { Title: 'z' });
    },
    { method: 'select' },
  );
  const hidden = await fixture.pull();
  const here = readReplica(fixture.path);
  store.delete('Note', last);

  const report = await fixture.pull();

  expect(hidden.tables).toMatchObject([{ error: null, rowCount: 13, deletedCount: 0 }]);
  expect(here['Note']?.find(({ _id }) => _id === BigInt(last))).toMatchObject({ Title: 'a' });
  expect(report.tables).toMatchObject([{ error: null, rowCount: 12, deletedCount: 1 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('stops for nobody because of rows that a push made between an interrupted pull and the next', async () => {
  await using fixture = await startTwoWay();
  const stop = new AbortController();
  fixture.sandbox.store.delete('Note', 6);
  fixture.sandbox.before(1, () => stop.abort(), { method: 'retrieve' });
  await fixture.pull({ signal: stop.signal });
  for (let code = 0; code < 9; code += 1) fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new ${code}')`);
  await pushNow(fixture);
  const states: unknown[] = [];
  fixture.sandbox.before(1, () => states.push(...fixture.rows('SELECT state, problem FROM sync_status')), {
    method: 'select',
  });

  const report = await fixture.pull();

  expect(states).toEqual([{ state: 'steady', problem: null }]);
  expect(report.tables).toMatchObject([{ held: null, deletedCount: 1, rowCount: 14 }]);
});

describe('rows that are asked for outside of a sweep', () => {
  /** Asks for rows by id; whether all that are gone were deleted, and what became of the rows. */
  async function prove(fixture: Fixture, ids: readonly number[], settings: Partial<PullSettings> = {}) {
    const context = fixture.context(settings);
    const table = await preparedTable(fixture, context);
    const counts = { insertedCount: 0, updatedCount: 0, deletedCount: 0, filteredCount: 0 };
    const isSettled = await proveDeletes(
      { context, table, counts: { ...counts, pagesReadCount: 0, pagesNotModifiedCount: 0 } },
      ids,
    );
    return {
      isSettled,
      ids: fixture.rows('SELECT _id FROM "Note" ORDER BY _id').map((row) => (row as { _id: number })._id),
    };
  }

  test('are deleted if the origin does not return them, in whichever order they are named', async () => {
    await using fixture = await startFixture({ tables: [notes(8)] });
    await fixture.pull();
    for (const id of [2, 7]) fixture.sandbox.store.delete('Note', id);
    fixture.sandbox.store.update('Note', 5, { Title: 'changed' });

    expect(await prove(fixture, [7, 5, 2, 7])).toEqual({ isSettled: true, ids: [1, 3, 4, 5, 6, 8] });
    expect(fixture.rows('SELECT row_id FROM sync_deleted ORDER BY 1')).toEqual([{ row_id: 2 }, { row_id: 7 }]);
    expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 5')).toEqual([{ Title: 'changed' }]);
  });

  test.each([
    [50, true, [5, 6, 7, 8]],
    [49, false, [1, 2, 3, 4, 5, 6, 7, 8]],
  ])('stay together where they are more than %i %% of the table allow', async (maxDeletePercent, isSettled, ids) => {
    await using fixture = await startFixture({ tables: [notes(8)] });
    await fixture.pull();
    for (const id of [1, 2, 3, 4]) fixture.sandbox.store.delete('Note', id);

    expect(await prove(fixture, [1, 2, 3, 4], { maxDeletePercent })).toEqual({ isSettled, ids });
  });

  test('are asked for block by block', async () => {
    await using fixture = await startFixture({ tables: [notes(510)] });
    await fixture.pull();
    for (const id of [3, 505]) fixture.sandbox.store.delete('Note', id);
    fixture.sandbox.requests.clear();

    const { isSettled, ids } = await prove(
      fixture,
      Array.from({ length: 510 }, (_, index) => 510 - index),
    );

    expect([isSettled, ids.length, fixture.sandbox.requests.count({ method: 'retrieve' })]).toEqual([true, 508, 2]);
  });

  test('stay if the calling user changed meanwhile, who may see fewer rows', async () => {
    await using fixture = await startFixture({ tables: [notes(8)] });
    await fixture.pull();
    fixture.sandbox.store.delete('Note', 2);
    fixture.sandbox.before(1, () => fixture.sandbox.store.changeUser({ id: 4711 }), { method: 'retrieve' });

    await expect(prove(fixture, [2])).rejects.toMatchObject({ code: 'origin.moving' });

    expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 8 }]);
    expect(fixture.rows('SELECT * FROM sync_deleted')).toEqual([]);
  });

  test('cost no request if there are none, and no question about the caller if all are there', async () => {
    await using fixture = await startFixture({ tables: [notes(8)] });
    await fixture.pull();
    fixture.sandbox.requests.clear();

    expect(await prove(fixture, [])).toMatchObject({ isSettled: true });
    expect(await prove(fixture, [1, 2])).toMatchObject({ isSettled: true, ids: [1, 2, 3, 4, 5, 6, 7, 8] });

    expect(fixture.sandbox.requests.all.map(({ method }) => method)).toEqual(['retrieve']);
  });
});

test('an edit of a row that is gone is kept with its values', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2`);
  fixture.sandbox.store.delete('Note', 2);

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ deletedCount: 1, rowCount: 5, error: null }]);
  expect(fixture.rows(`SELECT row_id, kind, local ->> 'Title' AS title FROM sync_conflicts`)).toEqual([
    { row_id: 2, kind: 'deletedThere', title: 'mine' },
  ]);
});

test('a person who agrees to fewer rows than are missing lets none go', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, SMALL_PAGES);
  await fixture.pull();
  const ids = fixture.sandbox.store.ids('Note');
  for (const id of ids.slice(0, 5)) fixture.sandbox.store.delete('Note', id);
  await fixture.pull();
  await fixture.replica.write('Agreeing', (tx) => storeConfirmations(tx, ['pull'], readTables(tx)));
  fixture.sandbox.store.delete('Note', ids[5] ?? 0);

  const more = await fixture.pull();
  const confirmed = await fixture.pull({ confirm: true });

  expect(more.tables).toMatchObject([{ held: { code: 'guard.deletes' }, deletedCount: 0, rowCount: 8 }]);
  expect(confirmed.tables).toMatchObject([{ held: null, deletedCount: 6, rowCount: 2 }]);
});
