import { describe, expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { pull as pullTables } from '../../src/pull/pull.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startTwoWay, twoWaySettings } from '../support/two-way.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

/** A small table of numbered notes. */
function notes(count: number, name = 'Note'): TableSpec {
  const rows = Array.from({ length: count }, (_, index) => ({ Title: `note ${index + 1}` }));
  return { name, columns: [{ name: 'Title', type: 'Text' }], rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

const SMALL_PAGES = { settings: { pageRows: 5 } };

/** Titles in the replica and at the origin, by row id: what must be equal after a pull. */
function sides(fixture: Fixture, table = 'Note'): { here: unknown; there: unknown } {
  const there = fixture.sandbox.store.rows(table).map(({ id, values }) => ({ _id: id, Title: values['Title'] }));
  return { here: fixture.rows(`SELECT _id, "Title" FROM "${table}" ORDER BY _id`), there };
}

function selects(fixture: Fixture, status?: number): number {
  return fixture.sandbox.requests.count({ method: 'select', ...(status === undefined ? {} : { status }) });
}

test('copies every row of every table', async () => {
  await using fixture = await startFixture({ tables: [notes(25), notes(0, 'Empty')] });

  const report = await fixture.pull();

  expect(report.error).toBeNull();
  expect(report.tables.toSorted((a, b) => a.table.localeCompare(b.table))).toMatchObject([
    { table: 'Empty', rowCount: 0, error: null, held: null },
    { table: 'Note', rowCount: 25, insertedCount: 25, updatedCount: 0, error: null, held: null },
  ]);
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test.each([4, 5, 6, 9, 10, 13, 14, 500])('reads a table of %i rows in pages of 5 to its end', async (count) => {
  await using fixture = await startFixture({ tables: [notes(count)] }, SMALL_PAGES);

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ rowCount: count, error: null });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test('reads the other tables when the credentials lack a right to one of them', async () => {
  await using fixture = await startFixture({ tables: [notes(3), notes(3, 'Secret'), notes(3, 'Third')] });
  const table = fixture.sandbox.store.table('Secret').alias;
  fixture.sandbox.answerInstead(1, { status: 403, body: '{"error":403,"code":4000,"message":"no"}' }, { table });

  const report = await fixture.pull({ settings: { concurrency: 1 } });

  const codes = report.tables.map(({ table: name, error }) => [name, error?.code]);
  expect(new Map(codes as [string, string | undefined][])).toEqual(
    new Map([
      ['Note', undefined],
      ['Secret', 'origin.forbidden'],
      ['Third', undefined],
    ]),
  );
});

test('asks no further table once the credentials are refused altogether', async () => {
  await using fixture = await startFixture({ tables: [notes(3), notes(3, 'Second'), notes(3, 'Third')] });
  fixture.sandbox.before(1, () => fixture.sandbox.store.revokeToken(fixture.sandbox.token), { method: 'select' });

  const report = await fixture.pull({ settings: { concurrency: 1 } });

  expect(report.tables.map(({ error }) => error?.kind)).toEqual(['auth', 'auth', 'auth']);
  expect(fixture.sandbox.requests.count({ method: 'select' })).toBe(1);
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

test('follows inserts and deletes, and keeps the last values of what was deleted', async () => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  await fixture.pull();
  const [first, second] = fixture.sandbox.store.ids('Note');
  fixture.sandbox.store.delete('Note', first ?? 0);
  fixture.sandbox.store.delete('Note', second ?? 0);
  fixture.sandbox.store.insert('Note', { Title: 'late' });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ insertedCount: 1, deletedCount: 2, rowCount: 22, error: null });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
  expect(fixture.rows(`SELECT "table", row_id, last_values ->> 'Title' AS title FROM sync_deleted`)).toEqual([
    { table: 'Note', row_id: first, title: 'note 1' },
    { table: 'Note', row_id: second, title: 'note 2' },
  ]);
});

test('asks for a missing row by id before it deletes it', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, SMALL_PAGES);
  await fixture.pull();
  const gone = fixture.sandbox.store.ids('Note')[2] ?? 0;
  fixture.sandbox.store.delete('Note', gone);
  fixture.sandbox.answerInstead(
    1,
    { status: 403, headers: { 'Content-Type': 'application/json' }, body: '{"error":403,"code":4000,"message":"no"}' },
    { method: 'retrieve' },
  );

  const refused = await fixture.pull();
  const kept = fixture.rows('SELECT count(*) AS n FROM "Note"');
  const answered = await fixture.pull();

  expect(refused.tables[0]?.error).not.toBeNull();
  expect(kept).toEqual([{ n: 8 }]);
  expect(answered.tables[0]).toMatchObject({ deletedCount: 1, error: null });
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

test('stops for a person, once, when a table turns up empty, and goes on with the others', async () => {
  await using fixture = await startFixture({ tables: [notes(8), notes(3, 'Other')] }, SMALL_PAGES);
  await fixture.pull();
  for (const id of fixture.sandbox.store.ids('Note')) fixture.sandbox.store.delete('Note', id);
  fixture.sandbox.store.insert('Other', { Title: 'new' });

  const first = await fixture.pull();
  const again = await fixture.pull();

  const held = first.tables.find(({ table }) => table === 'Note');
  expect(held).toMatchObject({
    rowCount: 8,
    deletedCount: 0,
    error: null,
    held: { code: 'guard.deletes', exitCode: 3 },
  });
  expect(first.tables.find(({ table }) => table === 'Other')).toMatchObject({ rowCount: 4, held: null });
  expect(again.tables.find(({ table }) => table === 'Note')?.held?.code).toBe('guard.deletes');
  expect(fixture.rows(`SELECT state, rows FROM sync_status WHERE "table" = 'Note'`)).toEqual([
    { state: 'held', rows: 8 },
  ]);
  expect(fixture.sandbox.requests.count({ method: 'retrieve' })).toBe(0);
});

test('applies held deletes once a person confirmed them', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, SMALL_PAGES);
  await fixture.pull();
  for (const id of fixture.sandbox.store.ids('Note').slice(0, 6)) fixture.sandbox.store.delete('Note', id);
  const held = await fixture.pull();

  const confirmed = await fixture.pull({ tables: ['note'], confirm: true });

  expect(held.tables[0]?.held?.code).toBe('guard.deletes');
  expect(confirmed.tables[0]).toMatchObject({ held: null, deletedCount: 6, rowCount: 2 });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
  expect(fixture.rows('SELECT state FROM sync_status')).toEqual([{ state: 'steady' }]);
});

test('forgets a held delete when the rows come back', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] }, SMALL_PAGES);
  await fixture.pull();
  const empty = { status: 200, headers: { 'Content-Type': 'application/json' }, body: '[]' };
  for (const nth of [1, 2]) fixture.sandbox.answerInstead(nth, empty, { method: 'select' });
  const held = await fixture.pull();

  const back = await fixture.pull();

  expect(held.tables[0]).toMatchObject({ rowCount: 8, held: { code: 'guard.deletes' } });
  expect(back.tables[0]).toMatchObject({ rowCount: 8, held: null, deletedCount: 0 });
  expect(fixture.rows('SELECT state, problem FROM sync_status')).toEqual([{ state: 'steady', problem: null }]);
});

