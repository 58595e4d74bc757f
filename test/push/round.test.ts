/** Batches of one push that overlap: block by block, each row once. */
import { expect, test } from 'vitest';
import { readOrigin, readReplica } from '../support/compare.ts';
import { changesSent, codesOf, countsOf, pushNow, setFaults, atOrigin } from '../support/push.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';
import type { PushStep } from '../../src/push/context.ts';

const MANY = Array.from({ length: 1_300 }, (_, index) => ({ Title: `title ${index + 1}`, Code: `c${index + 1}` }));

test('more rows than a block are sent block by block, each once', async () => {
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rows: MANY }], editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id <= 1001;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 501)
    INSERT INTO "Note" ("Title", "Code") SELECT 'new', 'n' || i FROM n;
    DELETE FROM "Note" WHERE _id > 1200`);
  fixture.sandbox.requests.clear();

  const report = await pushNow(fixture, { settings: { maxPushRows: 10_000 } });

  expect([codesOf(report), countsOf(report)]).toEqual([[], { updated: 1001, inserted: 501, deleted: 100 }]);
  expect(changesSent(fixture)).toEqual(['update', 'update', 'update', 'upsert', 'upsert', 'delete']);
  expect(await captured(fixture)).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a lost answer to one of several blocks is settled, and the others go on', async () => {
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rows: MANY }] });
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited'`);
  setFaults(fixture, [
    { fault: 'resetAfter', method: 'update', nth: 1 },
    { fault: 'resetBefore', method: 'update', nth: 3 },
  ]);

  const report = await pushNow(fixture, { settings: { maxPushRows: 10_000 } });

  expect([codesOf(report), countsOf(report)]).toEqual([[], { updated: 1300 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

const ONE_ROW_EACH = { batchLimits: { rowsMax: 1, bytesMax: 100_000 } };

test.each([
  ['updates', `UPDATE "Note" SET "Body" = 'sent' WHERE _id <= 3`],
  ['deletes', `DELETE FROM "Note" WHERE _id <= 3`],
  ['new rows with match values', `INSERT INTO "Note" ("Title", "Code") VALUES ('a', 'n1'), ('b', 'n2'), ('c', 'n3')`],
])('of %s, a batch is settled and one recorded while the one between is in flight', async (_what, statement) => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(statement);
  const steps: PushStep[] = [];
  const count = (wanted: PushStep): number => steps.filter((step) => step === wanted).length;
  const both = Promise.withResolvers<void>();
  const before = async (step: PushStep): Promise<void> => {
    steps.push(step);
    if (count('settle') >= 1 && count('record') === 3) both.resolve();
    if (step === 'send' && count('send') === 2) await both.promise;
  };

  const report = await pushNow(fixture, { confirm: true, settings: ONE_ROW_EACH, before });

  expect([codesOf(report), count('send')]).toEqual([[], 3]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('new rows that nothing identifies are recorded once those before have ended: none is in doubt that never left', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('a'), ('b'), ('c')`);
  const steps: PushStep[] = [];

  await pushNow(fixture, { settings: ONE_ROW_EACH, before: (step) => void steps.push(step) });

  const ends = steps.filter((step) => step === 'record' || step === 'settle');
  expect(ends).toEqual(['record', 'settle', 'record', 'settle', 'record', 'settle']);
});

test('of two new rows whose match values may be one at the origin, the second is not recorded before the first has arrived', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('a', 'Müller'), ('b', 'MULLER')`);

  const steps: PushStep[] = [];

  const report = await pushNow(fixture, { settings: ONE_ROW_EACH, before: (step) => void steps.push(step) });

  expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 2 }]);
  const rounds = steps.filter((step) => step === 'plan' || step === 'send');
  expect(rounds).toEqual(['plan', 'send', 'plan', 'send', 'plan']);
  expect(atOrigin(fixture, ['Title']).slice(6)).toEqual([
    [7, 'a'],
    [8, 'b'],
  ]);
});

test('a batch that was recorded ahead is edited again where the one before stops the push', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`UPDATE "Note" SET "Body" = 'sent' WHERE _id <= 4`);
  fixture.sandbox.answerInstead(1, { status: 401, body: '{"status":401,"error":"no"}' }, { method: 'update' });
  const states: unknown[] = [];
  const before = (step: PushStep): void => {
    if (step === 'store') states.push(fixture.rows(`SELECT row_id FROM _rowsync_rows WHERE state = 'sending'`).length);
  };

  const report = await pushNow(fixture, { settings: ONE_ROW_EACH, before });

  expect(states[0]).toBeGreaterThan(1);
  expect([codesOf(report).length > 0, changesSent(fixture).length]).toEqual([true, 1]);
  expect(fixture.rows('SELECT DISTINCT state FROM _rowsync_rows')).toEqual([{ state: 'edited' }]);
  expect(fixture.rows('SELECT * FROM _rowsync_batches')).toEqual([]);
});
