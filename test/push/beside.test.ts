/**
 * Rows whose answer got lost beside other changes of the same table: rows of other batches, rows that were deleted
 * here, and rows that a pull brought in. Each row of the origin is the row of one change, and no delete is dropped
 * unseen.
 */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import type { PushStep } from '../../src/push/context.ts';
import { atOrigin, here, pushNow, setFaults, unreadableAnswer } from '../support/push.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

const CONFLICTS = 'SELECT row_id, kind FROM sync_conflicts ORDER BY id';
const POLICIES = ['origin', 'local', 'ask'] as const;

function die(): never {
  throw new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
}

function dies(step: PushStep): void {
  if (step === 'readBack') die();
}

test('two new rows that are alike, in two requests, are not both taken for the one that was made', async () => {
  await using fixture = await startTwoWay();
  const unreadable = await unreadableAnswer(fixture, 2);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('same'), ('same')`);
  setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);
  fixture.sandbox.answerInstead(1, unreadable, { method: 'select' });
  let readCount = 0;
  const before = (step: PushStep): void => {
    if (step !== 'readBack') return;
    readCount += 1;
    if (readCount === 2) die();
  };
  const settings = { batchLimits: { rowsMax: 1, bytesMax: 1_000_000 } };

  await pushNow(fixture, { before, settings });
  for (let round = 0; round < 2; round += 1) {
    await pushNow(fixture, { settings });
    await fixture.pull();
  }

  const waiting = fixture.rows('SELECT row_id FROM sync_failures');
  expect(here(fixture, ['Title']).filter((row) => (row as readonly unknown[])[1] === 'same')).toHaveLength(2);
  expect(atOrigin(fixture, ['Title']).length - 6 + waiting.length).toBe(2);
});

test.each(POLICIES)(
  'a row that was deleted here is not taken for a lost new row whose value it got there, under %s',
  async (conflict) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
    await pushNow(fixture, { before: dies, options: { conflict } });
    fixture.execute(`DELETE FROM "Note" WHERE _id = 3`);
    fixture.sandbox.store.update('Note', 3, { Code: 'n1' });

    for (let round = 0; round < 2; round += 1) await pushNow(fixture, { options: { conflict } });

    const isGone = !atOrigin(fixture, []).some((row) => (row as readonly unknown[])[0] === 3);
    const isListed = fixture.rows(CONFLICTS).some((row) => (row as { kind: string }).kind === 'deletedHere');
    expect([isGone, isListed, (await captured(fixture)).includes('delete 3')]).toContain(true);
    const isHere = here(fixture, ['Title']).some((row) => (row as readonly unknown[])[1] === 'mine');
    expect(isHere).toBe(true);
  },
);