test('trusts no ETag after the role changed, and lets its deletes wait for a person', async () => {
  await using fixture = await startFixture({ tables: [notes(23)] }, SMALL_PAGES);
  await fixture.pull();
  fixture.sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Reader' });
  fixture.sandbox.store.delete('Note', fixture.sandbox.store.ids('Note')[0] ?? 0);
  fixture.sandbox.requests.clear();

  const changed = await fixture.pull();
  const unchangedCount = selects(fixture, 304);
  const confirmed = await fixture.pull({ confirm: true });

  expect(unchangedCount).toBe(0);
  expect(changed.tables[0]).toMatchObject({ deletedCount: 0, rowCount: 23, held: { code: 'guard.deletes' } });
  expect(confirmed.tables[0]).toMatchObject({ deletedCount: 1, rowCount: 22, held: null });
});

test('refuses to mix two databases in one replica', async () => {
  await using fixture = await startFixture({ tables: [notes(3)] });
  await fixture.pull();
  await using other = await startFixture({ tables: [notes(5)], database: '777' });
  const context = { ...other.context(), replica: fixture.replica };
  const { pull } = await import('../../src/pull/pull.ts');

  const report = await pull(context, { tables: [], confirm: true });

  expect(report.error?.code).toBe('replica.otherDatabase');
  expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 3 }]);
});

