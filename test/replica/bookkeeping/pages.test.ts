/**
 * The page map: an ETag is never ahead of its rows, a row that left its page is a suspect, and what is listed is
 * compared with what is here.
 */
import { expect, test } from 'vitest';
import {
  clearSeenSuspects,
  countBySecond,
  countExpected,
  countPages,
  countStampedFrom,
  distrustBase,
  distrustRows,
  dropPagesFrom,
  forgetAllEtags,
  forgetEtags,
  notePage,
  provePages,
  readLatestStamp,
  readPagedWindows,
  readPages,
  readPullAccount,
  readWindowSizes,
  type AnsweredPage,
} from '../../../src/replica/bookkeeping/pages.ts';
import { readSuspects } from '../../../src/replica/bookkeeping/suspects.ts';
import { openSweep } from '../../../src/replica/bookkeeping/sweeps.ts';
import { readTable } from '../../../src/replica/bookkeeping/tables.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const LATER = '2026-11-21T13:00:00Z';
const WINDOW = '2026-11-01T00:00:00Z';

/** An answer with the rows of a page. */
function note(bare: Bare, page: number, ids: readonly number[], change: Partial<AnsweredPage> = {}): Promise<void> {
  const facts = {
    window: '',
    page,
    lastStamp: null,
    tieCount: 0,
    url: `/${page}`,
    etag: `"${page}"`,
    sweep: 1,
    at: AT,
  };
  return bare.write((tx) => notePage(tx, 1, { ...facts, content: { rows: [], unreadable: [], ids }, ...change }));
}

const suspects = ({ replica }: Bare): readonly number[] => readSuspects(replica, 1, Number.MIN_SAFE_INTEGER, 100);
const etags = ({ replica }: Bare): unknown => readPages(replica, 1).map(({ page, etag }) => [page, etag]);

function insert(bare: Bare, ...ids: readonly number[]): void {
  for (const id of ids) bare.execute(`INSERT INTO "Note" (_id) VALUES (${id})`);
}

test('a page is kept with what proves it, and replaced by its next answer', async () => {
  await using bare = await openBare();
  await note(bare, 1, [4, 2], { lastStamp: AT, tieCount: 2 });
  await note(bare, 0, [], { window: WINDOW });
  await note(bare, 1, [4, 3, 9], { etag: null, sweep: 2, at: LATER, lastStamp: null, tieCount: 0 });

  expect(readPages(bare.replica, 1)).toEqual([
    {
      window: '',
      page: 1,
      url: '/1',
      etag: null,
      rowCount: 3,
      firstId: 4,
      lastId: 9,
      lastStamp: null,
      tieCount: 0,
      sweep: 2,
    },
    {
      window: WINDOW,
      page: 0,
      url: '/0',
      etag: '"0"',
      rowCount: 0,
      firstId: null,
      lastId: null,
      lastStamp: null,
      tieCount: 0,
      sweep: 1,
    },
  ]);
  expect([countPages(bare.replica, 1), countPages(bare.replica, 2)]).toEqual([2, 0]);
  expect(
    bare.lines('SELECT "table", "window", page, rows, verified_at, has_etag FROM sync_freshness ORDER BY 2'),
  ).toEqual([
    ['Note', '', 1, 3, LATER, 0],
    ['Note', WINDOW, 0, 0, AT, 1],
  ]);
});

test('a page with a row that could not be read keeps no ETag, so that it is read again', async () => {
  await using bare = await openBare();
  const unreadable = [{ id: 2, column: 'Done', reason: 'no truth value' }];

  await note(bare, 0, [1, 2], { content: { rows: [], unreadable, ids: [1, 2] } });

  expect(etags(bare)).toEqual([[0, null]]);
});

test('windows are listed in order, with their pages', async () => {
  await using bare = await openBare();
  for (const page of [0, 1]) await note(bare, page, [], { window: WINDOW });
  await note(bare, 0, [], { window: 'none' });
  await note(bare, 0, []);

  expect(readWindowSizes(bare.replica, 1)).toEqual([
    { window: '', pageCount: 1 },
    { window: WINDOW, pageCount: 2 },
    { window: 'none', pageCount: 1 },
  ]);
  expect(readPagedWindows(bare.replica, 1)).toEqual(['', WINDOW, 'none']);
});

