/**
 * Tables of which only some rows come here (`rows`): the filter goes with every request, rows that leave it are told
 * from deleted ones, and a narrower filter waits for a person.
 */
import { describe, expect, test } from 'vitest';
import type { PullSettings } from '../../src/pull/context.ts';
import { verify } from '../../src/extras/verify/verify.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { fileOf, startFilesFixture } from '../support/files.ts';
import { pushNow } from '../support/push.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

const ISSUE: TableSpec = {
  name: 'Issue',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Status', type: 'Text' },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: Array.from({ length: 20 }, (_, index) => ({
    Title: `title ${index + 1}`,
    Status: index % 2 === 0 ? 'Open' : 'Closed',
    Code: `c${index + 1}`,
  })),
};

const OPEN = '[Status] = "Open"';
const ODD = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19];

type Options = Parameters<typeof rowsOf>[1];

/** Settings of a table with a filter. */
function rowsOf(
  rows: string | null,
  {
    isTwoWay = false,
    history = false,
    match = null,
  }: { isTwoWay?: boolean; history?: boolean; match?: string | null } = {},
): Partial<PullSettings> {
  const editing = isTwoWay ? ({ match, conflict: 'local', workflow: 'run' } as const) : null;
  const bounds = history ? { keepDays: 400, bytesMax: 1_000_000 } : null;
  return { tableOptions: () => ({ sort: null, rows, editing, history: bounds }) };
}

async function start(rows: string | null = OPEN, options: Options = {}, pageRows = 4): Promise<Fixture> {
  const settings = { pageRows, ...rowsOf(rows, options) };
  const fixture = await startFixture({ tables: [ISSUE] }, { settings });
  await fixture.pull();
  return fixture;
}

function idsHere(fixture: Fixture): readonly number[] {
  return fixture.rows('SELECT _id AS id FROM "Issue" ORDER BY _id').map((row) => (row as { id: number }).id);
}

function wentFrom(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, reason FROM sync_deleted ORDER BY row_id');
}

async function fetchText({ sandbox }: Fixture, path: string): Promise<string> {
  const headers = { Authorization: `Bearer ${sandbox.token}` };
  return (await fetch(new URL(path, sandbox.url), { headers })).text();
}

/** The filters of all selects since the requests were last cleared. */
function filtersOf({ sandbox }: Fixture): readonly string[] {
  return sandbox.requests.all
    .filter(({ path }) => path.includes('/select.'))
    .map(({ path }) => new URLSearchParams(path.split('?')[1]).get('filter') ?? '');
}

describe('a filter', () => {
  test('brings the rows that it selects, and no others', async () => {
    await using fixture = await start();

    expect(idsHere(fixture)).toEqual(ODD);
    expect(fixture.rows('SELECT rows_filter, state FROM sync_status')).toEqual([
      { rows_filter: OPEN, state: 'steady' },
    ]);
  });

  test('goes with every select of a pull by windows', async () => {
    await using fixture = await start(OPEN, {}, 2);
    await fixture.pull({ settings: { windowPages: 2 } });
    fixture.sandbox.store.insert('Issue', { Title: 'new', Status: 'Open' });
    fixture.sandbox.requests.clear();

    const report = await fixture.pull({ settings: { windowPages: 2 } });

    expect(report.tables).toMatchObject([{ insertedCount: 1, error: null }]);
    const filters = filtersOf(fixture);
    expect(filters.length).toBeGreaterThan(3);
    for (const filter of filters) expect(filter).toMatch(/^(?:\[Status\] = "Open"$|\(\[Status\] = "Open"\) and \()/);
  });

  test('a second pull answers every page with "not modified"', async () => {
    await using fixture = await start();

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ pagesReadCount: 0, filteredCount: 0, deletedCount: 0 }]);
  });

  test('that the origin refuses is a problem of that table alone, with its words', async () => {
    const other: TableSpec = { ...ISSUE, name: 'Other' };
    const settings: Partial<PullSettings> = {
      tableOptions: (name) => ({ sort: null, rows: name === 'Issue' ? '[Stat] = "Open"' : null }),
    };
    await using fixture = await startFixture({ tables: [ISSUE, other] }, { settings });

    const report = await fixture.pull();

    expect(report.error).toBeNull();
    expect(report.tables.find(({ table }) => table === 'Other')).toMatchObject({ rowCount: 20, error: null });
    const failed = report.tables.find(({ table }) => table === 'Issue');
    expect(failed?.error).toMatchObject({ kind: 'originRefused' });
    expect(failed?.error?.message).toContain('There is no such column');
    expect(fixture.rows('SELECT state, hint FROM sync_status WHERE "table" = \'Issue\'')).toEqual([
      {
        state: 'failed',
        hint: expect.stringContaining('Its filter in the configuration (rows) may be wrong') as unknown,
      },
    ]);
  });

  test('refused in the middle of windows is no fault of the windows', async () => {
    await using fixture = await start(OPEN, {}, 2);
    await fixture.pull({ settings: { windowPages: 2 } });

    const report = await fixture.pull({ settings: { windowPages: 2, ...rowsOf('[Nothing] = 1') } });

    expect(report.tables).toMatchObject([{ error: { kind: 'originRefused' } }]);
    expect(fixture.rows('SELECT one_window FROM sync_status')).toEqual([{ one_window: null }]);
    expect(idsHere(fixture)).toEqual(ODD);
  });
});

