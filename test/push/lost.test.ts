/**
 * Answers that never come: after each method, with and without a column that identifies rows. Whatever happened at the
 * origin, nothing is there twice and nothing is lost.
 */
import { describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import type { FaultName } from '../../src/sandbox/server/faults.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import type { Fixture } from '../support/replica.ts';
import {
  atOrigin,
  changesSent,
  codesOf,
  countsOf,
  finishAndPull,
  here,
  pushContext,
  pushNow,
  setFaults,
} from '../support/push.ts';
import { AT, captured, NOTE, startTwoWay } from '../support/two-way.ts';
import { createLogger } from '../../src/base/log.ts';
import { finishPushes } from '../../src/push/push.ts';

/** What a user does, the method that carries it, and what the origin has afterwards. */
const EDITS: readonly (readonly [string, string | null, string, string, (titles: readonly unknown[]) => void])[] = [
  [
    'update',
    'Code',
    'an update',
    `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`,
    (titles) => expect(titles).toEqual(['x', 'title 2', 'title 3', 'title 4', 'title 5', 'title 6']),
  ],
  [
    'upsert',
    'Code',
    'an insert',
    `INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`,
    (titles) => expect(titles.filter((title) => title === 'x')).toHaveLength(1),
  ],
  [
    'upsert',
    'Code',
    'an insert without a match value',
    `INSERT INTO "Note" ("Title") VALUES ('x')`,
    (titles) => expect(titles.filter((title) => title === 'x')).toHaveLength(1),
  ],
  [
    'update',
    'Code',
    'a moved match value',
    `UPDATE "Note" SET "Code" = 'moved', "Title" = 'x' WHERE _id = 1`,
    (titles) => expect(titles[0]).toBe('x'),
  ],
  [
    'update',
    null,
    'an update',
    `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`,
    (titles) => expect(titles[0]).toBe('x'),
  ],
  ['delete', 'Code', 'a delete', `DELETE FROM "Note" WHERE _id = 1`, (titles) => expect(titles).toHaveLength(5)],
  ['delete', null, 'a delete', `DELETE FROM "Note" WHERE _id = 1`, (titles) => expect(titles).toHaveLength(5)],
];

const FAULTS: readonly FaultName[] = ['resetAfter', 'truncated', 'resetBefore', 'html', 'failure'];

function titlesOf(fixture: Fixture): readonly unknown[] {
  return atOrigin(fixture, ['Title']).map((row) => (row as readonly unknown[])[1]);
}

describe.each(FAULTS)('with the fault %s', (fault) => {
  test.each(EDITS)('in %s (match %s), %s happens exactly once', async (method, match, _what, statement, check) => {
    await using fixture = await startTwoWay({ editing: { match } });
    fixture.execute(statement);
    setFaults(fixture, [{ fault, method, nth: 1 }]);

    await pushNow(fixture);
    const second = await pushNow(fixture);

    expect(codesOf(second)).toEqual([]);
    check(titlesOf(fixture));
    expect(await captured(fixture)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
    await fixture.pull();
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });
});

test('is found at once when the origin answers again, without another request that changes something', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ inserted: 1 });
  expect(changesSent(fixture)).toEqual(['upsert']);
  expect(here(fixture, ['Title']).at(-1)).toEqual([7, 'x']);
});

test.each<[FaultName, string | null, string, Record<string, number>]>([
  ['resetBefore', 'Code', `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`, { updated: 1 }],
  ['resetAfter', 'Code', `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`, { updated: 1 }],
  ['resetBefore', null, `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`, { updated: 1 }],
  ['resetAfter', null, `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`, { updated: 1 }],
  ['resetBefore', 'Code', `INSERT INTO "Note" ("Title") VALUES ('x')`, { inserted: 1 }],
  ['resetBefore', null, `DELETE FROM "Note" WHERE _id = 1`, { deleted: 1 }],
])('after %s (match %s) the report counts once what the origin took: %s', async (fault, match, statement, counts) => {
  await using fixture = await startTwoWay({ editing: { match } });
  fixture.execute(statement);
  setFaults(
    fixture,
    ['upsert', 'update', 'delete'].map((method) => ({ fault, method, nth: 1 })),
  );

  expect(countsOf(await pushNow(fixture))).toEqual(counts);
});

