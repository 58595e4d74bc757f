/** The push of one table: its guards, and what stops it before anything is sent. */
import { describe, expect, test } from 'vitest';
import { RowsyncError, type ErrorCode, type ErrorKind } from '../../src/base/errors.ts';
import type { PushStep } from '../../src/push/context.ts';
import { isSettledUnasked, judgeEdits } from '../../src/push/push-table.ts';
import type { Edits } from '../../src/push/round.ts';
import { storeFacts } from '../../src/replica/bookkeeping/tables.ts';
import { changesSent, codesOf, countsOf, pushNow, setFaults } from '../support/push.ts';
import { captured, NOTE, startTwoWay, twoWaySettings, twoWayTable } from '../support/two-way.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Origin } from '../../src/origin/client.ts';
import { ADDS_FORBIDDEN, ADDS_OFF } from '../../src/reconcile/push-plan.ts';
import type { Fixture } from '../support/replica.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

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

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", status, reason, retry_at FROM sync_failures ORDER BY row_id');
}

test('workflow rules are not suppressed by a user who may not', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.sandbox.store.changeUser({ admin: [] });
  await fixture.pull(); // so that it is the permission that is missed, and not the change that is noticed
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

  const report = await pushNow(fixture, { options: { workflow: 'suppress' } });

  expect(codesOf(report)).toEqual(['push.workflow']);
  expect(changesSent(fixture)).toEqual([]);
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

test('a table in which rows are only changed refuses new rows at once, and those that waited are kept', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  const settings = twoWaySettings({ match: 'Code', inserts: false });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('before', 'n1')`);
  expect(countsOf(await pushNow(fixture, { options: { inserts: false } }))).toEqual({ refused: 1, parked: 1 });

  await fixture.pull({ settings });
  fixture.execute(`UPDATE "Note" SET "Title" = 'changed' WHERE _id = 1`);
  expect(() => fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('after', 'n2')`)).toThrow(
    'Note: rows may not be added',
  );
  expect(countsOf(await pushNow(fixture, { options: { inserts: false } }))).toEqual({ updated: 1, parked: 1 });

  await fixture.pull({ settings: twoWaySettings({ match: 'Code' }) });
  expect(countsOf(await pushNow(fixture))).toEqual({ inserted: 1 });
});

describe('the size of a push', () => {
  const LIMITS = {
    maxPushRows: 3,
    maxDeletePercent: 50,
    confirm: false,
    tableOptions: () => ({ conflict: 'ask', workflow: 'run' }) as const,
  };

  test.each<[string, Edits, Partial<typeof LIMITS>, string | null]>([
    ['nothing', { update: 0, insert: 0, delete: 0 }, {}, null],
    ['as many rows as allowed', { update: 1, insert: 1, delete: 1 }, {}, null],
    ['one more', { update: 2, insert: 1, delete: 1 }, {}, 'guard.pushRows'],
    ['half of the table, which may be deleted', { update: 0, insert: 0, delete: 3 }, {}, null],
    ['more than half of the table', { update: 0, insert: 0, delete: 4 }, {}, 'guard.pushDeletes'],
    ['too many, as a person confirms', { update: 9, insert: 9, delete: 6 }, { confirm: true }, null],
    [
      'one delete where none is allowed',
      { update: 0, insert: 0, delete: 1 },
      { maxDeletePercent: 0 },
      'guard.pushDeletes',
    ],
  ])('%s', async (_what, edits, limits, expected) => {
    await using fixture = await startTwoWay();

    const judged = judgeEdits(fixture.replica, twoWayTable(fixture), edits, { ...LIMITS, ...limits });

    expect(judged.held?.code ?? null).toBe(expected);
    expect(judged).toMatchObject({
      changeCount: edits.update + edits.insert + edits.delete,
      confirmed: limits.confirm === true || edits.update + edits.insert + edits.delete === 0,
    });
  });

  test('a consent lets as many rows through as it was given for', async () => {
    await using fixture = await startTwoWay();
    const { replica } = fixture;
    await replica.write('Agreeing', (tx) => storeFacts(tx, twoWayTable(fixture).id, { push_consent: 5 }));
    const judge = (update: number): unknown =>
      judgeEdits(replica, twoWayTable(fixture), { update, insert: 0, delete: 0 }, LIMITS).held?.code;

    expect([judge(5), judge(6)]).toEqual([undefined, 'guard.pushRows']);
  });
});

test.each<[ErrorKind, ErrorCode, boolean]>([
  ['needsPerson', 'push.identity', true],
  ['config', 'config.invalid', true],
  ['originRefused', 'push.shape', true],
  ['originRefused', 'origin.refused', false],
  ['originDown', 'origin.unreachable', false],
  ['auth', 'origin.unauthorized', false],
])('after an error of the kind %s (%s), what was sent is settled without asking: %s', (kind, code, expected) => {
  expect(isSettledUnasked(new RowsyncError(kind, code, { message: '', hint: '' }))).toBe(expected);
});

test('the problem of a table is shown until a push of it succeeds', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.sandbox.store.changeUser({ admin: [] });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
  const problem = (): unknown => fixture.rows('SELECT problem FROM sync_status');

  await pushNow(fixture, { options: { workflow: 'suppress' } });
  expect(problem()).toEqual([{ problem: expect.stringContaining('ManageData') as string }]);
  expect(countsOf(await pushNow(fixture))).toEqual({ updated: 6 });
  expect(problem()).toEqual([{ problem: null }]);
});

test('edits that are made while a push runs leave with it, up to a number of rounds', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Count" = 100 WHERE _id = 1`);
  let sendCount = 0;
  const before = (step: PushStep): void => {
    if (step !== 'settle') return;
    sendCount += 1;
    fixture.execute(`UPDATE "Note" SET "Count" = ${100 + sendCount} WHERE _id = 1`);
  };

  const report = await pushNow(fixture, { before });

  expect([codesOf(report), changesSent(fixture)]).toEqual([[], ['update', 'update', 'update']]);
  expect(await captured(fixture)).toEqual(['update 1 Count']);
  expect(report.tables).toMatchObject([{ waitingCount: 1, updatedCount: 3 }]);
});
