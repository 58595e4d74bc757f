/**
 * Rows whose answer got lost beside other changes of the same table: rows of other batches, rows that were deleted here, and rows that a
 * pull brought in. Each row of the origin is the row of one change, and no delete is dropped unseen.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import type { PushStep } from '../../src/push/context.ts';
import type { Fixture } from '../support/replica.ts';
import { at, startAlbum } from '../support/album.ts';
import { atOrigin, changesSent, codesOf, here, pushNow, setFaults, unreadableAnswer } from '../support/push.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';

const COLUMNS = ['Title', 'Code', 'Body'];
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

describe.each(POLICIES)(
  'a new row without an answer that a pull brought in, and that was deleted there, under %s',
  (conflict) => {
    const lose = async (fixture: Fixture): Promise<void> => {
      fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
      setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
      await pushNow(fixture, { before: dies, options: { conflict } });
      await fixture.pull();
      fixture.execute(`DELETE FROM "Note" WHERE _id = 7`);
    };

    test('is in conflict with a colleague who edits it', async () => {
      await using fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
      await lose(fixture);
      fixture.sandbox.store.update('Note', 7, { Title: 'theirs' });

      for (let round = 0; round < 2; round += 1) await pushNow(fixture, { options: { conflict } });

      expect(fixture.rows(CONFLICTS)).toEqual([{ row_id: 7, kind: 'deletedHere' }]);
    });

    test('is deleted at the origin where a workflow gave it another form', async () => {
      const rules = [{ when: 'create' as const, set: 'Title', to: 'Upper([Title])' }];
      await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules }], editing: { match: 'Code', conflict } });
      await lose(fixture);

      for (let round = 0; round < 2; round += 1) await pushNow(fixture, { options: { conflict } });

      expect(atOrigin(fixture, COLUMNS)).toHaveLength(6);
      expect(await captured(fixture)).toEqual([]);
    });
  },
);

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

test.each(POLICIES)(
  'a row that one lost row is found to be is not taken for another one that a pull brought in, under %s',
  async (conflict) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code", "Body") VALUES ('a', 'n1', 'A'), ('b', 'n2', 'B')`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
    await pushNow(fixture, { before: dies, options: { conflict } });
    // The origin took the second one and not the first.
    fixture.sandbox.store.insert('Note', { Title: 'b', Code: 'n2', Body: 'B' });
    await fixture.pull();
    fixture.sandbox.store.update('Note', 7, { Code: 'n1' });

    const codes: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      codes.push(...codesOf(await pushNow(fixture, { options: { conflict } })));
      await fixture.pull();
    }

    expect(codes).toEqual([]);
    expect(fixture.rows('SELECT row_id FROM sync_failures')).toEqual([]);
  },
);

test("a colleague's row that is like a lost one, and is deleted again, is not taken for it", async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);
  await pushNow(fixture, { before: dies });
  const theirs = { Title: 'x', Code: 'n1', 'Created By': 'Somebody <somebody@example.com>' };
  fixture.sandbox.store.insert('Note', theirs);
  await fixture.pull();
  fixture.sandbox.store.delete('Note', 7);

  for (let round = 0; round < 2; round += 1) {
    await pushNow(fixture);
    await fixture.pull();
  }

  expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[8, 'x', 'n1', null]]);
});

test.each(POLICIES)(
  'a file that a colleague took away waits where no date tells whether it came, under %s',
  async (conflict) => {
    await using fixture = await startAlbum();
    const { store } = fixture.sandbox;
    store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Album', 'Date Modified']] });
    store.changeUser({ role: 'Half' });
    await fixture.pull();
    fixture.put('a.txt', 'mine');
    fixture.execute(`UPDATE "Album" SET "Scan" = 'file:a.txt' WHERE _id = 1`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
    const taken: unknown[] = [];
    const before = at('readBack', () => {
      if (taken.push(1) === 1) store.update('Album', 1, { Scan: null });
    });

    for (let round = 0; round < 2; round += 1) await fixture.upload({ before, options: { conflict } });

    expect(changesSent(fixture)).toEqual(['update']);
    expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: 1, kind: 'inDoubt' }]);
  },
);
