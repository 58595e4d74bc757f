/**
 * What users and colleagues do with a row between its sending and its settling: whoever is written over is kept, and the last word of a user
 * stays.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { atOrigin, codesOf, countsOf, here, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

function conflicts(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", local, remote, winner FROM sync_conflicts ORDER BY id');
}

/** Pushes up to the answer, and ends before the rows are read back. */
async function sendOnly(fixture: Fixture): Promise<void> {
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

test('a cell that is put back to what it was, after it was sent, outlasts a pull that comes before the answer is settled', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);

  await fixture.pull();

  expect(here(fixture, ['Body'])[0]).toEqual([1, null]);
  await pushNow(fixture);
  expect(atOrigin(fixture, ['Body'])[0]).toEqual([1, null]);
  expect(await captured(fixture)).toEqual([]);
});

test('a row that was put back so, and is deleted at the origin, waits for its answer too', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);
  fixture.sandbox.store.delete('Note', 1);

  await fixture.pull();

  expect(here(fixture, ['Title'])[0]).toEqual([1, 'title 1']);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  expect(codesOf(await pushNow(fixture))).toEqual([]);
  await fixture.pull();
  expect(here(fixture, ['Title'])).toHaveLength(5);
});

test('a new row whose match value a colleague gives to one that was sent, and put back since, waits until that one is settled', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  let rereadCount = 0;

  const report = await pushNow(fixture, {
    settings: { batchLimits: { rowsMax: 1, bytesMax: 100_000 } },
    before: (step) => {
      if (step === 'reread') rereadCount += 1;
      if (step !== 'reread' || rereadCount !== 2) return;
      fixture.execute(`UPDATE "Note" SET "Body" = NULL WHERE _id = 1`);
      fixture.sandbox.store.update('Note', 1, { Code: 'n1' });
    },
  });

  expect(codesOf(report)).toEqual([]);
  expect(fixture.rows('SELECT row_id, reason FROM sync_failures')).toEqual([
    { row_id: -2, reason: 'row 1 has the same match value at the origin, and was sent, and waits for an answer' },
  ]);
  expect(atOrigin(fixture, ['Body', 'Code'])[0]).toEqual([1, null, 'n1']);
});

test.each([
  ['an edit', `UPDATE "Note" SET "Body" = 'mine' WHERE "Code" = 'n1'`, 'cell'],
  ['a delete', `DELETE FROM "Note" WHERE "Code" = 'n1'`, 'deletedHere'],
])(
  'what a colleague wrote into the row that an insert met is kept where %s goes over it',
  async (_what, edit, kind) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    const meet = (): void => {
      fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'n1', Body: 'colleague' });
      fixture.execute(edit);
    };
    fixture.sandbox.before(1, meet, { method: 'upsert' });

    await pushNow(fixture);

    expect(conflicts(fixture)).toMatchObject([
      { column: 'Code' },
      { kind, remote: expect.stringContaining('colleague') as string, winner: 'local' },
    ]);
  },
);

