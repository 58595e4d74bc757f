/**
 * Cells of attachment columns are looked at again when their value differs from the one that was examined, and not
 * otherwise.
 */
import { expect, test } from 'vitest';
import {
  forgetLook,
  hasLostRows,
  markLostRows,
  readCellFiles,
  readCellsToLookAt,
  readFileColumns,
  storeCell,
  storeCellProblem,
  type FileColumn,
  type ListedCell,
} from '../../../src/replica/bookkeeping/file-cells.ts';
import { must } from '../../../src/base/assert.ts';
import { storeFileHere } from '../../../src/replica/bookkeeping/files.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const SOON = '2026-11-21T12:01:00Z';
const COLUMNS = [
  described('Title'),
  described('Photo', 'Attachment', { dataOptions: ['Required', 'AllowSeeRevisionHistory'] }),
];

/** Note with three rows; the last one has no file. */
async function open(isTwoWay = false): Promise<Bare> {
  const bare = await openBare(COLUMNS, { isTwoWay });
  const rows = `(_id, "Photo") VALUES (1, 'a;1;g1'), (2, 'b;1;g2'), (3, NULL)`;
  bare.execute(`INSERT INTO "Note" ${rows}; ${isTwoWay ? `INSERT INTO _rowsync_base_1 ${rows}` : ''}`);
  return bare;
}

function photo(bare: Bare): FileColumn {
  return must(readFileColumns(bare.replica, 1)[0], 'the column is there');
}

function fileOf(guid: string, revision = 1) {
  return { name: `${guid}.png`, revision, guid, type: 'image/png', bytes: 3, author: 'Ann', createdAt: AT };
}

/** Stores what was found of a cell. */
function store(bare: Bare, rowId: number, change: Partial<ListedCell> = {}): Promise<number> {
  const [[value] = [null]] = bare.lines(`SELECT "Photo" FROM "Note" WHERE _id = ${rowId}`) as [string | null][];
  const cell = {
    rowId,
    value,
    mode: 'latest',
    form: 'value',
    etag: null,
    guid: null,
    present: [],
    vanished: [],
  } as const;
  return bare.write((tx) => storeCell(tx, photo(bare), { ...cell, ...change }, AT));
}

function toLookAt(
  bare: Bare,
  { mode = 'latest', after = 0, now = AT }: { mode?: 'latest' | 'all'; after?: number; now?: string } = {},
) {
  return readCellsToLookAt(bare.replica, photo(bare), { mode, after, count: 10, now });
}

const ids = (cells: readonly { readonly rowId: number }[]): readonly number[] => cells.map(({ rowId }) => rowId);

test('the attachment columns of a table are found with their address, and read from the base of a two-way table', async () => {
  await using mirror = await open();
  await using twoWay = await open(true);

  expect(readFileColumns(mirror.replica, 1)).toEqual([
    {
      tableId: 1,
      columnId: 2,
      tableName: 'Note',
      columnName: 'Photo',
      sourceName: 'Note',
      address: { table: { name: 'Note', alias: 'Note' }, column: { name: 'Photo', alias: 'Photo' } },
      options: ['Required', 'AllowSeeRevisionHistory'],
    },
  ]);
  expect(photo(twoWay).sourceName).toBe('_rowsync_base_1');
  expect(readFileColumns(mirror.replica, 9)).toEqual([]);
});

test.each([
  ['the origin no longer describes it', `UPDATE _rowsync_columns SET state = 'removed'`],
  ['another client dropped it', `ALTER TABLE "Note" DROP COLUMN "Photo"`],
  ['its table is gone', `UPDATE _rowsync_tables SET state = 'gone'`],
])('a column is left alone once %s', async (_what, statement) => {
  await using bare = await open();
  bare.execute(statement);

  expect(readFileColumns(bare.replica, 1)).toEqual([]);
});

test('a cell is looked at until its value was examined, and again once that differs; an empty cell is none', async () => {
  await using bare = await open();
  expect(toLookAt(bare)).toEqual([
    { rowId: 1, value: 'a;1;g1', etag: null, failureCount: 0 },
    { rowId: 2, value: 'b;1;g2', etag: null, failureCount: 0 },
  ]);
  expect(ids(toLookAt(bare, { after: 1 }))).toEqual([2]);

  for (const id of [1, 2]) await store(bare, id);
  expect(toLookAt(bare)).toEqual([]);
  bare.execute(
    `UPDATE "Note" SET "Photo" = iif(_id = 1, NULL, "Photo"); UPDATE "Note" SET "Photo" = 'c;1;g3' WHERE _id = 3`,
  );

  expect(toLookAt(bare).map(({ rowId, value }) => [rowId, value])).toEqual([
    [1, null],
    [3, 'c;1;g3'],
  ]);
});

test('all revisions are asked for where only the latest was, once, and not the other way round', async () => {
  await using bare = await open();
  await store(bare, 1);
  await store(bare, 2, { mode: 'all' });

  expect(ids(toLookAt(bare, { mode: 'all' }))).toEqual([1]);
  expect(toLookAt(bare)).toEqual([]);
});

