/**
 * New rows whose answer got lost, and rows at the origin that may be theirs or another client's. No row is taken for
 * two, and what was not taken is kept.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import type { PushStep } from '../../src/push/context.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';

const LOCAL = { options: { conflict: 'local' } } as const;

/** Pushes; the request is lost on its way, and the process ends before anything is looked up. */
async function lose(fixture: Fixture, method = 'upsert'): Promise<void> {
  setFaults(fixture, [{ fault: 'resetBefore', method, nth: 1 }]);
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

describe('by a unique value', () => {
  test('a row that was sent too, and got the value from a colleague, is not taken for the new one', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    fixture.execute(`UPDATE "Note" SET "Title" = 'y' WHERE _id = 5`);
    await lose(fixture);
    fixture.sandbox.store.update('Note', 5, { Code: 'n1' });

    const report = await pushNow(fixture, LOCAL);

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Title', 'Code'])[4]).toEqual([5, 'y', 'n1']);
    expect(here(fixture, ['Title', 'Code'])[0]).toEqual([-2, 'x', 'n1']);
    expect(fixture.rows('SELECT row_id, "column" FROM sync_failures')).toEqual([{ row_id: -2, column: 'Code' }]);
  });

  test('of two that differ in case only, one takes the row that a colleague made, and the other waits', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'N1'), ('y', 'n1')`);
    fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'n1' });

    const report = await pushNow(fixture, LOCAL);

    expect(countsOf(report)).toMatchObject({ updated: 1, refused: 1, conflict: 2 });
    expect(fixture.rows('SELECT row_id, "column" FROM sync_failures')).toEqual([{ row_id: -3, column: 'Code' }]);
    expect(here(fixture, ['Title'])[0]).toEqual([-3, 'y']);
  });

  test.each([
    ['gets another value', `UPDATE "Note" SET "Code" = 'n2' WHERE _id = -2`, [[8, 'mine', 'n2']]],
    ['is deleted', 'DELETE FROM "Note" WHERE _id = -2', []],
  ])(
    'a new row that %s once a colleague’s was found for its former one leaves that alone',
    async (_what, edit, own) => {
      await using fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
      fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
      fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'n1' });
      let isEdited = false;
      const before = (step: PushStep): void => {
        if (step === 'record' && !isEdited) {
          isEdited = true;
          fixture.execute(edit);
        }
      };

      const report = await pushNow(fixture, { ...LOCAL, before });
      await fixture.pull();

      expect(codesOf(report)).toEqual([]);
      expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([[7, 'theirs', 'n1'], ...own]);
      expect(here(fixture, ['Title', 'Code']).slice(6)).toEqual([[7, 'theirs', 'n1'], ...own]);
      expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
    },
  );
});

describe('where the origin takes values for one that are not so here', () => {
  test('a row that is not even alike is no answer to what was asked', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    const { origin } = fixture;
    const mixUp = '[Code] = "c3"';
    fixture.origin = {
      ...origin,
      select: (request, options) => origin.select({ ...request, query: { ...request.query, filter: mixUp } }, options),
    };
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);

    await pushNow(fixture);

    expect(changesSent(fixture)).toEqual([]);
    expect(here(fixture, ['Title', 'Code'])[0]).toEqual([-2, 'x', 'n1']);
    expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
  });
});

describe('without a match value', () => {
  test('a row that an answer names is not taken for another create', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('x'), ('x')`);
    const body = JSON.stringify({ error: 400, code: 3100, message: 'too much at once' });
    const refusal = { status: 400, headers: { 'Content-Type': 'application/json' }, body };
    fixture.sandbox.answerInstead(1, refusal, { method: 'create' });
    fixture.sandbox.answerInstead(3, 'reset', { method: 'create' });

    const report = await pushNow(fixture);

    expect(changesSent(fixture)).toEqual(['create', 'create', 'create']);
    expect(countsOf(report)).toEqual({ inserted: 1, inDoubt: 1, parked: 1 });
    expect(here(fixture, ['Title']).filter((row) => (row as unknown[])[1] === 'x')).toEqual([
      [-3, 'x'],
      [7, 'x'],
    ]);
  });

  test('a row that stood there before is not taken for it, though no pull has seen it yet', async () => {
    await using fixture = await startTwoWay();
    fixture.sandbox.store.insert('Note', { Title: 'tea' });
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('milk')`);
    await pushNow(fixture);
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('tea')`);
    setFaults(fixture, [{ fault: 'resetBefore', method: 'create', nth: 1 }]);

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ inDoubt: 1, parked: 1 });
    expect(here(fixture, ['Title']).filter((row) => (row as unknown[])[1] === 'tea')).toEqual([[-3, 'tea']]);
  });
});