test.each([
  ['an edit', `UPDATE "Note" SET "Body" = 'b' WHERE _id = 1`, { kind: 'cell', local: 'b', remote: null }],
  ['a delete', `DELETE FROM "Note" WHERE _id = 1`, { kind: 'deletedHere' }],
])('that a colleague emptied what was just sent is kept where %s goes over it', async (_what, edit, conflict) => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'a' WHERE _id = 1`);
  let isDone = false;

  await pushNow(fixture, {
    before: (step) => {
      if (step !== 'readBack' || isDone) return;
      isDone = true;
      fixture.sandbox.store.update('Note', 1, { Body: null });
      fixture.execute(edit);
    },
  });

  expect(conflicts(fixture)).toMatchObject([{ ...conflict, winner: 'local' }]);
});

test.each(['answered', 'lost'])(
  'a row that is put back while its delete is on its way is created anew (%s)',
  async (end) => {
    await using fixture = await startTwoWay();
    if (end === 'lost') setFaults(fixture, [{ fault: 'resetAfter', method: 'delete', nth: 1 }]);
    fixture.execute(`CREATE TABLE kept AS SELECT * FROM "Note" WHERE _id = 6; DELETE FROM "Note" WHERE _id = 6`);
    const putBack = (): void =>
      fixture.execute(
        `INSERT INTO "Note" (_id, "Title", "Code", "Count") SELECT _id, "Title", "Code", "Count" FROM kept`,
      );
    fixture.sandbox.before(1, putBack, { method: 'delete' });

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toMatchObject({ deleted: 1, inserted: 1 });
    expect(atOrigin(fixture, ['Title', 'Code', 'Count']).at(-1)).toEqual([7, 'title 6', 'c6', 6]);
    expect(here(fixture, ['Title'])).toHaveLength(6);
    expect(await captured(fixture)).toEqual([]);
  },
);

/** Where a delete was not taken, and the origin has the row: no answer comes, or it says that it has no such row. */
const NOT_TAKEN: readonly (readonly [string, (fixture: Fixture) => void])[] = [
  ['without an answer', (fixture) => setFaults(fixture, [{ fault: 'resetBefore', method: 'delete', nth: 1 }])],
  [
    'as if it had no such row',
    ({ sandbox }) => {
      const body = JSON.stringify({ error: 404, code: 4000, message: 'not found' });
      const headers = { 'Content-Type': 'application/json' };
      sandbox.answerInstead(1, { status: 404, headers, body }, { method: 'delete' });
    },
  ],
];

describe.each(NOT_TAKEN)('a delete that the origin did not take, %s', (_how, refuse) => {
  test('lets the row be what the origin says, where somebody put it back here', async () => {
    await using fixture = await startTwoWay();
    fixture.execute('CREATE TABLE kept AS SELECT * FROM "Note" WHERE _id = 1; DELETE FROM "Note" WHERE _id = 1');
    refuse(fixture);
    await sendOnly(fixture);
    fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
    fixture.execute('INSERT INTO "Note" SELECT * FROM kept');

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(here(fixture, ['Body'])).toEqual(atOrigin(fixture, ['Body']));
    expect(conflicts(fixture)).toEqual([]);
    expect(await captured(fixture)).toEqual([]);
  });

  test('is a conflict with what a colleague wrote meanwhile', async () => {
    await using fixture = await startTwoWay();
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    refuse(fixture);
    await sendOnly(fixture);
    fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ conflict: 1 });
    expect(here(fixture, ['Body'])).toEqual(atOrigin(fixture, ['Body']));
    expect(fixture.rows('SELECT row_id, kind, winner FROM sync_conflicts')).toEqual([
      { row_id: 1, kind: 'deletedHere', winner: 'origin' },
    ]);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
  });

  test('takes no value from a column that has another one’s name by now', async () => {
    await using fixture = await startTwoWay();
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    refuse(fixture);
    await sendOnly(fixture);
    const swapNames = (step: string): void => {
      if (step !== 'readBack') return;
      const { store } = fixture.sandbox;
      store.renameColumn('Note', 'Title', 'between');
      store.renameColumn('Note', 'Body', 'Title');
      store.renameColumn('Note', 'between', 'Body');
    };

    const report = await pushNow(fixture, { before: swapNames });

    expect(codesOf(report)).toEqual(['push.shape']);
    expect(conflicts(fixture)).toEqual([]);
  });
});

test.each([
  // What the origin took is lost to nobody.
  ['answered', 'mine', []],
  ['lost', 'mine', ['mine']],
  ['never taken', 'old', ['mine']],
])(
  'a cell whose column is hidden for a while behind its sending is not edited with that (%s)',
  async (end, body, lost) => {
    await using fixture = await startTwoWay();
    const { store } = fixture.sandbox;
    store.update('Note', 1, { Body: 'old' });
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Body" = 'mine', "Count" = 9 WHERE _id = 1`);
    const fault = end === 'lost' ? 'resetAfter' : 'resetBefore';
    if (end !== 'answered') setFaults(fixture, [{ fault, method: 'update', nth: 1 }]);
    await sendOnly(fixture);
    store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Body']] });
    const { role } = store.user;
    store.changeUser({ role: 'Half' });
    await fixture.pull();
    store.changeUser({ role });
    await fixture.pull();

    const report = await pushNow(fixture);
    await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Body', 'Count'])[0]).toEqual([1, body, 9]);
    expect(here(fixture, ['Body', 'Count'])).toEqual(atOrigin(fixture, ['Body', 'Count']));
    expect(fixture.rows('SELECT "column", local, winner FROM sync_conflicts')).toEqual(
      lost.map((local) => ({ column: 'Body', local, winner: 'origin' })),
    );
  },
);

