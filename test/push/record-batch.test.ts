/** Rows that were read again at the origin become a recorded batch, or wait with a reason. */
import { expect, test } from 'vitest';
import type { IdBlock, PushStep } from '../../src/push/context.ts';
import { readBlock } from '../../src/push/find-rows.ts';
import { recordBatch } from '../../src/push/record-batch.ts';
import { readBatches } from '../../src/replica/bookkeeping/batches.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import {
  atOrigin,
  changesSent,
  codesOf,
  countsOf,
  here,
  openPush,
  pushNow,
  unreadableAnswer,
  type PushChoice,
} from '../support/push.ts';
import { capture, startTwoWay, twoWayTable } from '../support/two-way.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Fixture } from '../support/replica.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", status, reason, retry_at FROM sync_failures ORDER BY row_id');
}

/** Reads rows at the origin and records them; what does not fit comes back as `rest`. */
async function record(
  fixture: Fixture,
  block: IdBlock,
  { choice, leaving = [] }: { readonly choice?: PushChoice; readonly leaving?: readonly string[] } = {},
) {
  await capture(fixture);
  const run = openPush(fixture, choice);
  const rest: IdBlock[] = [];
  const round = {
    confirmed: false,
    isLast: false,
    leaving: [new Set(leaving)],
    putBack: (left: IdBlock) => void rest.push(left),
  };
  const recorded = await recordBatch(run, await readBlock(run, block), round);
  return { batch: recorded?.batch ?? null, rest: rest.flatMap(({ ids }) => ids), round, run };
}

/** Rows with their state and the batches that are kept. */
function recordedHere(fixture: Fixture): unknown {
  return {
    states: fixture
      .rows('SELECT row_id, state FROM _rowsync_rows ORDER BY row_id')
      .map((row) => Object.values<unknown>(row as Record<string, unknown>)),
    batchCount: fixture.rows('SELECT * FROM _rowsync_batches').length,
  };
}

test('edited rows are kept with the cells that leave, before they leave', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(
    `UPDATE "Note" SET "Title" = 'x', "Count" = NULL WHERE _id = 1; UPDATE "Note" SET "Done" = 1 WHERE _id = 2`,
  );

  const { batch, rest } = await record(fixture, { kind: 'update', ids: [1, 2] });

  const [title, count, done] = ['Title', 'Count', 'Done'].map((name) =>
    twoWayTable(fixture).columns.findIndex((column) => column.name === name),
  );
  expect(batch).toMatchObject({
    method: 'update',
    rows: [
      {
        id: 1,
        kind: 'update',
        cells: [
          { column: title, value: 'x' },
          { column: count, value: null },
        ],
        answer: null,
      },
      { id: 2, kind: 'update', cells: [{ column: done, value: true }], answer: null },
    ],
  });
  expect(rest).toEqual([]);
  expect(recordedHere(fixture)).toEqual({
    states: [
      [1, 'sending'],
      [2, 'sending'],
    ],
    batchCount: 1,
  });
  expect(readBatches(fixture.replica, twoWayTable(fixture))).toMatchObject([{ method: 'update', rows: batch?.rows }]);
  expect(changesSent(fixture)).toEqual([]);
});

test('what was edited after it was read leaves as it is now, and what was put back does not leave', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);
  const before = (step: PushStep): void => {
    if (step === 'record')
      fixture.execute(`UPDATE "Note" SET "Title" = CASE _id WHEN 1 THEN 'y' ELSE 'title 2' END WHERE _id < 3`);
  };

  const { batch } = await record(fixture, { kind: 'update', ids: [1, 2] }, { choice: { before } });

  expect(batch?.rows.map(({ id, cells }) => [id, cells.map(({ value }) => value)])).toEqual([[1, ['y']]]);
});

test('a row that a colleague changed in the same way is merged, and does not leave', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'x', Body: 'theirs' });

  const { batch } = await record(fixture, { kind: 'update', ids: [1] });

  expect(batch).toBeNull();
  expect(recordedHere(fixture)).toEqual({ states: [], batchCount: 0 });
  expect(here(fixture, ['Title', 'Body'])[0]).toEqual([1, 'x', 'theirs']);
});

test('an edit of a row that was deleted at the origin is kept as a conflict, and does not leave', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2`);
  for (const id of [1, 2]) fixture.sandbox.store.delete('Note', id);

  const updates = await record(fixture, { kind: 'update', ids: [1] }, { choice: { options: { conflict: 'ask' } } });
  const deletes = await record(fixture, { kind: 'delete', ids: [2] });

  expect([updates.batch, deletes.batch]).toEqual([null, null]);
  expect(fixture.rows(`SELECT row_id, kind, local ->> 'Title' AS title FROM sync_conflicts`)).toEqual([
    { row_id: 1, kind: 'deletedThere', title: 'x' },
  ]);
});

test('rows beyond the size of a request are given back as they are', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
  const settings = { batchLimits: { rowsMax: 2 } };

  const { batch, rest } = await record(fixture, { kind: 'update', ids: [1, 2, 3, 4, 5, 6] }, { choice: { settings } });

  expect([batch?.rows.map(({ id }) => id), rest]).toEqual([
    [1, 2],
    [3, 4, 5, 6],
  ]);
  expect(recordedHere(fixture)).toMatchObject({
    states: [1, 2, 3, 4, 5, 6].map((id) => [id, id < 3 ? 'sending' : 'edited']),
  });
});

test('a row that was not answered before leaves alone', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
  await capture(fixture);
  const run = openPush(fixture);
  run.tally.limits.set(3, 1);
  const putBack: IdBlock[] = [];
  const round = { confirmed: false, isLast: false, leaving: [], putBack: (block: IdBlock) => void putBack.push(block) };

  const recorded = await recordBatch(run, await readBlock(run, { kind: 'update', ids: [3, 4] }), round);

  expect([recorded?.batch.rows.map(({ id }) => id), putBack]).toEqual([[3], [{ kind: 'update', ids: [4] }]]);
});

test('a new row without a match value gets one before it leaves, so that sending it again is the same', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);

  const { batch, round } = await record(fixture, { kind: 'insert', ids: [-2] });

  const [{ Code: code }] = fixture.rows('SELECT "Code" FROM "Note" WHERE _id = -2') as [{ Code: string }];
  expect(code).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(batch).toMatchObject({ method: 'upsert', rows: [{ cells: [{ value: 'new' }, { value: code }] }] });
  expect(round.leaving.at(-1)).toEqual(new Set([code]));
});

test('a new row whose match value is on its way waits, and stays edited', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('a', 'N1'), ('b', 'n2')`);

  const { batch } = await record(fixture, { kind: 'insert', ids: [-2, -3] }, { leaving: ['n1'] });

  expect(batch?.rows.map(({ id }) => id)).toEqual([-3]);
  expect(recordedHere(fixture)).toMatchObject({
    states: [
      [-3, 'sending'],
      [-2, 'edited'],
    ],
  });
});