test('a cell without a revision is asked for each time, with the ETag of a list of the same mode', async () => {
  await using bare = await open();
  await store(bare, 1, { form: 'list', etag: '"latest"' });
  await store(bare, 2);

  expect(toLookAt(bare)).toMatchObject([{ rowId: 1, etag: '"latest"' }]);
  expect(toLookAt(bare, { mode: 'all' })[0]).toMatchObject({ rowId: 1, etag: null });
});

test('a list that failed is asked for again when its time has come, without the ETag; a success forgets the failures', async () => {
  await using bare = await open();
  await store(bare, 1, { form: 'list', etag: '"x"' });
  await store(bare, 2);
  const failure = { problem: 'not now', failureCount: 2, retryAt: SOON };
  await bare.write((tx) => storeCellProblem(tx, photo(bare), 1, failure));

  expect(toLookAt(bare)).toEqual([]);
  expect(toLookAt(bare, { now: SOON })).toEqual([{ rowId: 1, value: 'a;1;g1', etag: null, failureCount: 2 }]);
  // A time that far ahead was stored before the clock was set back.
  expect(ids(toLookAt(bare, { now: '2026-11-19T00:00:00Z' }))).toEqual([1]);
  expect(bare.lines('SELECT "table", row_id, "column", state, reason FROM sync_files')).toEqual([
    ['Note', 1, 'Photo', 'failed', 'not now'],
  ]);

  await store(bare, 1);
  expect(toLookAt(bare, { now: SOON })).toEqual([]);
  expect(bare.rows('SELECT * FROM sync_files')).toEqual([]);
});

test('revisions come with what is known of them; what the origin no longer sends of one stays', async () => {
  await using bare = await open();
  await store(bare, 1, { present: [fileOf('g1'), fileOf('g2', 2)] });

  await store(bare, 1, { present: [{ ...fileOf('g1', 4), type: null, bytes: 9, author: null, createdAt: null }] });

  expect(readCellFiles(bare.replica, photo(bare), 1)).toEqual([
    { guid: 'g1', revision: 4 },
    { guid: 'g2', revision: 2 },
  ]);
  expect(bare.lines(`SELECT type, bytes, author, created FROM sync_files WHERE guid = 'g1'`)).toEqual([
    ['image/png', 9, 'Ann', AT],
  ]);
});

test('the size of content that is here is that of the content', async () => {
  await using bare = await open();
  await store(bare, 1, { present: [fileOf('g1')] });
  await bare.write((tx) => storeFileHere(tx, 1, { sha256: 'a'.repeat(64), bytes: 7 }));

  await store(bare, 1, { present: [{ ...fileOf('g1'), bytes: 9 }] });

  expect(bare.lines('SELECT bytes, state FROM sync_files')).toEqual([[7, 'here']]);
});

test('a revision that vanished is counted once, and is there again once the origin shows it', async () => {
  await using bare = await open();
  await store(bare, 1, { present: [fileOf('g1'), fileOf('g2')] });
  const vanished = (): unknown => bare.lines('SELECT guid FROM sync_files WHERE vanished IS NOT NULL');

  const counts = [await store(bare, 1, { vanished: ['g1'] }), await store(bare, 1, { vanished: ['g1'] })];
  expect([counts, vanished()]).toEqual([[1, 0], [['g1']]]);

  await store(bare, 1, { present: [fileOf('g1')] });
  expect(vanished()).toEqual([]);
});

test('a cell is looked at again whatever its value once that is asked for', async () => {
  await using bare = await open();
  for (const id of [1, 2, 3]) await store(bare, id, { etag: '"x"' });

  await bare.write((tx) => {
    forgetLook(tx, photo(bare), 1);
    forgetLook(tx, photo(bare), 3);
  });

  expect(toLookAt(bare)).toMatchObject([
    { rowId: 1, etag: null },
    { rowId: 3, etag: null },
  ]);
});

test('files of deleted rows are marked, stay, and are examined again where the row returns', async () => {
  await using bare = await open();
  await store(bare, 1, { present: [fileOf('g1')] });
  await store(bare, 2, { present: [fileOf('g2')] });
  expect(hasLostRows(bare.replica, photo(bare))).toBe(false);
  bare.execute('DELETE FROM "Note" WHERE _id = 1');
  expect(hasLostRows(bare.replica, photo(bare))).toBe(true);

  expect(await bare.write((tx) => markLostRows(tx, photo(bare), AT))).toBe(1);

  expect(bare.lines('SELECT guid, vanished FROM sync_files ORDER BY guid')).toEqual([
    ['g1', AT],
    ['g2', null],
  ]);
  expect(hasLostRows(bare.replica, photo(bare))).toBe(false);
  bare.execute(`INSERT INTO "Note" (_id, "Photo") VALUES (1, 'a;1;g1')`);
  expect(ids(toLookAt(bare))).toEqual([1]);
});

test('a row of a two-way table that was deleted here keeps its files: the origin still has it', async () => {
  await using bare = await open(true);
  await store(bare, 1, { present: [fileOf('g1')] });

  bare.execute('DELETE FROM "Note" WHERE _id = 1');

  expect(hasLostRows(bare.replica, photo(bare))).toBe(false);
});