test('an update that a colleague’s delete met instead is counted as none', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  setFaults(fixture, [{ fault: 'resetBefore', method: 'update', nth: 1 }]);
  fixture.sandbox.before(1, () => fixture.sandbox.store.delete('Note', 1), { method: 'update' });

  expect(countsOf(await pushNow(fixture))).toEqual({ conflict: 1 });
});

describe('a create without a match value', () => {
  const insert = `INSERT INTO "Note" ("Title", "Count") VALUES ('x', 9)`;

  test('is in doubt at once, and never sent again on a guess', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(insert);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);

    const report = await pushNow(fixture);
    await pushNow(fixture);

    expect(countsOf(report)).toEqual({ inDoubt: 1, parked: 1 });
    expect(changesSent(fixture)).toEqual(['create']);
    expect(fixture.rows('SELECT "table", row_id, kind, sent FROM sync_failures')).toEqual([
      { table: 'Note', row_id: -2, kind: 'inDoubt', sent: '{"Title":"x","Count":9}' },
    ]);
    expect(here(fixture, ['Title'])[0]).toEqual([-2, 'x']);
  });

  test('is in doubt, and keeps nothing else back, where only a user was sent', async () => {
    const columns = [{ name: 'Who', type: 'User', options: ['Unique'] }];
    await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns }] });
    fixture.execute(`INSERT INTO "Note" ("Who") VALUES ('jonas.weber@example.com')`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'create', nth: 1 }]);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ inDoubt: 1, parked: 1 });
  });
});

describe('a new row that is looked for by another user than the one that sent it', () => {
  /**
   * Creates a row whose answer is lost permanently; afterwards the origin returns no such row, since it never was, or
   * is hidden.
   */
  async function loseCreate(
    fixture: Fixture,
    fault: FaultName,
    edit: string,
    clock: Clock = systemClock,
  ): Promise<void> {
    fixture.execute(`INSERT INTO "Note" ("Title", "Code", "Body") VALUES ('x', 'n1', 'b')`);
    setFaults(fixture, [{ fault, method: 'upsert', nth: 1 }]);
    const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
    await pushNow(fixture, {
      clock,
      before: (step) => {
        if (step === 'readBack') throw end;
      },
    });
    fixture.execute(edit);
    if (fault === 'resetAfter') fixture.sandbox.store.delete('Note', 7);
  }

  test.each([
    ['whose unique value was changed', `UPDATE "Note" SET "Code" = 'n2' WHERE "Code" = 'n1'`],
    ['whose unique value was emptied', `UPDATE "Note" SET "Code" = NULL WHERE "Code" = 'n1'`],
    ['of which a cell was emptied', `UPDATE "Note" SET "Body" = NULL WHERE "Code" = 'n1'`],
    ['that was deleted here', `DELETE FROM "Note" WHERE "Code" = 'n1'`],
    ['that stands here as it was sent', `SELECT 1`],
  ])('is in doubt, and never sent again on a guess, %s', async (_what, edit) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    await loseCreate(fixture, 'resetAfter', edit);
    fixture.sandbox.store.changeUser({ id: 4711 });
    await finishAndPull(fixture);

    const report = await pushNow(fixture);
    await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ parked: 1 });
    expect(changesSent(fixture)).toEqual(['upsert']);
    expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: -2, kind: 'inDoubt' }]);
  });

  test.each([
    ['', 0],
    [', and the clock was set back since it was sent', 3_600_000],
  ])('is in doubt, although a person let rows go that the origin does not show to that user%s', async (_what, ms) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + ms };
    await loseCreate(fixture, 'resetAfter', `UPDATE "Note" SET "Code" = 'n2' WHERE "Code" = 'n1'`, clock);
    fixture.sandbox.store.changeUser({ id: 4711 });
    fixture.sandbox.store.delete('Note', 3);
    await finishAndPull(fixture, { confirm: true });

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ parked: 1 });
    expect(changesSent(fixture)).toEqual(['upsert']);
  });

  test('is sent again once a person lets it', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    await loseCreate(fixture, 'resetBefore', `UPDATE "Note" SET "Title" = 'y' WHERE "Code" = 'n1'`);
    fixture.sandbox.store.changeUser({ id: 4711 });
    await finishAndPull(fixture);
    const doubted = await pushNow(fixture);
    const [failure] = fixture.rows('SELECT id FROM sync_failures') as { id: number }[];
    await carryOutDecision(fixture.replica, { kind: 'retry', ids: [failure?.id ?? 0] }, AT);

    const report = await pushNow(fixture);

    expect(countsOf(doubted)).toEqual({ parked: 1 });
    expect(countsOf(report)).toEqual({ inserted: 1 });
    expect(changesSent(fixture)).toEqual(['upsert', 'upsert']);
    expect(titlesOf(fixture).at(-1)).toBe('y');
  });

  // Nothing but the doubt tells of the row that stands at the origin, hidden, since there is no other answer to its
  // create.
  test.each([
    ['it is deleted here after that', `DELETE FROM "Note" WHERE "Code" = 'n1'`],
    ['it gets another unique value after that', `UPDATE "Note" SET "Code" = 'n2' WHERE "Code" = 'n1'`],
  ])('is listed, and not sent again, where %s', async (_what, edit) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    await loseCreate(fixture, 'resetAfter', `UPDATE "Note" SET "Body" = 'file' WHERE "Code" = 'n1'`);
    fixture.sandbox.store.changeUser({ id: 4711 });
    await finishAndPull(fixture);
    await pushNow(fixture);
    fixture.execute(edit);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(changesSent(fixture)).toEqual(['upsert']);
    expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: -2, kind: 'inDoubt' }]);
  });
});