describe('a row that leaves the filter', () => {
  test('leaves here as filtered, with its last values', async () => {
    await using fixture = await start();
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed', Title: 'secret by now' });

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ deletedCount: 0, filteredCount: 1, held: null }]);
    expect(idsHere(fixture)).toEqual(ODD.filter((id) => id !== 7));
    expect(wentFrom(fixture)).toEqual([{ row_id: 7, reason: 'filtered' }]);
    expect(fixture.rows('SELECT last_values FROM sync_deleted')).not.toMatchObject([
      { last_values: expect.stringContaining('secret') as string },
    ]);
    expect(fixture.rows('SELECT deleted FROM sync_runs ORDER BY id DESC LIMIT 1')).toEqual([{ deleted: 1 }]);
  });

  test('is told from a deleted one beside it', async () => {
    await using fixture = await start();
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });
    fixture.sandbox.store.delete('Issue', 9);

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ deletedCount: 1, filteredCount: 1 }]);
    expect(wentFrom(fixture)).toEqual([
      { row_id: 7, reason: 'filtered' },
      { row_id: 9, reason: 'the origin does not return the row' },
    ]);
  });

  test('comes back when it enters the filter again', async () => {
    await using fixture = await start();
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });
    await fixture.pull();
    fixture.sandbox.store.update('Issue', 7, { Status: 'Open', Title: 'again' });

    await fixture.pull();

    expect(fixture.rows('SELECT "Title" FROM "Issue" WHERE _id = 7')).toEqual([{ Title: 'again' }]);
    expect(idsHere(fixture)).toEqual(ODD);
  });

  test('stays where it enters the filter again before it is asked for', async () => {
    await using fixture = await start();
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });
    fixture.sandbox.before(1, () => fixture.sandbox.store.update('Issue', 7, { Status: 'Open' }), {
      method: 'retrieve',
    });

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 0 }]);
    expect(idsHere(fixture)).toEqual(ODD);
    await fixture.pull();
    expect(idsHere(fixture)).toEqual(ODD);
  });

  test('stays where the answer under the filter is one to another question', async () => {
    await using fixture = await start();
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });
    const { requests } = fixture.sandbox;
    const page = await fetchText(fixture, requests.find({ method: 'select' })[0]?.path ?? '');
    const answer = { status: 200, headers: { 'Content-Type': 'application/json' }, body: page };
    fixture.sandbox.before(1, () => fixture.sandbox.answerInstead(1, answer, { method: 'select' }), {
      method: 'retrieve',
    });

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 0, error: null }]);
    expect(idsHere(fixture)).toContain(7);
  });

  test('and all but one of its kind leave without a person', async () => {
    await using fixture = await start();
    for (const id of ODD.slice(1)) fixture.sandbox.store.update('Issue', id, { Status: 'Closed' });

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 9, held: null }]);
    expect(idsHere(fixture)).toEqual([1]);
  });

  test('does not let more deletes through than the guard allows', async () => {
    await using fixture = await start();
    for (const id of [1, 3, 5]) fixture.sandbox.store.update('Issue', id, { Status: 'Closed' });
    for (const id of [7, 9, 11, 13, 15, 17]) fixture.sandbox.store.delete('Issue', id);

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 3, deletedCount: 0, held: { code: 'guard.deletes' } }]);
    expect(idsHere(fixture)).toEqual([7, 9, 11, 13, 15, 17, 19]);
    const confirmed = await fixture.pull({ confirm: true });
    expect(confirmed.tables).toMatchObject([{ filteredCount: 0, deletedCount: 6, held: null }]);
  });

  test('does not let more deletes through in several requests', async () => {
    await using fixture = await start();
    fixture.execute('UPDATE _rowsync_tables SET page_rows = 3');
    for (const id of [1, 3, 5]) fixture.sandbox.store.update('Issue', id, { Status: 'Closed' });
    for (const id of [7, 9, 11, 13, 15, 17]) fixture.sandbox.store.delete('Issue', id);

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 3, deletedCount: 0, held: { code: 'guard.deletes' } }]);
    expect(idsHere(fixture)).toEqual([7, 9, 11, 13, 15, 17, 19]);
  });

  test('is no other one behind a first load that was broken off and missed deletes', async () => {
    await using fixture = await start();
    fixture.execute(`UPDATE _rowsync_tables SET state = 'loading', swept_at = NULL, rows_filter = NULL`);
    for (const id of ODD.slice(0, 9)) fixture.sandbox.store.delete('Issue', id);

    const first = await fixture.pull();
    const second = await fixture.pull();

    expect([first, second].map(({ tables }) => tables[0]?.held?.code)).toEqual(['guard.deletes', 'guard.deletes']);
  });

  test('waits for a person where no row is left', async () => {
    await using fixture = await start();
    for (const id of ODD) fixture.sandbox.store.update('Issue', id, { Status: 'Closed' });

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 0, held: { code: 'guard.deletes' } }]);
    expect(idsHere(fixture)).toEqual(ODD);
    await fixture.pull({ confirm: true });
    expect(idsHere(fixture)).toEqual([]);
  });

  test('is an entry of the journal with the cause filter', async () => {
    await using fixture = await start(OPEN, { history: true });
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });

    await fixture.pull();

    expect(fixture.rows(`SELECT row_id, kind, cause FROM sync_history WHERE kind = 'delete'`)).toEqual([
      { row_id: 7, kind: 'delete', cause: 'filter' },
    ]);
  });
});