test.each([
  ['a new row', `INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'sent')`, null],
  ['an update', `UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`, 'old'],
])('a cell of %s that is put back on its way is kept where its column is hidden then', async (_what, edit, back) => {
  await using fixture = await startTwoWay();
  const { store } = fixture.sandbox;
  store.update('Note', 1, { Body: 'old' });
  await fixture.pull();
  fixture.execute(edit);
  await sendOnly(fixture);
  fixture.execute(`UPDATE "Note" SET "Body" = ${back === null ? 'NULL' : `'${back}'`} WHERE "Body" = 'sent'`);
  const { role } = store.user;
  store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Body']] });
  store.changeUser({ role: 'Half' });
  await fixture.pull();
  const kept = fixture.rows('SELECT "column", base, local, remote, winner FROM sync_conflicts');
  store.changeUser({ role });
  await fixture.pull();
  await pushNow(fixture);
  await pushNow(fixture);
  await fixture.pull();

  expect(kept).toEqual([{ column: 'Body', base: 'sent', local: back, remote: 'sent', winner: 'origin' }]);
  expect(here(fixture, ['Body'])).toEqual(atOrigin(fixture, ['Body']));
  expect(await captured(fixture)).toEqual([]);
});

test('a row that is deleted while its update is on its way, of which the origin says that it has no such row, is deleted there', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`);
  const body = JSON.stringify({ error: 404, code: 4000, message: 'not found' });
  const headers = { 'Content-Type': 'application/json' };
  fixture.sandbox.answerInstead(1, { status: 404, headers, body }, { method: 'update' });
  const before = (step: string): void => {
    if (step === 'readBack') fixture.execute('DELETE FROM "Note" WHERE _id = 1');
  };

  const report = await pushNow(fixture, { before });

  expect(codesOf(report)).toEqual([]);
  expect(countsOf(report)).toEqual({ deleted: 1 });
  expect(atOrigin(fixture, ['Title'])[0]).toEqual([2, 'title 2']);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
});

test('an update of which the origin says that it has no such row goes again with what is left of it, where a colleague wrote one of its cells meanwhile', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine', "Count" = 8 WHERE _id = 1`);
  const body = JSON.stringify({ error: 404, code: 4000, message: 'not found' });
  const headers = { 'Content-Type': 'application/json' };
  fixture.sandbox.answerInstead(1, { status: 404, headers, body }, { method: 'update' });
  const before = (step: string): void => {
    if (step === 'readBack') fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
  };

  await pushNow(fixture, { before });

  expect(atOrigin(fixture, ['Body', 'Count'])[0]).toEqual([1, 'theirs', 8]);
  expect(fixture.rows('SELECT local, winner FROM sync_conflicts')).toEqual([{ local: 'mine', winner: 'origin' }]);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
  expect(await captured(fixture)).toEqual([]);
});

test('an update of which the origin says that it has no such row goes again with what is left of it, where a column of it is hidden by then', async () => {
  await using fixture = await startTwoWay();
  const { store } = fixture.sandbox;
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine', "Count" = 8 WHERE _id = 1`);
  const body = JSON.stringify({ error: 404, code: 4000, message: 'not found' });
  const headers = { 'Content-Type': 'application/json' };
  fixture.sandbox.answerInstead(1, { status: 404, headers, body }, { method: 'update' });
  await sendOnly(fixture);
  store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Body']] });
  store.changeUser({ role: 'Half' });
  await fixture.pull();

  await pushNow(fixture);

  expect(atOrigin(fixture, ['Body', 'Count'])[0]).toEqual([1, null, 8]);
  expect(conflicts(fixture)).toMatchObject([{ row_id: 1, column: 'Body', local: 'mine', winner: 'origin' }]);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
  expect(await captured(fixture)).toEqual([]);
});