test('a new row that a caller does not find who is not known to see all rows is in doubt', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.sandbox.store.changeUser({ id: 4711 });
  fixture.sandbox.store.delete('Note', 3);
  await fixture.pull(); // deletes of another caller are held
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
  // Purged in place of hidden: no list of deleted rows has it.
  fixture.sandbox.before(2, () => fixture.sandbox.store.delete('Note', 7, { purge: true }), { method: 'select' });

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ inDoubt: 1, parked: 1 });
  expect(changesSent(fixture)).toEqual(['upsert']);
});

test('keeps an edit that was made while the answer got lost', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'first' WHERE _id = 1`);
  setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
  fixture.sandbox.before(1, () => fixture.execute(`UPDATE "Note" SET "Title" = 'second' WHERE _id = 1`), {
    method: 'update',
  });

  await pushNow(fixture);

  expect(titlesOf(fixture)[0]).toBe('second');
  expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
});

test('deletes at the origin a row that was deleted here while its create was on its way', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
  fixture.sandbox.before(1, () => fixture.execute(`DELETE FROM "Note" WHERE "Code" = 'n1'`), { method: 'upsert' });

  await pushNow(fixture);

  expect(titlesOf(fixture)).toHaveLength(6);
  expect(here(fixture, ['Title'])).toHaveLength(6);
});

describe('a row that was sent before the calling user changed', () => {
  /**
   * Sends what was edited and ends before the read-back; then another user calls, and the row is not among those that
   * it is shown.
   */
  async function sendAndChangeUser(fixture: Fixture, id: number): Promise<void> {
    const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
    await pushNow(fixture, {
      before: (step) => {
        if (step === 'readBack') throw end;
      },
    });
    fixture.sandbox.store.setRole({ name: 'Other', canWrite: true, hiddenTables: [], hiddenColumns: [] });
    fixture.sandbox.store.changeUser({ role: 'Other' });
    fixture.sandbox.store.delete('Note', id);
  }

  test('leaves the replica with the consent of a person only, though it was made by the push', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    await sendAndChangeUser(fixture, 7);

    await finishAndPull(fixture);
    await pushNow(fixture);
    const held = await finishAndPull(fixture);

    expect(held.tables).toMatchObject([{ held: { code: 'guard.deletes' } }]);
    expect(here(fixture, ['Title']).at(-1)).toEqual([7, 'x']);
    await finishAndPull(fixture, { confirm: true });
    expect(here(fixture, ['Title'])).toHaveLength(6);
    expect((await finishAndPull(fixture)).tables).toMatchObject([{ held: null }]);
  });

  test('is settled once a person gave it up', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
    await sendAndChangeUser(fixture, 1);

    const held = await finishAndPull(fixture);
    const stopped = await pushNow(fixture);
    await finishAndPull(fixture, { confirm: true });
    const report = await pushNow(fixture);

    expect(held.tables).toMatchObject([{ held: { code: 'guard.deletes' } }]);
    expect(codesOf(stopped)).toEqual(['guard.deletes']);
    expect(codesOf(report)).toEqual([]);
    expect((await finishAndPull(fixture)).tables).toMatchObject([{ held: null, error: null }]);
    expect(here(fixture, ['Title'])).toHaveLength(5);
  });
});

describe('a new row that the origin refuses to be asked for', () => {
  const insertNamed = `INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`;

  test.each([['by its match value', 'Code', 'upsert', insertNamed]])(
    '%s waits for a person and holds no other row up',
    async (_what, match, method, statement) => {
      await using fixture = await startTwoWay({ editing: { match } });
      fixture.execute(statement);
      setFaults(fixture, [{ fault: 'resetAfter', method, nth: 1 }]);
      const body = JSON.stringify({ error: 400, code: 3200, message: 'the filter cannot be computed', source: null });
      const headers = { 'Content-Type': 'application/json;charset=utf-8' };
      const before = (step: string): void => {
        if (step !== 'readBack') return;
        fixture.sandbox.answerInstead(1, { status: 400, headers, body }, { method: 'select' });
      };

      expect(countsOf(await pushNow(fixture, { before }))).toEqual({ inDoubt: 1, parked: 1 });

      fixture.execute(`UPDATE "Note" SET "Title" = 'y' WHERE _id = 1`);
      expect(countsOf(await pushNow(fixture))).toEqual({ updated: 1, parked: 1 });
      expect(changesSent(fixture).slice(0, 1)).toEqual([method]);
      expect(titlesOf(fixture).filter((title) => title === 'x')).toHaveLength(1);
    },
  );
});

describe.each([
  ['gets another value here', `UPDATE "Note" SET "Code" = 'n2' WHERE _id < 0`],
  ['is deleted here', `DELETE FROM "Note" WHERE _id < 0`],
])('a create that never arrived and whose row %s', (_what, statement) => {
  test.each(['origin', 'local'] as const)(
    'leaves the row alone that a colleague made with the former value: %s',
    async (conflict) => {
      await using fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
      fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
      setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
      const theirs = [{ Title: 'theirs', Code: 'n1' }];
      const before = (step: string): void => {
        if (step !== 'store') return;
        for (const row of theirs.splice(0)) {
          fixture.sandbox.store.insert('Note', row);
          fixture.execute(statement);
        }
      };

      for (let round = 0; round < 2; round += 1) await pushNow(fixture, { before, options: { conflict } });

      expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([[7, 'theirs', 'n1']]);
      const reason = expect.stringContaining('row 7 has its match value, but not all that was sent') as unknown;
      expect(fixture.rows('SELECT kind, reason FROM sync_failures')).toEqual([{ kind: 'inDoubt', reason }]);
    },
  );
});

test('a create that arrived follows its row to another value, as long as nobody else wrote there', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
  setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
  const edits = [`UPDATE "Note" SET "Code" = 'n2' WHERE _id < 0`];
  const before = (step: string): void => {
    if (step === 'store') for (const statement of edits.splice(0)) fixture.execute(statement);
  };

  for (let round = 0; round < 2; round += 1) await pushNow(fixture, { before });

  expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([[7, 'mine', 'n2']]);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
});

describe('a new row whose answer got lost, and that a colleague deleted before it was looked up,', () => {
  async function pushDeleted(fixture: Fixture): Promise<ReturnType<typeof pushNow>> {
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
    fixture.sandbox.before(
      2, // the first looks whether the match value is free
      () => fixture.sandbox.store.delete('Note', 7),
      { method: 'select' },
    );
    return pushNow(fixture);
  }

  test('is in doubt, and not created again', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });

    const report = await pushDeleted(fixture);

    expect(countsOf(report)).toEqual({ inDoubt: 1, parked: 1 });
    expect(changesSent(fixture)).toEqual(['upsert']);
    expect(fixture.rows('SELECT kind, reason FROM sync_failures')).toMatchObject([
      { kind: 'inDoubt', reason: expect.stringContaining('was deleted there since') as unknown },
    ]);
  });

  test('is created again where the origin keeps no list of deleted rows', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    const refusal = JSON.stringify({ error: 403, code: 3000, message: 'Access denied' });
    const answer = { status: 403, headers: { 'Content-Type': 'application/json' }, body: refusal };
    fixture.sandbox.answerInstead(1, answer, { method: 'deleted' });

    expect(countsOf(await pushDeleted(fixture))).toEqual({ inserted: 1 });
  });

  test('is sent again if the deleted row was known here', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    fixture.sandbox.store.delete('Note', 3);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);

    expect(countsOf(await pushNow(fixture))).toEqual({ inserted: 1 });
  });
});

test.each(['readBack', 'settle'])(
  'a new row that was refused is sent again after a process that ended at %s, and is never in doubt',
  async (end) => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'c1')`);
    const before = (step: string): void => {
      if (step === end) throw new Error('the process ended');
    };
    await pushNow(fixture, { before });

    expect(countsOf(await pushNow(fixture))).toEqual({ refused: 1, parked: 1 });

    expect(changesSent(fixture)).toEqual(['create', 'create']);
    expect(fixture.rows('SELECT kind FROM sync_failures')).toEqual([{ kind: 'insert' }]);
  },
);

