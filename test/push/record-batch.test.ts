/** Rows that were read again at the origin become a recorded batch, or wait with a reason. */
import { expect, test } from 'vitest';
import type { PushStep } from '../../src/push/context.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, countsOf, pushNow, unreadableAnswer, codesOf, here } from '../support/push.ts';
import { startTwoWay } from '../support/two-way.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Fixture } from '../support/replica.ts';

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

const MATCHED = { editing: { match: 'Code' } } as const;

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, "column", status, reason, retry_at FROM sync_failures ORDER BY row_id');
}

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
