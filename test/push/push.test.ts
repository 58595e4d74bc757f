/**
 * A push against a sandbox: what leaves, what is settled, and what is kept. What an earlier push left behind is settled
 * before a pull.
 */
import { describe, expect, test } from 'vitest';
import type { PushStep } from '../../src/push/context.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow, finishAndPull, previewNow } from '../support/push.ts';
import { captured, NOTE, startTwoWay, twoWayTable } from '../support/two-way.ts';
import { storeFacts } from '../../src/replica/bookkeeping/tables.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import type { Fixture } from '../support/replica.ts';

describe.each([
  ['with a match column', 'Code'],
  ['without a match column', null],
])('a push %s', (_what, match) => {
  test('carries an update, an insert and a delete to the origin', async () => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'edited', "Count" = 7 WHERE _id = 1`);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code", "Done") VALUES ('new', 'n1', 1)`);
    fixture.execute(`DELETE FROM "Note" WHERE _id = 3`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ inserted: 1, updated: 1, deleted: 1 });
    expect(atOrigin(fixture, ['Title', 'Code', 'Count', 'Done'])).toEqual([
      [1, 'edited', 'c1', 7, true],
      [2, 'title 2', 'c2', 2, false],
      [4, 'title 4', 'c4', 4, false],
      [5, 'title 5', 'c5', 5, true],
      [6, 'title 6', 'c6', 6, false],
      [7, 'new', 'n1', null, true],
    ]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
    expect(await captured(fixture)).toEqual([]);
  });

  test('sends nothing when it is repeated', async () => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
    await pushNow(fixture);
    fixture.sandbox.requests.clear();

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({});
    expect(changesSent(fixture)).toEqual([]);
  });

  test('leaves nothing for the next pull to write', async () => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
    await pushNow(fixture);

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ insertedCount: 0, updatedCount: 0, deletedCount: 0 }]);
    expect(here(fixture, ['Title']).length).toBe(7);
  });
});

test('goes to no other database', async () => {
  await using fixture = await startTwoWay();
  await using other = await startTwoWay({ database: '777' });
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);

  const report = await pushNow({ ...fixture, origin: other.origin });

  expect(codesOf(report)).toEqual(['replica.otherDatabase']);
  expect(changesSent(other)).toEqual([]);
});