test('of two new rows that one row of the origin may be, the first is merged with it, and the second waits', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('a', 'n1'), ('b', 'n1')`);
  const theirs = fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'n1' });

  const { batch } = await record(fixture, { kind: 'insert', ids: [-2, -3] });

  expect(batch).toBeNull();
  expect(here(fixture, ['Title'])).toEqual(
    expect.arrayContaining([
      [-3, 'b'],
      [theirs, 'theirs'],
    ]),
  );
  expect(fixture.rows('SELECT row_id, "column", local, remote FROM sync_conflicts')).toEqual([
    { row_id: theirs, column: 'Title', local: 'a', remote: 'theirs' },
  ]);
});

test.each<[string, string, PushStep, (fixture: Fixture) => void]>([
  [
    'missing rows that a guard holds',
    'guard.deletes',
    'reread',
    ({ sandbox: { store } }) => [1, 2, 3, 4].forEach((id) => store.delete('Note', id)),
  ],
  [
    'a trigger of another program that is made meanwhile',
    'replica.failed',
    'record',
    (fixture) => fixture.execute(`CREATE TRIGGER theirs AFTER UPDATE ON "Note" BEGIN SELECT RAISE(IGNORE); END`),
  ],
])('nothing is written where the batch is stopped by %s', async (_what, code, at, stop) => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 5`);
  const before = (step: PushStep): void => {
    if (step === at) stop(fixture);
  };

  const recording = record(fixture, { kind: 'update', ids: [1, 2, 3, 4] }, { choice: { before } });

  await expect(recording).rejects.toMatchObject({ code });
  expect(recordedHere(fixture)).toEqual({ states: [1, 2, 3, 4].map((id) => [id, 'edited']), batchCount: 0 });
  expect(here(fixture, ['Title']).slice(0, 4)).toEqual([1, 2, 3, 4].map((id) => [id, 'x']));
});

test('a match value that is made up fits into a narrow column', async () => {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Code', type: 'Text', width: 20, options: ['Unique', 'Required'] },
  ] as const;
  await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns }], editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('one'), ('two')`);

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ inserted: 2 });
  expect(atOrigin(fixture, ['Title', 'Code'])).toEqual([
    [1, 'one', expect.stringMatching(/^[\da-z]{20}$/)],
    [2, 'two', expect.stringMatching(/^[\da-z]{20}$/)],
  ]);
});

test('looks again for the match value of an insert that was edited while the origin was asked for the one before', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'x9' });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
  let isChanged = false;
  const before = (step: PushStep): void => {
    if (step !== 'record' || isChanged) return;
    isChanged = true;
    fixture.execute(`UPDATE "Note" SET "Code" = 'x9' WHERE _id < 0`);
  };

  await pushNow(fixture, { before });

  expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([[7, 'theirs', 'x9']]);
  expect(fixture.rows(`SELECT * FROM sync_conflicts`)).toMatchObject([{ local: 'mine', remote: 'theirs' }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('an edit of a row that cannot be read any more waits with that reason, and is sent once it can be', async () => {
  await using fixture = await startTwoWay(MATCHED);
  const unreadable = await unreadableAnswer(fixture, 2);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 2`);
  fixture.sandbox.answerInstead(1, unreadable, { method: 'retrieve' });

  const report = await pushNow(fixture);

  expect(report.tables).toMatchObject([{ account: { began: 1, unsendable: 1 } }]);
  const reason = expect.stringContaining('a value that cannot be read') as unknown;
  expect(failures(fixture)).toMatchObject([{ row_id: 2, kind: 'update', status: null, reason }]);
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 61_000 };
  expect(countsOf(await pushNow(fixture, { clock }))).toEqual({ updated: 1 });
});

test('adds up the rows that are missing at the origin, over all batches of a push', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
  for (const id of [1, 2, 3, 4]) fixture.sandbox.store.delete('Note', id);

  const held = await pushNow(fixture, { settings: { batchLimits: { rowsMax: 2, bytesMax: 100_000 } } });

  expect(codesOf(held)).toEqual(['guard.deletes']);
  expect(here(fixture, ['Title']).map((row) => (row as unknown[])[0])).toEqual([3, 4, 5, 6]);
});
