/** What a push would do, row by row, without doing anything of it. */
import { expect, test } from 'vitest';
import { ADDS_OFF } from '../../src/reconcile/push-plan.ts';
import { codesOf, openPush, previewNow, pushNow, setFaults, type PushChoice } from '../support/push.ts';
import { recordBatch } from '../../src/push/record-batch.ts';
import { readBlock } from '../../src/push/find-rows.ts';
import type { Fixture } from '../support/replica.ts';
import { capture, dropCaptureTriggers, NOTE, startTwoWay } from '../support/two-way.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

/** Each row in short, in order: `update 1 sent update`. */
async function planned(fixture: Fixture, choice: PushChoice = {}): Promise<readonly string[]> {
  const previews = await previewNow(fixture, choice);
  return previews.flatMap(({ rows }) =>
    rows.map(({ kind, rowId, fate, method }) => `${kind} ${rowId} ${fate} ${method ?? ''}`.trim()),
  );
}

test('rows are in the order in which they leave, each cell under its name here with both values', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`DELETE FROM "Note" WHERE _id = 5;
    INSERT INTO "Note" ("Title", "Code") VALUES ('first', 'n1'); INSERT INTO "Note" ("Title") VALUES ('second');
    UPDATE "Note" SET "Title" = 'x', "Count" = NULL WHERE _id = 2`);

  expect(await planned(fixture)).toEqual([
    'update 2 sent update',
    'insert -2 sent upsert',
    'insert -3 sent upsert',
    'delete 5 sent delete',
  ]);
  const [preview] = await previewNow(fixture);
  expect(preview?.rows[0]).toEqual({
    rowId: 2,
    name: 'x',
    kind: 'update',
    fate: 'sent',
    method: 'update',
    reason: null,
    cells: [
      { column: 'Title', base: 'title 2', local: 'x' },
      { column: 'Count', base: 2, local: null },
    ],
  });
  expect(preview?.rows.map(({ name }) => name)).toEqual(['x', undefined, undefined, 'title 5']);
  expect(preview?.rows[1]?.cells).toEqual([
    { column: 'Title', base: null, local: 'first' },
    { column: 'Code', base: null, local: 'n1' },
  ]);
});

test('nothing is written, and the origin is not asked', async () => {
  await using fixture = await startTwoWay(MATCHED);
  // An edit that was taken back, of which a push would forget the mark.
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3; UPDATE "Note" SET "Title" = 'title 2' WHERE _id = 2;
    INSERT INTO "Note" ("Title") VALUES ('new')`);
  const everything = (): unknown =>
    ['"Note"', '_rowsync_rows', '_rowsync_batches', '_rowsync_refusals', '_rowsync_tables'].map((table) =>
      fixture.rows(`SELECT * FROM ${table}`),
    );
  const before = everything();
  fixture.sandbox.requests.clear();

  expect(await planned(fixture)).toEqual(['update 1 sent update', 'insert -2 sent upsert']);

  expect(everything()).toEqual(before);
  expect(fixture.sandbox.requests.all).toEqual([]);
});

test('edits that another program made past our triggers are in the plan', async () => {
  await using fixture = await startTwoWay();
  dropCaptureTriggers(fixture);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2`);

  expect(await planned(fixture)).toEqual(['update 1 sent update', 'delete 2 sent delete']);
});

test('a table without an edit is left out', async () => {
  await using fixture = await startTwoWay({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  expect(await previewNow(fixture)).toEqual([]);

  fixture.execute(`UPDATE "Other" SET "Title" = 'x' WHERE _id = 1; UPDATE "Note" SET "Title" = "Title"`);

  expect((await previewNow(fixture)).map(({ table }) => table)).toEqual(['Other']);
});

test('a push sends as many requests as its plan says, where nothing changed at the origin', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3; DELETE FROM "Note" WHERE _id = 5;
    INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
  const [preview] = await previewNow(fixture);
  fixture.sandbox.requests.clear();

  await pushNow(fixture);

  const changing = new Set(['update', 'upsert', 'create', 'delete']);
  const [writes, reads] = [true, false].map(
    (isChanging) => fixture.sandbox.requests.all.filter(({ method }) => changing.has(method) === isChanging).length,
  );
  expect(preview).toMatchObject({ writeCallCount: writes, readCallCount: reads });
});

test('rows that wait say why, and come last', async () => {
  await using fixture = await startTwoWay({ editing: { match: null, conflict: 'ask' } });
  const { store } = fixture.sandbox;
  store.insert('Note', { Title: 'theirs', Code: 'taken' });
  fixture.execute(`UPDATE "Note" SET "Code" = 'taken' WHERE _id = 1; UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2;
    UPDATE "Note" SET "Photo" = 'file:none.jpg' WHERE _id = 3; INSERT INTO "Note" ("Title") VALUES ('lost')`);
  store.update('Note', 2, { Title: 'theirs' });
  setFaults(fixture, [{ fault: 'resetAfter', method: 'create' }]);
  await pushNow(fixture, { options: { conflict: 'ask' } });
  setFaults(fixture, []);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 6`);

  const lines = await planned(fixture);

  expect(lines[0]).toBe('update 6 sent update');
  expect(lines.slice(1).toSorted()).toEqual([
    'insert -2 inDoubt',
    'update 1 refused',
    'update 2 conflict',
    'update 3 unsendable',
  ]);
  const [preview] = await previewNow(fixture);
  const reasons = new Map(preview?.rows.map(({ rowId, reason }) => [rowId, reason]));
  expect(reasons.get(6)).toBeNull();
  for (const id of [1, 3, -2]) expect([id, reasons.get(id)]).toEqual([id, expect.stringMatching(/\w/)]);
});

test('a row that was sent and not settled is looked up first', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);
  await capture(fixture);
  const run = openPush(fixture);
  const block = await readBlock(run, { kind: 'update', ids: [1] });
  await recordBatch(run, block, { confirmed: false, isLast: false, leaving: [], putBack: () => undefined });

  expect(await planned(fixture)).toEqual(['update 2 sent update', 'update 1 unknown']);
});

test('of two new rows with one match value, the second leaves later', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('a', 'n'), ('b', 'N')`);

  expect(await planned(fixture)).toEqual(['insert -2 sent upsert', 'insert -3 later']);
});

test('new rows that the configuration refuses since the last pull are unsendable', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new'); UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);

  expect(await planned(fixture, { options: { inserts: false } })).toEqual([
    'update 1 sent update',
    'insert -2 unsendable',
  ]);
  const [preview] = await previewNow(fixture, { options: { inserts: false } });
  expect(preview?.rows.at(-1)?.reason).toBe(ADDS_OFF.reason);
});

test.each([
  ['changes more rows than allowed', `UPDATE "Note" SET "Title" = 'x'`, 'guard.pushRows', /--confirm/],
  ['deletes a larger share than allowed', `DELETE FROM "Note" WHERE _id < 5`, 'guard.pushDeletes', /--confirm/],
])('a plan that %s says that the push would wait, as the push does', async (_what, edit, code, words) => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(edit);
  const settings = { maxPushRows: 5 };

  const [preview] = await previewNow(fixture, { settings });

  expect(preview?.held).toMatch(words);
  expect(preview?.rows.every(({ fate }) => fate === 'sent')).toBe(true);
  const report = await pushNow(fixture, { settings });
  expect(codesOf(report)).toEqual([code]);
  expect(preview?.held).toContain(report.tables[0]?.held?.message);
});