test.each([
  ['a new row, in a cell that was not sent', `INSERT INTO "Note" ("Title") VALUES ('new')`, 7, null],
  ['a new row, in a cell that was sent', `INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'sent')`, 7, 'sent'],
  ['a changed row', `UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`, 1, 'sent'],
])(
  'what somebody writes into %s before it is read back is in conflict with an edit of it here',
  async (...testCase) => {
    const [, statement, id, base] = testCase;
    await using fixture = await startTwoWay();
    fixture.execute(statement);
    let isFirst = true;
    const before = (step: PushStep): void => {
      if (step !== 'readBack' || !isFirst) return;
      isFirst = false;
      fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id IN (${id}, -2)`);
      fixture.sandbox.store.update('Note', id, { Body: 'theirs' });
    };

    await pushNow(fixture, { before });

    expect(atOrigin(fixture, ['Body'])).toContainEqual([id, 'theirs']);
    expect(fixture.rows('SELECT row_id, "column", base, local, remote, winner FROM sync_conflicts')).toEqual([
      { row_id: id, column: 'Body', base, local: 'mine', remote: 'theirs', winner: 'origin' },
    ]);
  },
);

test.each([
  ['a new row', `INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'sent')`, 7],
  ['a changed row', `UPDATE "Note" SET "Body" = 'sent' WHERE _id = 1`, 1],
])('what somebody writes into %s before it is read back is in conflict with its delete here', async (...testCase) => {
  const [, statement, id] = testCase;
  await using fixture = await startTwoWay();
  fixture.execute(statement);
  let isFirst = true;
  const before = (step: PushStep): void => {
    if (step !== 'readBack' || !isFirst) return;
    isFirst = false;
    fixture.execute(`DELETE FROM "Note" WHERE _id IN (${id}, -2)`);
    fixture.sandbox.store.update('Note', id, { Body: 'theirs' });
  };

  await pushNow(fixture, { before });

  expect(here(fixture, ['Body'])).toContainEqual([id, 'theirs']);
  expect(fixture.rows(`SELECT row_id, kind, remote ->> 'Body' AS body, winner FROM sync_conflicts`)).toEqual([
    { row_id: id, kind: 'deletedHere', body: 'theirs', winner: 'origin' },
  ]);
});

test('what a push deleted is no row that the next pull misses', async () => {
  await using fixture = await startTwoWay({ pageRows: 3 });
  fixture.execute(`DELETE FROM "Note" WHERE _id > 2`);
  await pushNow(fixture, { confirm: true });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ held: null, rowCount: 2, deletedCount: 0 }]);
});

test.each([
  ['no key', (text: string) => text.replace(' PRIMARY KEY', '')],
  ['no types', (text: string) => text.replace(/ STRICT$/, '')],
])('sends nothing of a table that was rebuilt with %s, until it is itself again', async (_what, damage) => {
  await using fixture = await startTwoWay();
  const [{ sql }] = fixture.rows(`SELECT sql FROM sqlite_schema WHERE name = 'Note'`) as [{ sql: string }];
  fixture.execute(
    `PRAGMA legacy_alter_table = ON; ${damage(sql).replace('"Note"', '"rebuilt"')}; INSERT INTO "rebuilt" SELECT * FROM "Note";
     DROP TABLE "Note"; ALTER TABLE "rebuilt" RENAME TO "Note"; UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`,
  );

  const pushed = await pushNow(fixture);
  const pulled = await fixture.pull();
  fixture.execute(`DROP TABLE "Note"`);
  await fixture.pull();

  expect(codesOf(pushed)).toEqual(['replica.schema']);
  expect(pulled.tables.map(({ error }) => error?.code)).toEqual(['replica.schema']);
  expect(changesSent(fixture)).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a match value that went along is no edit, and a colleague who changes it is heard', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);

  await pushNow(fixture, {
    before: (step) => {
      if (step !== 'readBack') return;
      fixture.sandbox.store.update('Note', 1, { Code: 'theirs' });
      fixture.execute(`UPDATE "Note" SET "Code" = 'mine' WHERE _id = 1 AND "Code" = 'c1'`);
    },
  });

  expect(fixture.rows('SELECT "column", base, local, remote, winner FROM sync_conflicts')).toEqual([
    { column: 'Code', base: 'c1', local: 'mine', remote: 'theirs', winner: 'origin' },
  ]);
  expect(here(fixture, ['Title', 'Code'])[0]).toEqual([1, 'x', 'theirs']);
});

test('a row that takes over the unique value of a deleted one is refused before the delete, and created behind it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('again', 'c2')`);
  fixture.execute(`DELETE FROM "Note" WHERE _id = 2`);

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ inserted: 1, deleted: 1 });
  expect(changesSent(fixture)).toEqual(['create', 'delete', 'create']);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('who is calling and the columns of the first table are asked at once', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  const described = Promise.withResolvers<void>();
  fixture.sandbox.before(1, () => described.promise, { method: 'user' });
  fixture.sandbox.before(1, () => described.resolve(), { method: 'describe' });

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ updated: 1 });
});

test('while nobody knows who is calling, nothing is asked of the other tables, and none is blamed', async () => {
  const names = ['One', 'Two', 'Three'];
  await using fixture = await startTwoWay({ tables: names.map((name) => ({ ...NOTE, name })) });
  for (const name of names) fixture.execute(`UPDATE "${name}" SET "Title" = 'edited'`);
  fixture.sandbox.requests.clear();
  fixture.sandbox.answerInstead(1, { status: 401, body: '' }, { method: 'user' });

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual(['origin.unauthorized']);
  expect(fixture.sandbox.requests.all.map(({ method }) => method).toSorted()).toEqual(['describe', 'user']);
  expect(fixture.rows('SELECT DISTINCT problem FROM sync_status')).toEqual([{ problem: null }]);
});

test('a table that the credentials may not read keeps no other from being pushed', async () => {
  const names = ['One', 'Two'];
  await using fixture = await startTwoWay({ tables: names.map((name) => ({ ...NOTE, name })) });
  for (const name of names) fixture.execute(`UPDATE "${name}" SET "Title" = 'edited' WHERE _id = 1`);
  fixture.sandbox.answerInstead(1, { status: 403, body: '' }, { method: 'retrieve' });

  const report = await pushNow(fixture, { settings: { concurrency: 1 } });

  expect(codesOf(report)).toEqual(['origin.forbidden']);
  expect(report.tables).toMatchObject([
    { table: 'One', updatedCount: 0 },
    { table: 'Two', updatedCount: 1, error: null },
  ]);
});

