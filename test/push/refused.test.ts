/**
 * What the origin does not take: rows, whole batches, a user without rights, answers that prove nothing. The rows at fault are
 * parked with the origin's words, the others continue, and nothing is lost.
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import type { Origin } from '../../src/origin/client.ts';
import { ADDS_FORBIDDEN, ADDS_OFF } from '../../src/reconcile/push-plan.ts';
import type { PushStep } from '../../src/push/context.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import type { Fixture } from '../support/replica.ts';
import {
  atOrigin,
  changesSent,
  codesOf,
  countsOf,
  finishAndPull,
  here,
  pushNow,
  setFaults,
  unreadableAnswer,
} from '../support/push.ts';
import { NOTE, captured, startTwoWay, swapNames, twoWayTable } from '../support/two-way.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", status, reason, retry_at FROM sync_failures ORDER BY row_id');
}

/** Takes away what sees edits, as some programs do that rebuild a table. */
function dropCaptureTriggers(fixture: Fixture): void {
  const names = fixture.rows(
    `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`,
  ) as readonly { readonly name: string }[];
  for (const { name } of names) fixture.execute(`DROP TRIGGER "${name}"`);
}

/** From now on the origin refuses every update as a whole that has a row with this title; null for every one. */
function refuseWhole(
  fixture: Fixture,
  status: number,
  title: string | null,
): { readonly update: Origin['update']; length: number } {
  const { origin } = fixture;
  const update: Origin['update'] = (request, options) => origin.update(request, options);
  const attempts = { update, length: 0 };
  const refusing: Origin['update'] = async (request, options) => {
    attempts.length += 1;
    const isBad = request.rows.some(({ cells }) => cells.some(({ value }) => title === null || value === title));
    if (!isBad) return update(request, options);
    const refusal = { status, code: 7, words: 'no', source: 'Title' };
    throw new RowsyncError('originRefused', 'origin.refused', { message: 'refused', hint: 'none', refusal });
  };
  fixture.origin = { ...fixture.origin, update: refusing };
  return attempts;
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

describe('a batch that is refused whole', () => {
  test.each([400, 403, 409, 413])('with %i is cut until the row at fault stands alone', async (status) => {
    await using fixture = await startTwoWay(MATCHED);
    refuseWhole(fixture, status, 'bad');
    fixture.execute(`UPDATE "Note" SET "Title" = CASE _id WHEN 4 THEN 'bad' ELSE 'good' END`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ updated: 5, refused: 1, parked: 1 });
    expect(failures(fixture)).toMatchObject([{ row_id: 4, status }]);
    expect(atOrigin(fixture, ['Title']).map((row) => (row as unknown[])[1])).toEqual([
      'good',
      'good',
      'good',
      'title 4',
      'good',
      'good',
    ]);
  });

  test('with 413 for each of many large rows holds no smaller one up', async () => {
    await using fixture = await startTwoWay(MATCHED);
    refuseWhole(fixture, 413, 'large');
    fixture.execute(`UPDATE "Note" SET "Title" = iif(_id < 5, 'large', 'good')`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ updated: 2, refused: 4, parked: 4 });
  });

  test('for every row stops the table after a few requests, and parks none', async () => {
    await using fixture = await startTwoWay(MATCHED);
    const attempts = refuseWhole(fixture, 403, null);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual(['push.forbidden']);
    expect(countsOf(report)).toEqual({ waiting: 6 });
    expect(attempts.length).toBeLessThan(12);
    expect(fixture.rows('SELECT problem FROM sync_status')).toMatchObject([
      { problem: expect.stringContaining('refuses') as unknown },
    ]);
    fixture.origin = { ...fixture.origin, update: attempts.update };
    expect(countsOf(await pushNow(fixture))).toEqual({ updated: 6 });
    expect(fixture.rows('SELECT problem FROM sync_status')).toEqual([{ problem: null }]);
  });
});

test('a token that loses its right to write in the middle stops the table; the rest waits', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
  const { role } = fixture.sandbox.store.user;
  fixture.sandbox.before(
    2,
    () => fixture.sandbox.store.setRole({ name: role, canWrite: false, hiddenTables: [], hiddenColumns: [] }),
    {
      method: 'update',
    },
  );

  const report = await pushNow(fixture, { settings: { batchLimits: { rowsMax: 2, bytesMax: 100_000 } } });

  expect(codesOf(report)).toEqual(['push.forbidden']);
  expect(countsOf(report)).toEqual({ updated: 2, waiting: 4 });
  expect(failures(fixture)).toEqual([]);
});

