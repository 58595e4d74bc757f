/** The push of one table: its guards, and what stops it before anything is sent. */
import { expect, test } from 'vitest';
import { changesSent, codesOf, countsOf, pushNow, setFaults } from '../support/push.ts';
import { NOTE, startTwoWay, twoWaySettings } from '../support/two-way.ts';
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
