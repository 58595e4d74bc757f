/**
 * Sweeps that meet their own past: pages read before the rows in front of them went, rows that hid between pages, pages that
 * an interrupted pull has left.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { brokenPages, readOrigin, readReplica, wrongCounts } from '../support/compare.ts';
import { startFixture } from '../support/replica.ts';

/** Pages of five rows that share one, read one after the other. */
const SETTINGS = { pageRows: 5, concurrency: 1 };

function notes(rowCount: number, name = 'Note'): TableSpec {
  const rows = Array.from({ length: rowCount }, (_, index) => ({ Title: `note ${String(index).padStart(3, '0')}` }));
  return { name, columns: [{ name: 'Title', type: 'Text' }], rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

test('finds where the rows began to shift, however far back that is', async () => {
  await using fixture = await startFixture({ tables: [notes(200)] }, { settings: SETTINGS });
  const { store } = fixture.sandbox;
  fixture.sandbox.before(45, () => store.delete('Note', store.ids('Note')[0] ?? 0), { method: 'select' });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ error: null, held: null, rowCount: 199 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('deletes a row that was on no page when it was last seen', async () => {
  const settings = { ...SETTINGS, tableOptions: () => ({ sort: ['Title'] }) };
  await using fixture = await startFixture({ tables: [notes(13)] }, { settings });
  await fixture.pull();
  const { store } = fixture.sandbox;
  const ids = store.ids('Note');
  const [second, last] = [ids[1] ?? 0, ids.at(-1) ?? 0];
  // Between two pages the last row goes to the front and one of the front to the end: no page seems to shift.
  fixture.sandbox.before(
    2,
    () => {
      store.update('Note', last, { Title: 'a' });
      store.update('Note', second, { Title: 'z' });
    },
    { method: 'select' },
  );
  const hidden = await fixture.pull();
  const here = readReplica(fixture.path);
  store.delete('Note', last);

  const report = await fixture.pull();

  expect(hidden.tables).toMatchObject([{ error: null, rowCount: 13, deletedCount: 0 }]);
  expect(here['Note']?.find(({ _id }) => _id === BigInt(last))).toMatchObject({ Title: 'a' });
  expect(report.tables).toMatchObject([{ error: null, rowCount: 12, deletedCount: 1 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test("does not take the pages of an interrupted pull for today's", async () => {
  await using fixture = await startFixture({ tables: [notes(43)] }, { settings: SETTINGS });
  const stop = new AbortController();
  fixture.sandbox.before(6, () => stop.abort(), { method: 'select' });
  await fixture.pull({ signal: stop.signal });
  const { store } = fixture.sandbox;
  store.update('Note', store.ids('Note')[1] ?? 0, { Title: 'edited since' });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ error: null, rowCount: 43 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect([...brokenPages(fixture.path), ...wrongCounts(fixture.path)]).toEqual([]);
});

test('reads each page of an interrupted pull once, and proves the others', async () => {
  await using fixture = await startFixture({ tables: [notes(41)] }, { settings: SETTINGS });
  const stop = new AbortController();
  fixture.sandbox.before(6, () => stop.abort(), { method: 'select' });
  const stopped = await fixture.pull({ signal: stop.signal });

  const report = await fixture.pull();

  const pageCount = 11; // 41 rows in pages of 5 that share a row
  expect(stopped.tables[0]?.pagesReadCount).toBe(5);
  expect(report.tables).toMatchObject([{ error: null, pagesNotModifiedCount: pageCount }]);
  // Up to two empty pages behind the end are asked for ahead.
  expect(report.tables[0]?.pagesReadCount).toBeGreaterThanOrEqual(pageCount - 5);
  expect(report.tables[0]?.pagesReadCount).toBeLessThanOrEqual(pageCount - 5 + 2);
});

test('comes to an end when a table shrinks to less than an interrupted pull has read', async () => {
  await using fixture = await startFixture({ tables: [notes(43)] }, { settings: SETTINGS });
  const stop = new AbortController();
  fixture.sandbox.before(7, () => stop.abort(), { method: 'select' });
  await fixture.pull({ signal: stop.signal });
  const { store } = fixture.sandbox;
  for (const id of store.ids('Note').slice(2)) store.delete('Note', id);

  const report = await fixture.pull({ confirm: true });

  expect(report.tables).toMatchObject([{ error: null, rowCount: 2 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('reads the tables first that were never read whole', async () => {
  await using fixture = await startFixture({ tables: [notes(43), notes(9, 'Last')] }, { settings: SETTINGS });
  const stop = new AbortController();
  fixture.sandbox.before(1, () => stop.abort(), {
    method: 'select',
    table: fixture.sandbox.store.table('Last').alias,
  });
  const cut = await fixture.pull({ signal: stop.signal });
  fixture.sandbox.requests.clear();

  const report = await fixture.pull();

  expect(cut.tables.map(({ table, error }) => ({ table, code: error?.code }))).toEqual([
    { table: 'Note', code: undefined },
    { table: 'Last', code: 'origin.stopped' },
  ]);
  expect(report.tables.map(({ table }) => table)).toEqual(['Last', 'Note']);
});
