/**
 * Sweeps that meet their own past: pages read before the rows in front of them went, rows that hid between pages, pages that
 * an interrupted pull has left.
 */
import { expect, test } from 'vitest';
import { must } from '../../src/base/assert.ts';
import { pull } from '../../src/pull/pull.ts';
import type { PullProgress } from '../../src/pull/report.ts';
import { resync } from '../../src/cli/commands/resync.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { brokenPages, readOrigin, readReplica, wrongCounts } from '../support/compare.ts';
import { pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';
import { REPAIR_ROUNDS_MAX } from '../../src/reconcile/windows.ts';

/** Pages of five rows that share one, read one after the other. */
const SETTINGS = { pageRows: 5, concurrency: 1 };

function notes(rowCount: number, name = 'Note'): TableSpec {
  const rows = Array.from({ length: rowCount }, (_, index) => ({ Title: `note ${String(index).padStart(3, '0')}` }));
  return { name, columns: [{ name: 'Title', type: 'Text' }], rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

test('finds where the rows began to shift, however far back that is', async () => {
  await using fixture = await startFixture({ tables: [notes(200)] }, { settings: { ...SETTINGS, windowPages: 100 } });
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

/** The pages of a table that was pulled, with their ETags, as the origin answers them now; forgotten here. */
async function forgottenPages(fixture: Fixture): Promise<readonly { readonly etag: string; readonly body: string }[]> {
  const { sandbox, replica } = fixture;
  await fixture.pull();
  await resync(replica, []);
  const answers: { etag: string; body: string }[] = [];
  for (const { path } of sandbox.requests.find({ method: 'select' })) {
    const answer = await fetch(sandbox.url + path, { headers: { Authorization: `Bearer ${sandbox.token}` } });
    answers.push({ etag: must(answer.headers.get('etag'), 'a page has an ETag'), body: await answer.text() });
  }
  sandbox.requests.clear();
  return answers;
}

/** Answers a page with the rows of another one, under the ETag that is its own. */
function lie(
  { sandbox }: Fixture,
  nth: number,
  { etag, body }: { readonly etag: string; readonly body: string },
): void {
  const headers = { 'Content-Type': 'application/json', ETag: etag };
  sandbox.answerInstead(nth, { status: 200, headers, body }, { method: 'select' });
}

test('reads pages in full that contradict each other though none of them was modified', async () => {
  await using fixture = await startFixture({ tables: [notes(16)] }, { settings: SETTINGS });
  const [, first, second] = await forgottenPages(fixture);
  lie(fixture, 3, { etag: second?.etag ?? '', body: first?.body ?? '' });

  const mended = await fixture.pull();
  const still = await fixture.pull();

  expect([mended, still].map(({ tables }) => tables[0]?.error)).toEqual([null, null]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(still.tables).toMatchObject([{ pagesReadCount: 0 }]);
});

test('reads a page in full that was short though it was not modified, and does not blame the origin', async () => {
  await using fixture = await startFixture({ tables: [notes(4)] }, { settings: SETTINGS });
  const [only] = await forgottenPages(fixture);
  const rows = JSON.parse(only?.body ?? '[]') as readonly unknown[];
  lie(fixture, 1, { etag: only?.etag ?? '', body: JSON.stringify(rows.slice(0, 2)) });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ error: null, rowCount: 4 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('reads pages in full once in a sweep where that mends nothing', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, { settings: SETTINGS });
  const [, last] = await forgottenPages(fixture);
  const rows = JSON.parse(last?.body ?? '[]') as readonly unknown[];
  const torn = { etag: last?.etag ?? '', body: JSON.stringify(rows.slice(1)) };
  // In the first pass, and in the last one, which is in full, the second page comes without its first row.
  for (const nth of [2, 2 * (REPAIR_ROUNDS_MAX + 1)]) lie(fixture, nth, torn);

  const report = await fixture.pull();

  const askedAgain = fixture.sandbox.requests.count({ method: 'select', status: 304 });
  expect(report.tables).toMatchObject([{ error: { code: 'origin.moving' } }]);
  expect(askedAgain).toBe(2 * (REPAIR_ROUNDS_MAX - 1));
});

/** Rows in the order of their titles, without any column that tells when they changed. */
function titles(count: number): { tables: TableSpec[] } {
  const rows = Array.from({ length: count }, (_, index) => ({ Title: `note ${String(index).padStart(3, '0')}` }));
  return { tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows, systemColumns: false }] };
}
const BY_TITLE = { ...SETTINGS, tableOptions: () => ({ sort: ['Title'] }) };

test('does not keep what a row was for a moment, while its page says that nothing changed', async () => {
  await using fixture = await startFixture(titles(13), { settings: BY_TITLE });
  await fixture.pull();
  const { store } = fixture.sandbox;
  const last = store.ids('Note').at(-1) ?? 0;
  // The row comes to the front, is read there, and goes back to where a page that was never read again has it.
  fixture.sandbox.before(1, () => store.update('Note', last, { Title: 'a' }), { method: 'select' });
  fixture.sandbox.before(2, () => store.update('Note', last, { Title: 'note 012' }), { method: 'select' });

  const busy = await fixture.pull();
  const quiet = await fixture.pull();
  const still = await fixture.pull();

  expect([busy, quiet, still].map(({ tables }) => tables[0]?.error)).toEqual([null, null, null]);
  expect(busy.tables[0]?.updatedCount).toBeGreaterThan(0);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(still.tables).toMatchObject([{ pagesReadCount: 0, updatedCount: 0 }]);
});

test('does not let an old answer that comes late win over a new one', async () => {
  await using fixture = await startFixture(titles(9), { settings: { ...BY_TITLE, concurrency: 2 } });
  await fixture.pull();
  await resync(fixture.replica, []);
  const { store, requests } = fixture.sandbox;
  const third = store.ids('Note')[2] ?? 0;
  const { path } = must(requests.find({ method: 'select' })[0], 'a first page was read');
  const headers = { Authorization: `Bearer ${fixture.sandbox.token}` };
  const old = await fetch(fixture.sandbox.url + path, { headers });
  const answer = {
    status: 200,
    headers: { 'Content-Type': 'application/json', ETag: must(old.headers.get('etag'), 'a page has an ETag') },
    body: await old.text(),
  };
  store.update('Note', third, { Title: 'zz' }); // from the first page to the second
  const stored = Promise.withResolvers<void>();
  fixture.sandbox.before(1, () => stored.promise, { method: 'select' });
  fixture.sandbox.answerInstead(1, answer, { method: 'select' });
  const onProgress = ({ kind }: PullProgress): void => {
    if (kind === 'page') stored.resolve(); // the second page stands in the replica; now the first one may arrive
  };

  const busy = await pull({ ...fixture.context(), onProgress }, { tables: [], confirm: false });
  const quiet = await fixture.pull();
  const still = await fixture.pull();

  expect([busy, quiet, still].map(({ tables }) => tables[0]?.error)).toEqual([null, null, null]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(still.tables).toMatchObject([{ pagesReadCount: 0, updatedCount: 0 }]);
});

test('stops for nobody because of rows that a push made between an interrupted pull and the next', async () => {
  await using fixture = await startTwoWay();
  const stop = new AbortController();
  fixture.sandbox.store.delete('Note', 6);
  fixture.sandbox.before(1, () => stop.abort(), { method: 'retrieve' });
  await fixture.pull({ signal: stop.signal });
  for (let code = 0; code < 9; code += 1) fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new ${code}')`);
  await pushNow(fixture);
  const states: unknown[] = [];
  fixture.sandbox.before(1, () => states.push(...fixture.rows('SELECT state, problem FROM sync_status')), {
    method: 'select',
  });

  const report = await fixture.pull();

  expect(states).toEqual([{ state: 'steady', problem: null }]);
  expect(report.tables).toMatchObject([{ held: null, deletedCount: 1, rowCount: 14 }]);
});
