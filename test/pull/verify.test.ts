import { expect, test } from 'vitest';

import { pull } from '../../src/pull/pull.ts';
import { resync } from '../../src/pull/resync.ts';
import { verify } from '../../src/pull/verify.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture } from '../support/replica.ts';

const NOTES: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 23 }, (_, index) => ({ Title: `note ${index + 1}` })),
};
const SMALL_PAGES = { settings: { pageRows: 5 } };
/** Takes our refusals away, as an administrator with a SQL tool could. */
const DROP_GUARDS = (id: number): string =>
  ['insert', 'update', 'delete'].map((event) => `DROP TRIGGER _rowsync_guard_${event}_${id};`).join('');

test('finds a faithful replica faithful, reading every page without an ETag', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  fixture.sandbox.requests.clear();

  const report = await verify(fixture.context(), { tables: [] });

  expect(report).toMatchObject({
    error: null,
    tables: [{ table: 'Note', comparedCount: 23, mismatchCount: 0, error: null }],
  });
  expect(fixture.sandbox.requests.count({ method: 'select', status: 200 })).toBe(6);
});

test('finds what differs although every ETag says that nothing changed', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first, second] = fixture.sandbox.store.ids('Note');
  fixture.execute(`${DROP_GUARDS(fixture.sandbox.store.table('Note').id)}
    UPDATE "Note" SET "Title" = 'tampered' WHERE _id = ${first};
    DELETE FROM "Note" WHERE _id = ${second};
    INSERT INTO "Note" (_id, "Title") VALUES (999999, 'invented');`);

  const report = await verify(fixture.context(), { tables: ['note'] });

  expect(report.tables[0]).toMatchObject({ mismatchCount: 3, changedMeanwhileCount: 0, error: null });
  expect(report.tables[0]?.mismatches.toSorted((a, b) => a.rowId - b.rowId)).toEqual([
    { rowId: first, problem: 'differs', columns: ['Title'] },
    { rowId: second, problem: 'missing here', columns: [] },
    { rowId: 999999, problem: 'not at the origin', columns: [] },
  ]);
});

test('takes an edit during the comparison for what it is', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const ids = fixture.sandbox.store.ids('Note');
  fixture.sandbox.before(
    8,
    () => {
      fixture.sandbox.store.update('Note', ids.at(-1) ?? 0, { Title: 'edited' });
      fixture.sandbox.store.delete('Note', ids.at(-2) ?? 0);
      fixture.sandbox.store.insert('Note', { Title: 'new' });
    },
    { method: 'select' },
  );

  const report = await verify(fixture.context(), { tables: [] });

  expect(report.tables[0]).toMatchObject({ mismatchCount: 0, error: null });
  expect(report.tables[0]?.changedMeanwhileCount).toBeGreaterThan(0);
});

test('reads a table whole after resync, and mends what was tampered with', async () => {
  await using fixture = await startFixture({ tables: [NOTES] }, SMALL_PAGES);
  await fixture.pull();
  const [first] = fixture.sandbox.store.ids('Note');
  fixture.execute(
    `${DROP_GUARDS(fixture.sandbox.store.table('Note').id)} UPDATE "Note" SET "Title" = 'tampered' WHERE _id = ${first};`,
  );
  const trusting = await fixture.pull();

  const names = await resync(fixture.replica, ['NOTE']);
  const whole = await pull(fixture.context(), { tables: [], confirm: false });

  expect(trusting.tables[0]).toMatchObject({ pagesReadCount: 0, updatedCount: 0 });
  expect(names).toEqual(['Note']);
  expect(whole.tables[0]).toMatchObject({ pagesReadCount: 6, pagesNotModifiedCount: 0, updatedCount: 1 });
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = ?', first)).toEqual([{ Title: 'note 1' }]);
});

test('names the tables it has when resync is asked for one that it has not', async () => {
  await using fixture = await startFixture({ tables: [NOTES] });
  await fixture.pull();

  await expect(resync(fixture.replica, ['Nowhere'])).rejects.toMatchObject({
    code: 'usage.invalid',
    hint: 'It has: Note.',
  });
});
