/** Rows that the origin refuses: they are parked with its words, the others continue, and nothing is lost. */
import { describe, expect, test } from 'vitest';
import type { Fixture } from '../support/replica.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow } from '../support/push.ts';
import { startTwoWay, dropCaptureTriggers } from '../support/two-way.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", status, reason, retry_at FROM sync_failures ORDER BY row_id');
}

describe('a row that the origin refuses', () => {
  test('is parked with its words and values, and holds no other row up', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'fine' WHERE _id = 1`);
    fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'taken' });
    fixture.execute(`UPDATE "Note" SET "Code" = 'taken' WHERE _id = 2`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ updated: 1, refused: 1, parked: 1 });
    expect(failures(fixture)).toMatchObject([{ row_id: 2, kind: 'update', status: 400 }]);
    expect(fixture.rows('SELECT sent FROM sync_failures')).toEqual([{ sent: '{"Code":"taken"}' }]);
    expect(here(fixture, ['Code'])[1]).toEqual([2, 'taken']);
  });

  test('is not sent again by itself', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'taken' });
    fixture.execute(`UPDATE "Note" SET "Code" = 'taken' WHERE _id = 2`);
    await pushNow(fixture);
    fixture.sandbox.requests.clear();

    const report = await pushNow(fixture);

    expect(changesSent(fixture)).toEqual([]);
    expect(countsOf(report)).toEqual({ parked: 1 });
  });

  test.each([
    ['edited', `UPDATE "Note" SET "Code" = 'free' WHERE _id = 2`, { updated: 1 }, [2, 'free']],
    ['edited elsewhere', `UPDATE "Note" SET "Title" = 'x' WHERE _id = 2`, { refused: 1, parked: 1 }, [2, 'c2']],
    ['deleted', 'DELETE FROM "Note" WHERE _id = 2', { deleted: 1 }, [3, 'c3']],
  ])('and was %s on its way goes on as it stands by then', async (_what, edit, counts, second) => {
    await using fixture = await startTwoWay();
    fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'taken' });
    fixture.execute(`UPDATE "Note" SET "Code" = 'taken' WHERE _id = 2`);
    fixture.sandbox.before(1, () => fixture.execute(edit), { method: 'update' });

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual(counts);
    expect(changesSent(fixture)).toHaveLength(2);
    expect(atOrigin(fixture, ['Code'])[1]).toEqual(second);
  });

  test('is sent again when it is edited, and then forgotten', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'taken' });
    fixture.execute(`UPDATE "Note" SET "Code" = 'taken' WHERE _id = 2`);
    await pushNow(fixture);
    fixture.execute(`UPDATE "Note" SET "Code" = 'free' WHERE _id = 2`);

    await pushNow(fixture);

    expect(failures(fixture)).toEqual([]);
    expect(atOrigin(fixture, ['Code'])[1]).toEqual([2, 'free']);
  });
});

test('a refused row is tried again where the origin’s version takes the place of an edit that may have been wrong', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Code" = 'c2', "Title" = 'mine' WHERE _id = 1`);
  await pushNow(fixture);
  const parked = fixture.rows('SELECT row_id FROM sync_failures');
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
  await fixture.pull();
  const stillParked = countsOf(await pushNow(fixture));
  fixture.sandbox.store.update('Note', 1, { Code: 'theirs' });
  await fixture.pull();

  expect(countsOf(await pushNow(fixture))).toEqual({ updated: 1 });

  expect({ parked, stillParked }).toEqual({ parked: [{ row_id: 1 }], stillParked: { parked: 1 } });
  expect(atOrigin(fixture, ['Title', 'Code'])[0]).toEqual([1, 'mine', 'theirs']);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
});

test.each([
  ['is mended', `UPDATE "Note" SET "Code" = 'mended' WHERE _id = 1`, { updated: 1 }],
  ['is deleted', 'DELETE FROM "Note" WHERE _id = 1', { deleted: 1 }],
])('a refused row that %s while our triggers are gone is tried again', async (_, edit, counts) => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Code" = 'c2' WHERE _id = 1`);
  await pushNow(fixture);
  const parked = fixture.rows('SELECT row_id FROM sync_failures');
  dropCaptureTriggers(fixture);
  fixture.execute(edit);
  await fixture.pull();

  expect(countsOf(await pushNow(fixture))).toEqual(counts);

  expect(parked).toEqual([{ row_id: 1 }]);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
});

test('a refused row that REPLACE removes for a unique index of the user’s is deleted at once', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(
    `CREATE UNIQUE INDEX mine ON "Note" ("Title"); UPDATE "Note" SET "Code" = 'c2', "Title" = 'x' WHERE _id = 1`,
  );
  await pushNow(fixture);
  const parked = fixture.rows('SELECT row_id FROM sync_failures');
  fixture.execute(`UPDATE OR REPLACE "Note" SET "Title" = 'x' WHERE _id = 2`);

  expect(countsOf(await pushNow(fixture))).toEqual({ updated: 1, deleted: 1 });

  expect(parked).toEqual([{ row_id: 1 }]);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
});

test('deletes that wait go on waiting where another client drops their table, which is made again', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  const { origin } = fixture;
  const errors = [{ error: 403, code: 7, message: 'not this one', source: null }];
  fixture.origin = {
    ...origin,
    delete: () => Promise.resolve([{ status: 403, id: 1, key: null, errors }]),
  };
  fixture.execute(`DELETE FROM "Note" WHERE _id = 1`);
  await pushNow(fixture);
  fixture.execute(`DELETE FROM "Note" WHERE _id = 2`);
  fixture.sandbox.store.update('Note', 2, { Count: 8 });
  await fixture.pull();

  fixture.execute(`DROP TABLE "Note"`);
  await fixture.pull();

  expect(here(fixture, ['Title']).map((row) => (row as unknown[])[0])).toEqual([3, 4, 5, 6]);
  expect(failures(fixture)).toMatchObject([{ row_id: 1, kind: 'delete', reason: 'not this one' }]);
  expect(fixture.rows('SELECT row_id, kind, state FROM sync_conflicts')).toEqual([
    { row_id: 2, kind: 'deletedHere', state: 'open' },
  ]);
});

test.each([
  ['narrower', { width: 50 }, { width: 20 }, `UPDATE "Note" SET "Title" = '${'x'.repeat(30)}' WHERE _id = 1`],
  ['required', {}, { options: ['Required'] }, `UPDATE "Note" SET "Code" = NULL WHERE _id = 1`],
] as const)(
  'a row that was refused while a column was %s is sent once the column is as it was',
  async (_what, before, meanwhile, edit) => {
    await using fixture = await startTwoWay();
    const { store } = fixture.sandbox;
    const column = 'width' in meanwhile ? 'Title' : 'Code';
    store.changeColumn('Note', column, before);
    await fixture.pull();
    fixture.execute(edit);
    store.changeColumn('Note', column, meanwhile);
    await fixture.pull();
    const first = await pushNow(fixture);
    store.changeColumn('Note', column, { width: 50, options: [] });
    await fixture.pull();

    const second = await pushNow(fixture);

    expect([countsOf(first), countsOf(second)]).toEqual([{ refused: 1, parked: 1 }, { updated: 1 }]);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
  },
);