describe('another filter', () => {
  test('that is narrower shows how many rows would go, and waits for a person', async () => {
    await using fixture = await start(null);
    expect(idsHere(fixture)).toHaveLength(20);

    const report = await fixture.pull({ settings: rowsOf(OPEN) });

    expect(report.tables).toMatchObject([{ filteredCount: 0, held: { code: 'guard.filter' } }]);
    expect(report.tables[0]?.held?.message).toContain('10 of 20 rows');
    expect(idsHere(fixture)).toHaveLength(20);

    const again = await fixture.pull({ settings: rowsOf(OPEN) });
    expect(again.tables).toMatchObject([{ pagesReadCount: 0, held: { code: 'guard.filter' } }]);

    const confirmed = await fixture.pull({ settings: rowsOf(OPEN), confirm: true });
    expect(confirmed.tables).toMatchObject([{ filteredCount: 10, held: null }]);
    expect(idsHere(fixture)).toEqual(ODD);
    expect(fixture.rows('SELECT rows_filter FROM sync_status')).toEqual([{ rows_filter: OPEN }]);
  });

  test('that is wider reads the rows that were left out', async () => {
    await using fixture = await start();

    const report = await fixture.pull({ settings: rowsOf(null) });

    expect(report.tables).toMatchObject([{ insertedCount: 10, held: null }]);
    expect(idsHere(fixture)).toHaveLength(20);
    expect(fixture.rows('SELECT rows_filter FROM sync_status')).toEqual([{ rows_filter: null }]);
  });

  test('that is wider is no narrower one for the rows that were deleted meanwhile', async () => {
    await using fixture = await start();
    fixture.sandbox.store.delete('Issue', 3);

    const report = await fixture.pull({ settings: rowsOf('[Status] <> "Archived"') });

    expect(report.tables).toMatchObject([{ insertedCount: 10, deletedCount: 1, filteredCount: 0, held: null }]);
  });

  test('that is taken back before a person agreed leaves everything as it was', async () => {
    await using fixture = await start(null);
    await fixture.pull({ settings: rowsOf(OPEN) });

    const report = await fixture.pull({ settings: rowsOf(null) });

    expect(report.tables).toMatchObject([{ deletedCount: 0, filteredCount: 0, held: null }]);
    expect(idsHere(fixture)).toHaveLength(20);
  });
});