test('a 304 proves its page for this sweep and changes nothing else', async () => {
  await using bare = await openBare();
  for (const page of [0, 1, 2]) await note(bare, page, [page]);
  await note(bare, 1, [7], { window: WINDOW });

  const pages = [0, 2].map((page) => ({ window: '', page }));
  await bare.write((tx) => provePages(tx, 1, { sweep: 5, at: LATER, pages }));

  expect(readPages(bare.replica, 1).map(({ window, page, sweep, etag }) => [window, page, sweep, etag])).toEqual([
    ['', 0, 5, '"0"'],
    ['', 1, 1, '"1"'],
    ['', 2, 5, '"2"'],
    [WINDOW, 1, 1, '"1"'],
  ]);
  expect(bare.lines(`SELECT page FROM sync_freshness WHERE verified_at = '${LATER}'`)).toEqual([[0], [2]]);
});

test('a row that left its page is a suspect until a page shows it again', async () => {
  await using bare = await openBare();
  await note(bare, 0, [1, 2, 3]);
  await note(bare, 0, [1, 3]);
  expect(suspects(bare)).toEqual([2]);

  await note(bare, 1, [2]);

  expect(suspects(bare)).toEqual([]);
});

test('rows of dropped pages are suspects, and the pages of other windows stay', async () => {
  await using bare = await openBare();
  for (const page of [0, 1, 2]) await note(bare, page, [page + 10]);
  await note(bare, 2, [99], { window: WINDOW });

  await bare.write((tx) => dropPagesFrom(tx, 1, { window: '', page: 1 }));

  expect(readPages(bare.replica, 1).map(({ window, page }) => [window, page])).toEqual([
    ['', 0],
    [WINDOW, 2],
  ]);
  expect(suspects(bare)).toEqual([11, 12]);
});

test('a suspect on an older page stays, and that page is read again: the table may hold values of another one', async () => {
  await using bare = await openBare();
  insert(bare, 1, 2, 3);
  // Row 2 was on page 1 before it was on page 0, and has left that.
  await note(bare, 1, [2, 3]);
  await note(bare, 0, [1, 2]);
  await note(bare, 0, [1]);

  const gone = await bare.write((tx) => clearSeenSuspects(tx, bare.target()));

  expect([gone, suspects(bare)]).toEqual([0, [2]]);
  expect(etags(bare)).toEqual([
    [0, '"0"'],
    [1, null],
  ]);
});

test('suspects on no page are counted as far as they are here', async () => {
  await using bare = await openBare();
  insert(bare, 1, 2);
  await note(bare, 0, [1, 2, 3]);
  await note(bare, 0, [1]);

  expect(await bare.write((tx) => clearSeenSuspects(tx, bare.target()))).toBe(1);
  expect(suspects(bare)).toEqual([2, 3]);
});

test('rows that the origin must have are those here, and those that could never be read', async () => {
  await using bare = await openBare();
  insert(bare, 1, 2);
  bare.execute(
    `INSERT INTO _rowsync_unreadable VALUES (1, 2, 'Done', '', ''), (1, 3, 'Done', '', ''), (2, 4, 'Done', '', '')`,
  );

  expect(countExpected(bare.replica, bare.target())).toBe(3);
});

test('what the pages list is compared with what is here; a page begins with the last row of the one before', async () => {
  await using bare = await openBare();
  insert(bare, 1, 2, 3);
  await note(bare, 0, [1, 2]);
  await note(bare, 1, [2, 3]);
  const account = () => readPullAccount(bare.replica, bare.target(), false);
  expect(account()).toMatchObject({ listed: 3, missing: 0, kept: 0, strange: 0 });

  insert(bare, 9);

  expect(account()).toMatchObject({ listed: 3, missing: 0, kept: 0, strange: 1 });
});

test('a listed row that is not here is missing, unless it was deleted after its page was read', async () => {
  await using bare = await openBare();
  insert(bare, 1, 4);
  await note(bare, 0, [1, 2, 3]);
  const account = () => readPullAccount(bare.replica, bare.target(), false);
  expect(account()).toMatchObject({ listed: 3, missing: 2, strange: 1 });

  const deleted = (id: number, at: string): void =>
    bare.execute(`INSERT INTO _rowsync_deleted (table_id, table_name, row_id, deleted_at, reason, row_values)
      VALUES (1, 'Note', ${id}, '${at}', 'origin', '{}')`);
  deleted(2, LATER);
  deleted(3, '2026-11-21T11:59:59Z');
  expect(account()).toMatchObject({ missing: 1, strange: 1 });

  // The origin listed it after it was deleted here.
  await note(bare, 1, [3, 5], { at: LATER });
  deleted(5, '2026-11-21T12:30:00Z');
  expect(account()).toMatchObject({ missing: 2 });
});

