/** A pull of all tables: which are read and in which order, what ends it, and what it records. */
import { describe, expect, test } from 'vitest';
import { pull } from '../../src/pull/pull.ts';
import { startFixture } from '../support/replica.ts';
import { goods, notes, sides } from '../support/small-tables.ts';

const SMALL_PAGES = { settings: { pageRows: 5 } };

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

test('refuses to mix two databases in one replica', async () => {
  await using fixture = await startFixture({ tables: [notes(3)] });
  await fixture.pull();
  await using other = await startFixture({ tables: [notes(5)], database: '777' });
  const context = { ...other.context(), replica: fixture.replica };

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

test('keeps a table that is gone, says so, and takes it up again when it returns', async () => {
  await using fixture = await startFixture({ tables: [goods(), goods('Other')] });
  await fixture.pull();
  fixture.sandbox.store.setRole({ name: 'Half', canWrite: true, hiddenTables: ['Other'], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Half' });

  const without = await fixture.pull();
  const gone = fixture.rows(`SELECT state, rows FROM sync_status WHERE "table" = 'Other'`);
  fixture.sandbox.store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [] });
  const again = await fixture.pull();

  expect(without.tables.map(({ table }) => table)).toEqual(['Good']);
  expect(gone).toEqual([{ state: 'gone', rows: 3 }]);
  expect(again.tables.find(({ table }) => table === 'Other')).toMatchObject({ rowCount: 3, error: null });
  expect(fixture.rows(`SELECT state FROM sync_status WHERE "table" = 'Other'`)).toEqual([{ state: 'steady' }]);
});

test('leaves all tables as they are when most of them vanish at once', async () => {
  await using fixture = await startFixture({ tables: [goods('A'), goods('B'), goods('C')] });
  await fixture.pull();
  fixture.sandbox.store.setRole({ name: 'Blind', canWrite: true, hiddenTables: ['A', 'B'], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Blind' });

  const held = await fixture.pull();
  const states = fixture.rows('SELECT state FROM sync_status');
  const confirmed = await fixture.pull({ confirm: true });

  expect(held.error).toMatchObject({ code: 'guard.schema', exitCode: 3 });
  expect(states).toEqual([{ state: 'steady' }, { state: 'steady' }, { state: 'steady' }]);
  expect(confirmed.error).toBeNull();
  expect(fixture.rows(`SELECT count(*) AS n FROM sync_status WHERE state = 'gone'`)).toEqual([{ n: 2 }]);
});

/** Pages of five rows that share one, read one after the other. */
const SETTINGS = { pageRows: 5, concurrency: 1 };

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