describe('following', () => {
  const follows = { follows: 'all' } as const;

  async function startFollowed(): Promise<{ fixture: Fixture; advance: () => void }> {
    const clock = testClock({ startMs: Date.UTC(2026, 5, 1) });
    const settings = { pageRows: 4, ...follows, ...rowsOf(OPEN) };
    const fixture = await startFixture({ tables: [ISSUE], clock }, { clock, settings });
    await fixture.pull();
    const advance = (): void => clock.advance(3_600_000);
    advance();
    fixture.sandbox.requests.clear();
    return { fixture, advance };
  }

  test('an unchanged table asks under the filter only', async () => {
    const { fixture } = await startFollowed();
    await using _ = fixture;

    const report = await fixture.pull({ follow: true });

    expect(report.tables).toMatchObject([{ isFollowed: true, pagesReadCount: 0 }]);
    for (const filter of filtersOf(fixture)) expect(filter).toContain(OPEN);
  });

  test('brings a row that entered, and lets one go that left, without a sweep', async () => {
    const { fixture } = await startFollowed();
    await using _ = fixture;
    fixture.sandbox.store.update('Issue', 2, { Status: 'Open' });
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });

    const report = await fixture.pull({ follow: true });

    expect(report.tables).toMatchObject([{ isFollowed: true, insertedCount: 1, filteredCount: 1, deletedCount: 0 }]);
    expect(idsHere(fixture)).toEqual([1, 2, 3, 5, 9, 11, 13, 15, 17, 19]);
    expect(wentFrom(fixture)).toEqual([{ row_id: 7, reason: 'filtered' }]);
  });

  test('an ETag vouches for no row that left: one that comes back as it was is read', async () => {
    const { fixture, advance } = await startFollowed();
    await using _ = fixture;
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });
    await fixture.pull({ follow: true });
    fixture.sandbox.store.update('Issue', 7, { Status: 'Open' });
    advance();

    await fixture.pull();

    expect(idsHere(fixture)).toEqual(ODD);
  });

  test('sweeps once where the filter is another one', async () => {
    const { fixture, advance } = await startFollowed();
    await using _ = fixture;
    const wider = { ...follows, ...rowsOf('[Status] <> "Archived"') };

    const first = await fixture.pull({ follow: true, settings: wider });
    advance();
    const second = await fixture.pull({ follow: true, settings: wider });

    expect(first.tables).toMatchObject([{ isFollowed: false, insertedCount: 10 }]);
    expect(second.tables).toMatchObject([{ isFollowed: true }]);
  });
});

