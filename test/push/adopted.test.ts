/**
 * New rows whose answer got lost, and rows at the origin that may be theirs or somebody else's: no row is taken for two, and what was not
 * taken is kept.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import type { PushStep } from '../../src/push/context.ts';
import { atOrigin, changesSent, codesOf, countsOf, here, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';

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

  test('the same goes where that row was put back since', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    fixture.execute(`UPDATE "Note" SET "Title" = 'y' WHERE _id = 5`);
    await lose(fixture);
    fixture.execute(`UPDATE "Note" SET "Title" = 'title 5' WHERE _id = 5`);
    fixture.sandbox.store.update('Note', 5, { Code: 'n1' });

    const report = await pushNow(fixture, LOCAL);

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Title', 'Code'])[4]).toEqual([5, 'x', 'n1']);
    expect(fixture.rows('SELECT local, remote FROM sync_conflicts')).toEqual([{ local: 'x', remote: 'title 5' }]);
    expect(await captured(fixture)).toEqual([]);
  });

  test('of two that differ in case only, each is its own', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code', conflict: 'local' } });
    setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'N1'), ('y', 'n1')`);

    const report = await pushNow(fixture, LOCAL);

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([
      [7, 'x', 'N1'],
      [8, 'y', 'n1'],
    ]);
    expect(here(fixture, ['Title', 'Code']).slice(6)).toEqual(atOrigin(fixture, ['Title', 'Code']).slice(6));
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

  test('what was sent and not taken is kept where an edit of the row found goes over it', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
    await lose(fixture);
    fixture.sandbox.store.insert('Note', { Title: 'theirs', Code: 'n1' });
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Title" = 'y' WHERE _id = 7`);

    await pushNow(fixture);

    expect(fixture.rows('SELECT row_id, "column", local, remote FROM sync_conflicts ORDER BY id')).toEqual([
      { row_id: 7, column: 'Title', local: 'x', remote: 'y' },
    ]);
    // An edit of what the pull showed, in conflict with nobody.
    expect(atOrigin(fixture, ['Title', 'Code']).at(-1)).toEqual([7, 'y', 'n1']);
    expect(here(fixture, ['Title', 'Code']).at(-1)).toEqual([7, 'y', 'n1']);
  });
});

describe('where the origin takes values for one that are not so here', () => {
  /** Makes the origin compare without blanks at the end, as many databases do. */
  function ignoreBlanks(fixture: Fixture): void {
    const { origin } = fixture;
    fixture.origin = {
      ...origin,
      select: (request, options) => {
        const filter = request.query?.filter?.replace(/ +"/g, '"');
        return origin.select({ ...request, query: { ...request.query, filter } }, options);
      },
    };
  }

  test('a new row meets the one that has its value there, and keeps no other one back', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    ignoreBlanks(fixture);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1'), ('y', 'c2 '), ('z', 'n2')`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Title', 'Code']).slice(6)).toEqual([
      [7, 'x', 'n1'],
      [8, 'z', 'n2'],
    ]);
    expect(here(fixture, ['Title', 'Code'])).toEqual(atOrigin(fixture, ['Title', 'Code']));
    expect(fixture.rows('SELECT row_id, "column", local FROM sync_conflicts ORDER BY "column"')).toEqual([
      { row_id: 2, column: 'Code', local: 'c2 ' },
      { row_id: 2, column: 'Title', local: 'y' },
    ]);
  });

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

  test('a create whose answer got lost is found, and settled', async () => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1 '), ('y', 'n2')`);
    await lose(fixture);
    fixture.sandbox.store.insert('Note', { Title: 'x', Code: 'n1' });
    ignoreBlanks(fixture);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
    expect(here(fixture, ['Title', 'Code']).slice(6)).toEqual([
      [7, 'x', 'n1'],
      [8, 'y', 'n2'],
    ]);
  });
});

describe('by all that was sent', () => {
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

  test('is in doubt where more rows are alike than an answer has: the one that is not known here need not be it', async () => {
    await using fixture = await startTwoWay({
      tables: [{ ...NOTE, rows: Array.from({ length: 499 }, () => ({ Title: 'x' })) }],
    });
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('x')`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'create', nth: 1 }]);
    fixture.sandbox.before(1, () => fixture.sandbox.store.insert('Note', { Title: 'x' }), { method: 'create' });
    fixture.sandbox.before(1, () => fixture.execute(`DELETE FROM "Note" WHERE _id < 0`), { method: 'create' });

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ inDoubt: 1, parked: 1 });
    expect(changesSent(fixture)).toEqual(['create']);
  });

  test.each([
    ['is in doubt beside a row that is alike in the rest', true, { inDoubt: 1, parked: 1 }, [-2, 'x']],
    ['is found as ever once the column is back', false, { inserted: 1 }, [7, 'x']],
  ])('a create of which a column is hidden since %s', async (_what, isHidden, counts, row) => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('x', 'mine')`);
    await lose(fixture, 'create');
    fixture.sandbox.store.setRole({
      name: 'Half',
      canWrite: true,
      hiddenTables: [],
      hiddenColumns: [['Note', 'Body']],
    });
    const role = fixture.sandbox.store.user.role;
    fixture.sandbox.store.changeUser({ role: 'Half' });
    await fixture.pull();
    if (!isHidden) {
      fixture.sandbox.store.changeUser({ role });
      await fixture.pull();
    }
    fixture.sandbox.store.insert('Note', isHidden ? { Title: 'x', Body: 'theirs' } : { Title: 'x', Body: 'mine' });

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual(counts);
    expect(here(fixture, ['Title']).filter((kept) => (kept as unknown[])[1] === 'x')).toEqual([row]);
  });
});