/** A push that ends before its rows are read back, as with its process. */
async function pushUntilReadBack(fixture: Fixture): Promise<void> {
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

test('a table with rows on their way is not pulled before they are settled', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  await pushUntilReadBack(fixture);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

  const early = await fixture.pull();
  const former = here(fixture, ['Title'])[1];
  const later = await finishAndPull(fixture);

  expect(early.tables).toMatchObject([{ error: { code: 'pull.unsettled' } }]);
  expect(former).toEqual([1, 'title 1']);
  expect(later.tables).toMatchObject([{ error: null, held: null }]);
  expect(here(fixture, ['Title']).at(-1)).toEqual([7, 'new']);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a table with rows on their way does not keep the others from being pulled', async () => {
  const names = Array.from({ length: 9 }, (_, index) => `Other ${index + 1}`); // more than are read at once
  const others = names.map((name) => ({ ...NOTE, name, rows: [{ Title: 'one' }] }));
  await using fixture = await startTwoWay({ tables: [NOTE, ...others], editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  await pushUntilReadBack(fixture);
  for (const name of names) fixture.sandbox.store.update(name, 1, { Title: 'theirs' });

  const early = await fixture.pull();

  expect(early.tables.flatMap(({ error }) => error?.code ?? [])).toEqual(['pull.unsettled']);
  for (const name of names) expect(fixture.rows(`SELECT Title FROM "${name}"`)).toEqual([{ Title: 'theirs' }]);
});

test('a description that is refused once puts nothing in doubt: the row is looked up the next time', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  await pushUntilReadBack(fixture);
  fixture.sandbox.answerInstead(1, { status: 404, body: '' }, { method: 'describe' });

  const early = await finishAndPull(fixture);
  const later = await finishAndPull(fixture);

  expect(early.tables).toMatchObject([{ error: { code: 'pull.unsettled' } }]);
  expect(later.tables).toMatchObject([{ error: null, held: null }]);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
  expect(here(fixture, ['Title']).at(-1)).toEqual([7, 'new']);
});

describe('a two-way table without push in the configuration, before the next pull', () => {
  const off = { settings: { tableOptions: () => null } };

  test('holds its edits: a push sends none, and says so', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);

    const report = await pushNow(fixture, { ...off, confirm: true });

    expect(report.tables).toMatchObject([
      { table: 'Note', held: { code: 'guard.pending' }, waitingCount: 1, account: { began: 1, unsent: 1 } },
    ]);
    expect(changesSent(fixture)).toEqual([]);
    expect(await pushNow(fixture, { ...off, tables: ['Note'] })).toMatchObject({
      tables: [{ held: { code: 'guard.pending' } }],
    });
    expect(await previewNow(fixture, off)).toMatchObject([
      { table: 'Note', held: expect.stringContaining('push is switched off') as string },
    ]);
  });

  test('is no part of a push where nothing was edited', async () => {
    await using fixture = await startTwoWay();

    expect(await pushNow(fixture, off)).toMatchObject({ tables: [], error: null });
    await expect(pushNow(fixture, { ...off, tables: ['Note'] })).rejects.toMatchObject({ code: 'usage.invalid' });
  });
});

test('a table that is no longer at the origin holds its edits, and the origin is asked nothing about it', async () => {
  await using fixture = await startTwoWay();
  const mark = (state: 'gone' | 'steady'): unknown =>
    fixture.replica.write('Marking the table', (tx) => storeFacts(tx, twoWayTable(fixture).id, { state }));
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  await mark('gone');
  fixture.sandbox.requests.clear();

  const report = await pushNow(fixture, { tables: ['Note'] });

  expect(report.tables).toMatchObject([{ held: { code: 'guard.pending' }, waitingCount: 1, account: { unsent: 1 } }]);
  expect(report.tables[0]?.held?.message).toContain('no longer at the origin');
  expect(fixture.sandbox.requests.all).toEqual([]);
  expect(await previewNow(fixture)).toMatchObject([
    { table: 'Note', held: expect.stringContaining('no longer') as string },
  ]);

  await mark('steady');
  expect(await pushNow(fixture)).toMatchObject({ tables: [{ updatedCount: 1, held: null }] });
});

test('a table whose turn it is not is no part of a push', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);

  expect(await pushNow(fixture, { takes: () => false })).toMatchObject({ tables: [] });
  expect(await pushNow(fixture, { takes: (name) => name === 'Note' })).toMatchObject({ tables: [{ updatedCount: 1 }] });
});

test('a table that is no longer at the origin says so also where all of its edits were sent without an answer', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  await pushUntilReadBack(fixture);
  expect(fixture.rows('SELECT state FROM _rowsync_rows')).toEqual([{ state: 'sending' }]);
  await fixture.replica.write('Marking the table', (tx) => storeFacts(tx, twoWayTable(fixture).id, { state: 'gone' }));

  const report = await pushNow(fixture);

  expect(report.tables).toMatchObject([{ held: { code: 'guard.pending' }, waitingCount: 1 }]);
  expect(report.tables[0]?.account).toMatchObject({ unsent: 1, unsentReason: report.tables[0]?.held?.message });
  expect(await previewNow(fixture)).toMatchObject([{ held: expect.stringContaining('no longer') as string }]);
});