describe('a two-way table', () => {
  test('pushes an edit that takes its row out of the filter, and then lets the row go', async () => {
    await using fixture = await start(OPEN, { isTwoWay: true });
    fixture.execute(`UPDATE "Issue" SET "Status" = 'Closed' WHERE _id = 7`);

    await pushNow(fixture);
    expect(fixture.sandbox.store.rows('Issue')[6]?.values).toMatchObject({ Status: 'Closed' });
    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 1, deletedCount: 0 }]);
    expect(idsHere(fixture)).toEqual(ODD.filter((id) => id !== 7));
    expect(fixture.sandbox.store.rows('Issue')).toHaveLength(20);
    expect(fixture.rows('SELECT pending, parked FROM sync_status')).toEqual([{ pending: 0, parked: 0 }]);
  });

  test.each([null, 'Code'])('pushes a new row that lies outside, and then lets it go (match: %s)', async (match) => {
    await using fixture = await start(OPEN, { isTwoWay: true, match });
    fixture.execute(`INSERT INTO "Issue" ("Title", "Status", "Code") VALUES ('mine', 'Closed', 'n1')`);

    await pushNow(fixture);
    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ filteredCount: 1 }]);
    expect(fixture.sandbox.store.rows('Issue')).toHaveLength(21);
    expect(idsHere(fixture)).toEqual(ODD);
    await pushNow(fixture);
    expect(fixture.sandbox.store.rows('Issue')).toHaveLength(21);
  });

  test('a row with an edit that waits stays until the edit is at the origin', async () => {
    await using fixture = await start(OPEN, { isTwoWay: true });
    fixture.execute(`UPDATE "Issue" SET "Title" = 'mine' WHERE _id = 7`);
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });

    const first = await fixture.pull();
    expect(first.tables).toMatchObject([{ filteredCount: 0, held: null, error: null }]);
    expect(idsHere(fixture)).toEqual(ODD);
    await pushNow(fixture);
    expect(fixture.sandbox.store.rows('Issue')[6]?.values).toMatchObject({ Title: 'mine', Status: 'Closed' });
    const second = await fixture.pull();

    expect(second.tables).toMatchObject([{ filteredCount: 1 }]);
    expect(fixture.rows('SELECT count(*) AS n FROM sync_conflicts')).toEqual([{ n: 0 }]);
  });

  test('a delete here of a row that left is carried out there', async () => {
    await using fixture = await start(OPEN, { isTwoWay: true });
    fixture.execute('DELETE FROM "Issue" WHERE _id = 7');
    await fixture.pull();

    await pushNow(fixture);

    expect(fixture.sandbox.store.rows('Issue').map(({ id }) => id)).not.toContain(7);
  });

  test('a new row whose match value a row outside of the filter has is merged with that one, and what loses is kept', async () => {
    await using fixture = await start(OPEN, { isTwoWay: true, match: 'Code' });
    fixture.execute(`INSERT INTO "Issue" ("Title", "Status", "Code") VALUES ('mine', 'Open', 'c2')`);

    await pushNow(fixture);
    await fixture.pull();

    expect(fixture.sandbox.store.rows('Issue')).toHaveLength(20);
    expect(idsHere(fixture)).toEqual(ODD);
    expect(fixture.rows('SELECT row_id, "column", local, remote, winner FROM sync_conflicts')).toEqual([
      { row_id: 2, column: 'Title', local: 'mine', remote: 'title 2', winner: 'origin' },
      { row_id: 2, column: 'Status', local: 'Open', remote: 'Closed', winner: 'origin' },
    ]);
  });
});

describe('files', () => {
  test('of a row that leaves are kept like those of a deleted one, and are there again when it comes back', async () => {
    const row = { Title: 'with a file', Status: 'Open', Code: 'f1', Photo: fileOf('a.txt', 'content') };
    const table: TableSpec = { ...ISSUE, rows: [...(ISSUE.rows ?? []), row] };
    await using fixture = await startFilesFixture({ tables: [table] }, { settings: rowsOf(OPEN) });
    await fixture.pull();
    await fixture.pullFiles();
    expect(fixture.files()).toMatchObject([{ row_id: 21, state: 'here', vanished: null }]);

    fixture.sandbox.store.update('Issue', 21, { Status: 'Closed' });
    await fixture.pull();
    await fixture.pullFiles();
    const [left] = fixture.files();
    expect(left).toMatchObject({ row_id: 21, state: 'here' });
    expect(left?.vanished).not.toBeNull();

    fixture.sandbox.store.update('Issue', 21, { Status: 'Open' });
    await fixture.pull();
    await fixture.pullFiles();
    expect(fixture.files()).toMatchObject([{ row_id: 21, state: 'here', vanished: null }]);
    expect(fixture.problems()).toEqual([]);
  });
});

describe('verify', () => {
  test('compares under the filter', async () => {
    await using fixture = await start();
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });

    const report = await verify(fixture.context(), { tables: [] });

    expect(report.tables).toMatchObject([{ comparedCount: 9, mismatchCount: 0, error: null }]);
  });

  test('does not count a row outside that waits for its edit', async () => {
    await using fixture = await start(OPEN, { isTwoWay: true });
    fixture.execute(`UPDATE "Issue" SET "Title" = 'mine' WHERE _id = 7`);
    fixture.sandbox.store.update('Issue', 7, { Status: 'Closed' });

    const report = await verify(fixture.context(), { tables: [] });

    expect(report.tables).toMatchObject([{ mismatchCount: 0, error: null }]);
  });
});
