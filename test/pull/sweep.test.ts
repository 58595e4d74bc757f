/** Reading every page of a table: ETags, rows that move between two pages, and pages that an interrupted pull left. */
import { expect, test } from 'vitest';
import { must } from '../../src/base/assert.ts';
import { pull } from '../../src/pull/pull.ts';
import type { PullProgress } from '../../src/pull/report.ts';
import { resync } from '../../src/cli/commands/resync.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { brokenPages, readOrigin, readReplica, wrongCounts } from '../support/compare.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { REPAIR_ROUNDS_MAX } from '../../src/reconcile/windows.ts';
import { notes, sides } from '../support/small-tables.ts';

/** Pages of five rows that share one, read one after the other. */
const SETTINGS = { pageRows: 5, concurrency: 1 };

test('finds where the rows began to shift, however far back that is', async () => {
  await using fixture = await startFixture({ tables: [notes(200)] }, { settings: { ...SETTINGS, windowPages: 100 } });
  const { store } = fixture.sandbox;
  fixture.sandbox.before(45, () => store.delete('Note', store.ids('Note')[0] ?? 0), { method: 'select' });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ error: null, held: null, rowCount: 199 }]);
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

const SMALL_PAGES = { settings: { pageRows: 5 } };

function selects(fixture: Fixture, status?: number): number {
  return fixture.sandbox.requests.count({ method: 'select', ...(status === undefined ? {} : { status }) });
}

test.each([4, 5, 6, 9, 10, 13, 14, 500])('reads a table of %i rows in pages of 5 to its end', async (count) => {
  await using fixture = await startFixture({ tables: [notes(count)] }, SMALL_PAGES);

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ rowCount: count, error: null });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test('skips every page of an unchanged table by ETag and writes no row', async () => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  await fixture.pull();
  fixture.execute(`
    CREATE TABLE witness (what TEXT);
    CREATE TRIGGER witness_insert AFTER INSERT ON "Note" BEGIN INSERT INTO witness VALUES ('insert'); END;
    CREATE TRIGGER witness_update AFTER UPDATE ON "Note" BEGIN INSERT INTO witness VALUES ('update'); END;`);
  fixture.sandbox.requests.clear();

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({
    pagesReadCount: 0,
    pagesNotModifiedCount: 6,
    updatedCount: 0,
    insertedCount: 0,
  });
  expect({ all: selects(fixture), unchanged: selects(fixture, 304) }).toEqual({ all: 6, unchanged: 6 });
  expect(fixture.rows('SELECT * FROM witness')).toEqual([]);
});

test('writes only the rows that changed on a page that changed', async () => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  await fixture.pull();
  fixture.execute(`
    CREATE TABLE witness (id INTEGER);
    CREATE TRIGGER witness_update AFTER UPDATE ON "Note" BEGIN INSERT INTO witness VALUES (new._id); END;`);
  const [, second] = fixture.sandbox.store.ids('Note');
  fixture.sandbox.store.update('Note', second ?? 0, { Title: 'changed' });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ pagesReadCount: 1, updatedCount: 1, insertedCount: 0 });
  expect(fixture.rows('SELECT id FROM witness')).toEqual([{ id: second }]);
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test('keeps a row that moves to another page', async () => {
  await using fixture = await startFixture(
    { tables: [notes(12)] },
    { settings: { pageRows: 5, tableOptions: () => ({ sort: ['Title'] }) } },
  );
  await fixture.pull();
  const id = fixture.sandbox.store.ids('Note')[0] ?? 0;
  fixture.sandbox.store.update('Note', id, { Title: 'zzz' });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ deletedCount: 0, updatedCount: 1, rowCount: 12 });
  expect(fixture.sandbox.requests.count({ method: 'retrieve' })).toBe(0);
});