describe('an answer that proves nothing', () => {
  const answers: readonly (readonly [string, unknown])[] = [
    ['too few statuses', [{ status: 200, id: 1 }]],
    ['too many statuses', [1, 2, 3].map((id) => ({ status: 200, id }))],
    [
      'statuses in another order',
      [
        { status: 200, id: 2 },
        { status: 200, id: 1 },
      ],
    ],
    ['no list of statuses', { status: 200 }],
  ];

  test.each(answers)('(%s) settles no row that was not taken', async (_what, body) => {
    await using fixture = await startTwoWay({ editing: { match: null } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);
    fixture.sandbox.answerInstead(
      1,
      { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) },
      { method: 'update' },
    );

    await pushNow(fixture);
    const second = await pushNow(fixture);

    expect(codesOf(second)).toEqual([]);
    expect(atOrigin(fixture, ['Title']).slice(0, 2)).toEqual([
      [1, 'x'],
      [2, 'x'],
    ]);
    expect(await captured(fixture)).toEqual([]);
  });
});

describe('a guard', () => {
  test('holds a mass edit until a person confirms it', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

    const held = await pushNow(fixture, { settings: { maxPushRows: 5 } });

    expect(codesOf(held)).toEqual(['guard.pushRows']);
    expect(changesSent(fixture)).toEqual([]);
    expect(countsOf(await pushNow(fixture, { settings: { maxPushRows: 5 }, confirm: true }))).toEqual({ updated: 6 });
  });

  test('holds 10,000 deletes by a slip', async () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => ({ Title: `title ${index}`, Code: `c${index}` }));
    await using fixture = await startTwoWay({ ...MATCHED, tables: [{ ...NOTE, rows }] });
    fixture.execute(`DELETE FROM "Note"`);

    const held = await pushNow(fixture);

    expect(codesOf(held)).toEqual(['guard.pushDeletes']);
    expect(fixture.sandbox.store.ids('Note')).toHaveLength(10_000);
    expect(held.tables).toMatchObject([{ waitingCount: 10_000 }]);
  });

  test('adds up the rows that are missing at the origin, over all batches of a push', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
    for (const id of [1, 2, 3, 4]) fixture.sandbox.store.delete('Note', id);

    const held = await pushNow(fixture, { settings: { batchLimits: { rowsMax: 2, bytesMax: 100_000 } } });

    expect(codesOf(held)).toEqual(['guard.deletes']);
    expect(here(fixture, ['Title']).map((row) => (row as unknown[])[0])).toEqual([3, 4, 5, 6]);
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

describe('before anything is sent', () => {
  test('workflow rules are not suppressed by a user who may not', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.sandbox.store.changeUser({ admin: [] });
    await fixture.pull(); // so that it is the permission that is missed, and not the change that is noticed
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

    const report = await pushNow(fixture, { options: { workflow: 'suppress' } });

    expect(codesOf(report)).toEqual(['push.workflow']);
    expect(changesSent(fixture)).toEqual([]);
  });

  test('another user is noticed', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.sandbox.store.changeUser({ id: 4711 });
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual(['push.identity']);
    expect(changesSent(fixture)).toEqual([]);
  });

  test('a renamed column is noticed', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.sandbox.store.renameColumn('Note', 'Title', 'Headline');
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual(['push.shape']);
    await fixture.pull();
    expect(countsOf(await pushNow(fixture))).toEqual({ updated: 6 });
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });

  test('columns that gave each other their aliases are noticed, since values are sent by these', async () => {
    await using fixture = await startTwoWay(MATCHED);
    const { store } = fixture.sandbox;
    const aliases = new Map(twoWayTable(fixture).columns.map(({ name, alias }) => [name, alias]));
    store.changeColumn('Note', 'Title', { alias: 'between' });
    store.changeColumn('Note', 'Body', { alias: aliases.get('Title') ?? '' });
    store.changeColumn('Note', 'Title', { alias: aliases.get('Body') ?? '' });
    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);

    const report = await pushNow(fixture);
    await fixture.pull();
    const next = await pushNow(fixture);

    expect([codesOf(report), codesOf(next)]).toEqual([['push.shape'], []]);
    expect(atOrigin(fixture, ['Title', 'Body']).at(0)).toEqual([1, 'x', null]);
  });

  test.each(['reread', 'readBack'] as const)(
    'columns that swap their names right before the %s are noticed',
    async (at) => {
      await using fixture = await startTwoWay(MATCHED);
      fixture.execute(`UPDATE "Note" SET "Title" = 'x', "Body" = 'y' WHERE _id = 1`);
      fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'body')`);
      let isSwapped = false;
      const before = (step: PushStep): void => {
        if (step !== at || isSwapped) return;
        isSwapped = true;
        swapNames(fixture);
      };

      const report = await pushNow(fixture, { before });

      expect(codesOf(report)).toEqual(['push.shape']);
      expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id < 2 ORDER BY _id')).toEqual([
        { Title: 'new', Body: 'body' },
        { Title: 'x', Body: 'y' },
      ]);
      await finishAndPull(fixture);
      await pushNow(fixture);
      expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id IN (1, 7) ORDER BY _id')).toEqual([
        { Title: 'y', Body: 'x' },
        { Title: 'body', Body: 'new' },
      ]);
      expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
      expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
    },
  );

  test('no "not modified" vouches for columns whose row came back other than it was sent', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x', "Body" = 'y' WHERE _id = 1`);
    const before = (step: PushStep): void => {
      if (step !== 'readBack') return;
      swapNames(fixture);
      fixture.sandbox.answerInstead(1, { status: 304, body: '' }, { method: 'describe' });
    };

    const report = await pushNow(fixture, { before });

    expect(codesOf(report)).toEqual(['origin.unexpected']);
    expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'x', Body: 'y' }]);
    await finishAndPull(fixture);
    await pushNow(fixture);
    expect(fixture.rows('SELECT 1 FROM sync_conflicts')).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });

  test('an origin that is down leaves everything as it is', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
    setFaults(fixture, [{ fault: 'resetBefore' }]);

    const report = await pushNow(fixture);

    expect(report.error?.kind).toBe('originDown');
    setFaults(fixture, []);
    expect(countsOf(await pushNow(fixture))).toEqual({ updated: 6 });
  });

  test('a row that waited long enough is tried again', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
    const body = JSON.stringify([{ status: 429, id: 1, errors: [{ error: 429, code: 0, message: 'busy' }] }]);
    fixture.sandbox.answerInstead(
      1,
      { status: 200, headers: { 'Content-Type': 'application/json' }, body },
      { method: 'update' },
    );
    expect(countsOf(await pushNow(fixture))).toEqual({ refused: 1, parked: 1 });

    expect(countsOf(await pushNow(fixture))).toEqual({ parked: 1 });
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 61_000 };
    expect(countsOf(await pushNow(fixture, { clock }))).toEqual({ updated: 1 });
  });

  test('a new row is tried again by itself, once its caller may have got the right to add rows', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);
    const { origin } = fixture;
    const describeTable: Origin['describeTable'] = async (table, options) => {
      const answer = await origin.describeTable(table, { ...options, etag: undefined });
      return answer.kind === 'ok' ? { ...answer, value: { ...answer.value, allowAdd: false } } : answer;
    };
    fixture.origin = { ...origin, describeTable };
    expect(countsOf(await pushNow(fixture))).toEqual({ refused: 1, parked: 1 });
    expect(failures(fixture)).toMatchObject([{ row_id: -2, reason: ADDS_FORBIDDEN.reason }]);
    fixture.origin = origin;

    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 61 * 60_000 };
    expect(countsOf(await pushNow(fixture, { clock }))).toEqual({ inserted: 1 });
  });

  test('a new row that the configuration refuses waits for a person, and no time is named', async () => {
    await using fixture = await startTwoWay(MATCHED);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);

    expect(countsOf(await pushNow(fixture, { options: { inserts: false } }))).toEqual({ refused: 1, parked: 1 });

    expect(failures(fixture)).toMatchObject([{ row_id: -2, reason: ADDS_OFF.reason, retry_at: null }]);
    expect(countsOf(await pushNow(fixture))).toEqual({ parked: 1 });
    await fixture.pull();
    expect(countsOf(await pushNow(fixture))).toEqual({ inserted: 1 });
  });
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
