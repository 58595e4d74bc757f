/** A push of more rows than one request takes: block by block, each once; and what an earlier push left behind is settled before a pull. */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { changesSent, codesOf, countsOf, finishAndPull, here, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';

const MANY = Array.from({ length: 1_300 }, (_, index) => ({ Title: `title ${index + 1}`, Code: `c${index + 1}` }));

/** A push that ends before its rows are read back, as with its process. */
async function pushUntilReadBack(fixture: Fixture): Promise<void> {
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

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