test.each([2, 3, 4, 5, 6])('loses no row when rows are deleted before request %i of a first sweep', async (nth) => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  fixture.sandbox.before(
    nth,
    () => {
      for (const id of fixture.sandbox.store.ids('Note').slice(0, 3)) fixture.sandbox.store.delete('Note', id);
    },
    { method: 'select' },
  );

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ error: null, held: null, rowCount: 20 });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test.each([1, 2, 4, 6])('loses no row when rows come and go before request %i of a later sweep', async (nth) => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  await fixture.pull();
  fixture.sandbox.before(
    nth,
    () => {
      fixture.sandbox.store.delete('Note', fixture.sandbox.store.ids('Note')[7] ?? 0);
      for (let turn = 0; turn < 9; turn += 1) fixture.sandbox.store.insert('Note', { Title: `late ${turn}` });
    },
    { method: 'select' },
  );

  const during = await fixture.pull();
  const after = await fixture.pull();

  expect([during.tables[0]?.error, after.tables[0]?.error]).toEqual([null, null]);
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test('keeps the old value, stores no ETag and says so when a value cannot be read', async () => {
  await using fixture = await startFixture({
    tables: [
      {
        name: 'Note',
        columns: [{ name: 'Done', type: 'Checkbox' }],
        rows: [{ Done: true }, { Done: false }],
        systemColumns: false,
      },
    ],
  });
  await fixture.pull();
  const [first, second] = fixture.sandbox.store.ids('Note');
  fixture.sandbox.store.update('Note', second ?? 0, { Done: true });
  const allow = '"@row.allow":"Edit, Delete"';
  const body = `[{"@row.id":${first},${allow},"Id":"1","Done":"maybe"},{"@row.id":${second},${allow},"Id":"2","Done":true}]`;
  fixture.sandbox.answerInstead(
    1,
    { status: 200, headers: { 'Content-Type': 'application/json', ETag: '"x"' }, body },
    { method: 'select' },
  );

  const unreadable = await fixture.pull();
  const failures = fixture.rows('SELECT "table", row_id, "column" FROM sync_failures');
  const etags = fixture.rows('SELECT has_etag FROM sync_freshness');
  const values = fixture.rows('SELECT "Done" FROM "Note" ORDER BY _id');
  const readable = await fixture.pull();

  expect(unreadable.tables[0]).toMatchObject({ unreadableCount: 1, updatedCount: 1, error: null });
  expect(failures).toEqual([{ table: 'Note', row_id: first, column: 'Done' }]);
  expect(etags).toEqual([{ has_etag: 0 }]);
  expect(values).toEqual([{ Done: 1 }, { Done: 1 }]);
  expect(readable.tables[0]).toMatchObject({ unreadableCount: 0, pagesReadCount: 1 });
});

test('finds out when the origin returns fewer rows than it has', async () => {
  await using fixture = await startFixture({ tables: [notes(4)] }, SMALL_PAGES);
  const rows = fixture.sandbox.store.rows('Note').slice(0, 3);
  const texts = rows.map(({ id, values }) =>
    JSON.stringify({ '@row.id': id, ...values, 'Date Created': null, 'Date Modified': null }),
  );
  const capped = { status: 200, headers: { 'Content-Type': 'application/json' }, body: `[${texts.join(',')}]` };
  for (const nth of [1, 3, 5, 7, 9, 11]) fixture.sandbox.answerInstead(nth, capped, { method: 'select' });

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toMatchObject({ code: 'origin.shortPage' });
  expect(report.tables[0]?.error?.hint).toContain('limits.pageRows');
});

/** As from a cache that goes by the path: one page, whatever is asked for. */
function onePageForAll(fixture: Fixture, rowCount: number, etag: string | null, times: number): void {
  const texts = fixture.sandbox.store
    .rows('Note')
    .slice(0, rowCount)
    .map(({ id, values }) => JSON.stringify({ '@row.id': id, ...values, 'Date Created': null, 'Date Modified': null }));
  const headers = { 'Content-Type': 'application/json', ...(etag === null ? {} : { ETag: etag }) };
  const body = `[${texts.join(',')}]`;
  for (let nth = 1; nth <= times; nth += 1)
    fixture.sandbox.answerInstead(nth, { status: 200, headers, body }, { method: 'select' });
}

test.each([
  ['full pages', 5],
  ['a page that is not full', 3],
])('ends where a cache answers every select with %s of the same rows', async (_what, rowCount) => {
  await using fixture = await startFixture({ tables: [notes(12)] }, SMALL_PAGES);
  onePageForAll(fixture, rowCount, null, 100);

  const first = await fixture.pull();
  const second = await fixture.pull();

  expect(first.tables[0]?.error).toMatchObject({ kind: 'wireFormat', code: 'origin.samePage' });
  expect(second.tables[0]?.error).toMatchObject({ code: 'origin.samePage' });
  expect(first.requestCount).toBeLessThan(40);
});

test.each([
  ['full pages', 5, null],
  ['full pages with a tag', 5, '"t"'],
  ['a page that is not full', 3, null],
])(
  'reads on once a cache is gone that answered every select with %s of the same rows',
  async (_what, rowCount, etag) => {
    await using fixture = await startFixture({ tables: [notes(12)] }, SMALL_PAGES);
    onePageForAll(fixture, rowCount, etag, 50);
    const codes: unknown[] = [];
    for (let round = 1; round <= 12 && codes.at(-1) !== null; round += 1)
      codes.push((await fixture.pull()).tables[0]?.error?.code ?? null);

    const { here, there } = sides(fixture);

    expect(codes).toContain('origin.samePage');
    expect(codes.at(-1)).toBeNull();
    expect(here).toEqual(there);
  },
);