test.each([401, 400])('an origin that answers a caller with %i is said once, of no table', async (status) => {
  const names = ['Note', 'Other', 'Third'];
  await using fixture = await startTwoWay({ tables: names.map((name) => ({ ...NOTE, name })) });
  for (const name of names) fixture.execute(`UPDATE "${name}" SET "Title" = 'x' WHERE _id = 1`);
  const before = (step: string): void => {
    if (step === 'readBack') throw new Error('the process ended');
  };
  for (let push = 0; push < names.length; push += 1) await pushNow(fixture, { before });
  expect(fixture.rows('SELECT count(DISTINCT table_id) AS n FROM _rowsync_batches')).toEqual([{ n: 3 }]);
  const body = JSON.stringify({ error: status, code: 0, message: 'no' });
  fixture.sandbox.answerInstead(1, { status, body }, { method: 'user' });
  const lines: string[] = [];
  const log = createLogger({
    level: 'warn',
    destination: { write: (line) => lines.push(line) > 0 },
    secrets: [],
  });

  await finishPushes({ ...pushContext(fixture), log });

  const unfinished = lines.filter((line) => line.includes('push.unfinished'));
  expect(unfinished).toHaveLength(1);
  expect(unfinished[0]).not.toContain('"table"');
});

test('what keeps the push of one table from being settled is said with its name', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw new Error('the process ended');
    },
  });
  fixture.sandbox.answerInstead(
    1,
    { status: 404, body: '{"error":404,"code":0,"message":"no"}' },
    { method: 'describe' },
  );
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', destination: { write: (line) => lines.push(line) > 0 }, secrets: [] });

  await finishPushes({ ...pushContext(fixture), log });

  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ event: 'push.unfinished', table: 'Note' }]);
});