test('keeps what was applied when the origin goes away in the middle, and ends equal once it is back', async () => {
  let answersLeft = 4;
  await using fixture = await startFixture(
    {
      tables: [notes(43), notes(3, 'Other')],
      intercept: ({ method }, response) => {
        if (method !== 'select' || answersLeft > 0) {
          answersLeft -= method === 'select' ? 1 : 0;
          return false;
        }
        response.destroy();
        return true;
      },
    },
    { settings: { pageRows: 5, concurrency: 1 } },
  );

  const cut = await fixture.pull();
  const applied = fixture.rows('SELECT page FROM sync_freshness').length;
  answersLeft = 1_000;
  fixture.restart();
  const whole = await fixture.pull();

  expect(cut.tables[0]?.error).toMatchObject({ kind: 'originDown', exitCode: 75 });
  expect(cut.tables[1]).toMatchObject({ table: 'Other', pagesReadCount: 0, error: { kind: 'originDown' } });
  expect(applied).toBe(4);
  expect(whole.tables.map(({ error, rowCount }) => ({ error, rowCount }))).toEqual([
    { error: null, rowCount: 43 },
    { error: null, rowCount: 3 },
  ]);
  // 11 pages of 5 that share a row, without the 4 applied ones; up to 2 empty ones behind the end are asked for ahead.
  expect(whole.tables[0]?.pagesReadCount).toBeGreaterThanOrEqual(7);
  expect(whole.tables[0]?.pagesReadCount).toBeLessThanOrEqual(9);
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test('goes on with other tables when one fails, and says why in sync_status', async () => {
  await using fixture = await startFixture({ tables: [notes(8), notes(3, 'Other')] });
  const body = '{"error":400,"code":3100,"message":"Column does not exist","source":"Title"}';
  fixture.sandbox.answerInstead(
    1,
    { status: 400, headers: { 'Content-Type': 'application/json' }, body },
    { method: 'select', table: fixture.sandbox.store.table('Note').alias },
  );

  const report = await fixture.pull();

  expect(report.tables.find(({ table }) => table === 'Note')?.error?.code).toBe('origin.refused');
  expect(report.tables.find(({ table }) => table === 'Other')).toMatchObject({ error: null, rowCount: 3 });
  expect(fixture.rows(`SELECT "table", state, problem IS NOT NULL AS told FROM sync_status ORDER BY 1`)).toEqual([
    { table: 'Note', state: 'failed', told: 1 },
    { table: 'Other', state: 'steady', told: 0 },
  ]);
});

test('an origin that is lost in the middle is the problem of the tables that had not begun, too', async () => {
  const names = ['A', 'B', 'C'];
  let isLost = false;
  await using fixture = await startFixture(
    {
      tables: names.map((name) => notes(2, name)),
      intercept: (_, response) => {
        if (isLost) response.destroy();
        return isLost;
      },
    },
    { settings: { concurrency: 1 } },
  );
  await fixture.pull();
  fixture.sandbox.before(1, () => (isLost = true), { method: 'select' });

  expect((await fixture.pull()).stop?.code).toBe('origin.unreachable');

  expect(fixture.rows(`SELECT "table", state, problem IS NOT NULL AS told FROM sync_status ORDER BY 1`)).toEqual(
    names.map((table) => ({ table, state: 'failed', told: 1 })),
  );
  isLost = false;
  await fixture.pull();
  expect(fixture.rows(`SELECT count(*) AS steady FROM sync_status WHERE state = 'steady'`)).toEqual([{ steady: 3 }]);
});

test('a mirror that another program renamed is made again, and the renamed table stays as it is', async () => {
  await using fixture = await startFixture({ tables: [notes(2)] });
  await fixture.pull();
  fixture.execute(`INSERT INTO _rowsync_moments (at, tables, not_covered, holds) VALUES ('2026-11-27T08:00:00Z', '["Note"]', '[]', 1);
    ALTER TABLE "Note" RENAME TO own_name`);

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ table: 'Note', rowCount: 2, error: null }]);
  expect(fixture.rows('SELECT count(*) AS kept FROM own_name')).toEqual([{ kept: 2 }]);
  expect(() => fixture.execute('DELETE FROM "Note"')).toThrow('read-only mirror');
  fixture.execute('DELETE FROM own_name');
  // The table had no rows for a while.
  expect(fixture.rows('SELECT holds FROM sync_moments')).toEqual([{ holds: 0 }]);
});