test.each(['Listed', 'Other', 'Gone'])('a table may be called as a part of the comparison is: %s', async (name) => {
  await using bare = await openBare();
  await bare.makeTable(2, name, [described('Title')]);
  bare.execute(`INSERT INTO "${name}" (_id) VALUES (1), (4)`);
  const facts = { window: '', page: 0, lastStamp: null, tieCount: 0, url: '/', etag: null, sweep: 1, at: AT };
  await bare.write((tx) => notePage(tx, 2, { ...facts, content: { rows: [], unreadable: [], ids: [1, 2, 3] } }));

  expect(readPullAccount(bare.replica, bare.target(2), false)).toMatchObject({ listed: 3, missing: 2, strange: 1 });
});

test('a suspect here is kept, and a row that cannot be read is not missing', async () => {
  await using bare = await openBare();
  insert(bare, 1, 2);
  await note(bare, 0, [1, 2, 3]);
  await note(bare, 0, [1, 3]);
  bare.execute(`INSERT INTO _rowsync_unreadable VALUES (1, 3, 'Done', '', '')`);

  expect(readPullAccount(bare.replica, bare.target(), false)).toMatchObject({
    listed: 2,
    unreadable: 1,
    kept: 1,
    missing: 0,
    strange: 0,
  });
});

test('rows are counted from a second on, and by their second', async () => {
  await using bare = await openBare([described('At', 'Timestamp')]);
  expect(readLatestStamp(bare.replica, bare.target(), 'At')).toBeNull();
  const stamps = ['2026-11-21T11:59:59.9Z', '2026-11-21T12:00:00Z', '2026-11-21T12:00:00.5Z', '2026-11-21T12:00:01Z'];
  for (const stamp of stamps) bare.execute(`INSERT INTO "Note" ("At") VALUES ('${stamp}'), (NULL)`);
  const from = { column: 'At', stamp: AT };

  expect(countStampedFrom(bare.replica, bare.target(), from)).toBe(3);
  expect([...countBySecond(bare.replica, bare.target(), from)]).toEqual([
    [AT, 2],
    ['2026-11-21T12:00:01Z', 1],
  ]);
  expect(readLatestStamp(bare.replica, bare.target(), 'At')).toBe('2026-11-21T12:00:01Z');
});

test('ETags of one table, or of all, are forgotten; the rows of the pages stay known', async () => {
  await using bare = await openBare();
  await bare.makeTable(2, 'Task', []);
  const noted = () =>
    bare.write((tx) => {
      for (const id of [1, 2]) {
        const facts = { window: '', page: 0, lastStamp: null, tieCount: 0, url: '/', etag: '"x"', sweep: 1, at: AT };
        notePage(tx, id, { ...facts, content: { rows: [], unreadable: [], ids: [1] } });
        openSweep(tx, id, AT);
      }
    });
  const kept = () => [1, 2].map((id) => [readPages(bare.replica, id)[0]?.etag, readTable(bare.replica, id).sweepOpen]);
  await noted();

  await bare.write((tx) => forgetEtags(tx, 1));
  expect(kept()).toEqual([
    [null, false],
    ['"x"', true],
  ]);

  await bare.write(forgetAllEtags);
  expect(kept()[1]).toEqual([null, true]);
  expect(bare.lines('SELECT table_id, row_ids FROM _rowsync_page_rows ORDER BY 1')).toEqual([
    [1, '[1]'],
    [2, '[1]'],
  ]);
});

test('a table whose rows are distrusted has every row asked for, is recounted, and says so until it is read', async () => {
  await using bare = await openBare();
  await note(bare, 0, [1]);
  insert(bare, 1, 2);

  await bare.write((tx) => distrustRows(tx, bare.target()));

  expect(etags(bare)).toEqual([[0, null]]);
  expect(suspects(bare)).toEqual([2]);
  expect(readTable(bare.replica, 1)).toMatchObject({ isDistrusted: true, compareDue: false, rowCount: 2 });
});

test('a base that is distrusted has every row of the table compared with it', async () => {
  await using bare = await openBare([described('Title')], { isTwoWay: true });
  bare.execute('INSERT INTO _rowsync_base_1 (_id) VALUES (1), (2); INSERT INTO "Note" (_id) VALUES (7)');

  await bare.write((tx) => distrustBase(tx, bare.target()));

  expect(readTable(bare.replica, 1)).toMatchObject({ isDistrusted: false, compareDue: true, rowCount: 2 });
  expect(suspects(bare)).toEqual([1, 2]);
});