describe('an origin that answers 500', () => {
  const names = ['A', 'B', 'C', 'D', 'E'];

  /** Pulls five tables, one after the other, while their rows cannot be read; returns what was said of each. */
  async function pullFailing(failing: readonly string[], isUserAnswered: boolean): Promise<readonly string[]> {
    let aliases: readonly (string | null)[] = [];
    let isUp = true;
    await using fixture = await startFixture(
      {
        tables: names.map((name) => notes(2, name)),
        intercept: ({ method, table }, response) => {
          const isFailing = method === 'select' ? aliases.includes(table) : method === 'user' && !isUp;
          if (!isFailing) return false;
          isUp = isUserAnswered;
          response.writeHead(500).end();
          return true;
        },
      },
      { settings: { concurrency: 1 } },
    );
    aliases = failing.map((name) => fixture.sandbox.store.table(name).alias);
    const { tables, stop } = await fixture.pull();
    return [...tables.map(({ error }) => error?.code ?? 'done'), stop?.code ?? 'to its end'];
  }

  test.each([
    [
      'of one table is asked for the others',
      ['A'],
      true,
      ['origin.busy', 'done', 'done', 'done', 'done', 'to its end'],
    ],
    [
      'of some tables is asked for the others',
      ['B', 'C', 'D', 'E'],
      true,
      ['done', ...Array<string>(4).fill('origin.busy'), 'to its end'],
    ],
    ['of every table is down', names, true, Array<string>(6).fill('origin.busy')],
    ['of whatever it is asked is down', ['A'], false, Array<string>(6).fill('origin.busy')],
  ] as const)('%s', async (_what, failing, isUserAnswered, expected) => {
    expect(await pullFailing(failing, isUserAnswered)).toEqual(expected);
  });
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

test('expects no number of rows in a first pull, and knows it afterwards', async () => {
  await using fixture = await startFixture({ tables: [notes(43), notes(0, 'Empty')] }, SMALL_PAGES);

  await fixture.pull();
  await fixture.pull();

  expect(fixture.progress.filter(({ kind }) => kind === 'start')).toEqual([
    { kind: 'start', tableCount: 2, expectedRowCount: 0 },
    { kind: 'start', tableCount: 2, expectedRowCount: 43 },
  ]);
});

test('records every run with what it did', async () => {
  // The first pull asks once more for the description that it began with.
  await using fixture = await startFixture({ tables: [notes(8)] });
  await fixture.pull();
  await fixture.pull();

  expect(
    fixture.rows(
      'SELECT kind, outcome, tables, inserted, updated, not_modified > 0 AS skipped FROM sync_runs ORDER BY id',
    ),
  ).toEqual([
    { kind: 'pull', outcome: 'done', tables: 1, inserted: 8, updated: 0, skipped: 1 },
    { kind: 'pull', outcome: 'done', tables: 1, inserted: 0, updated: 0, skipped: 1 },
  ]);
});

test('refuses a table name that nothing matches', async () => {
  await using fixture = await startFixture({ tables: [notes(8)] });

  const report = await fixture.pull({ tables: ['Nowhere'] });

  expect(report.error).toMatchObject({ code: 'usage.invalid', exitCode: 2 });
});

test('stops at once, with what was applied in place, when it is told to', async () => {
  await using fixture = await startFixture({ tables: [notes(43)] }, SMALL_PAGES);
  const stop = new AbortController();
  fixture.sandbox.before(6, () => stop.abort(), { method: 'select' });

  const stopped = await fixture.pull({ signal: stop.signal });
  const whole = await fixture.pull();

  expect(stopped.tables[0]?.error?.code).toBe('origin.stopped');
  expect(whole.tables[0]).toMatchObject({ error: null, rowCount: 43 });
  expect(sides(fixture).here).toEqual(sides(fixture).there);
});

test('a pull that is stopped logs no failure of the table', async () => {
  await using fixture = await startFixture({ tables: [notes(3)] });
  const stop = new AbortController();
  fixture.sandbox.before(1, () => stop.abort(), { method: 'select' });
  const errors: unknown[] = [];
  const log = { ...silentLogger, error: (event: string) => void errors.push(event) };

  const report = await pullTables({ ...fixture.context(), log, signal: stop.signal }, { tables: [], confirm: false });

  expect(report.tables[0]?.error?.code).toBe('origin.stopped');
  expect(errors).toEqual([]);
});

test('deleted rows count, though their table fails after that', async () => {
  await using fixture = await startTwoWay();
  fixture.sandbox.store.delete('Note', 3);

  const report = await fixture.pull({ settings: twoWaySettings({ match: 'Title' }) });

  expect(report.tables).toMatchObject([{ error: { code: 'config.invalid' }, rowCount: 5, deletedCount: 1 }]);
});
