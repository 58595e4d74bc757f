/**
 * Revisions of attached files: what is due, what is here, and what the origin no longer has; content is named only once
 * it is stored.
 */
import { expect, test } from 'vitest';
import {
  CONTENT_LOST,
  countFilesNotHere,
  forgetDroppedFiles,
  forgetFilesOfColumn,
  forgetRetryTimes,
  readContentOfGuid,
  readContents,
  readFilesByTable,
  readFilesNotHere,
  readStoredBytes,
  readStoreFolder,
  storeContentLost,
  storeFileFacts,
  storeFileFailed,
  storeFileHere,
  storeFileSkipped,
  storeFileVanished,
  storeStoreFolder,
  storeUploadedFile,
} from '../../../src/replica/bookkeeping/files.ts';
import {
  readFileColumns,
  storeCell,
  storeCellProblem,
  type FileColumn,
} from '../../../src/replica/bookkeeping/file-cells.ts';
import { must } from '../../../src/base/assert.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const HASH = { a: 'a'.repeat(64), b: 'b'.repeat(64) };
const SOON = '2026-11-21T12:01:00Z';
const YEARS_LATER = '2036-01-01T00:00:00Z';

interface Given {
  readonly rowId?: number;
  readonly guid?: string;
  readonly bytes?: number | null;
  readonly column?: FileColumn;
}

/** Note with the file columns Photo and Scan. */
function open(): Promise<Bare> {
  return openBare([described('Title'), described('Photo', 'Attachment'), described('Scan', 'Attachment')]);
}

function columnOf(bare: Bare, name = 'Photo', id = 1): FileColumn {
  return must(
    readFileColumns(bare.replica, id).find(({ columnName }) => columnName === name),
    'it is a file column',
  );
}

/** Notes a revision that its cell shows; returns its id. */
async function note(
  bare: Bare,
  { rowId = 1, guid = 'g1', bytes = null, column = columnOf(bare) }: Given = {},
): Promise<number> {
  const file = { name: `${guid}.png`, revision: 1, guid, type: null, bytes, author: null, createdAt: null };
  const cell = {
    rowId,
    value: guid,
    mode: 'latest',
    form: 'value',
    etag: null,
    guid,
    present: [file],
    vanished: [],
  } as const;
  await bare.write((tx) => storeCell(tx, column, cell, AT));
  const [[id] = []] = bare.lines(
    `SELECT id FROM _rowsync_files WHERE table_id = ${column.tableId} AND column_id = ${column.columnId} AND row_id = ${rowId}
       AND guid = '${guid}'`,
  ) as [number][];
  return must(id, 'it was stored');
}

function due(bare: Bare, now = AT, query: { after?: number; count?: number } = {}) {
  return readFilesNotHere(bare.replica, columnOf(bare), { after: 0, count: 100, now, ...query });
}

const states = (bare: Bare): unknown[] => bare.lines('SELECT guid, state, reason FROM sync_files ORDER BY guid');

test('a new revision is due, and says whether its cell shows it', async () => {
  await using bare = await open();
  const first = await note(bare, { guid: 'g1', bytes: 5 });
  const second = await note(bare, { guid: 'g2' });
  await note(bare, { guid: 'of-another-column', column: columnOf(bare, 'Scan') });

  expect(due(bare)).toMatchObject([
    { id: first, guid: 'g1', rowId: 1, bytes: 5, isLatest: false, state: 'missing', failureCount: 0 },
    { id: second, guid: 'g2', bytes: null, isLatest: true },
  ]);
  expect(due(bare, AT, { after: first })).toMatchObject([{ id: second }]);
  expect(due(bare, AT, { count: 1 })).toMatchObject([{ id: first }]);
  expect(countFilesNotHere(bare.replica, columnOf(bare), AT)).toEqual({ fileCount: 2, bytes: 5, unsizedCount: 1 });
});

test('what is here, skipped or gone at the origin is not due; a skipped one is looked at again, and not counted', async () => {
  await using bare = await open();
  const [here, skipped, gone] = [
    await note(bare, { guid: 'g1' }),
    await note(bare, { guid: 'g2' }),
    await note(bare, { guid: 'g3' }),
  ];
  await bare.write((tx) => {
    storeFileHere(tx, here, { sha256: HASH.a, bytes: 3 });
    storeFileSkipped(tx, skipped, 'files.maxFileBytes');
    expect([storeFileVanished(tx, gone, AT), storeFileVanished(tx, gone, SOON)]).toEqual([true, false]);
  });

  expect(due(bare).map(({ id }) => id)).toEqual([skipped]);
  expect(countFilesNotHere(bare.replica, columnOf(bare), AT).fileCount).toBe(0);
  expect(bare.lines('SELECT guid, vanished FROM sync_files WHERE vanished IS NOT NULL')).toEqual([['g3', AT]]);
});

test('a file that failed waits for its time; a time beyond a day was stored before the clock was set back', async () => {
  await using bare = await open();
  const id = await note(bare);
  const fail = (retryAt: string): Promise<void> =>
    bare.write((tx) => storeFileFailed(tx, id, { reason: 'the origin answered 404', failureCount: 2, retryAt }));

  await fail(SOON);
  expect([due(bare), due(bare, SOON)]).toMatchObject([
    [],
    [{ state: 'failed', failureCount: 2, reason: 'the origin answered 404' }],
  ]);
  expect(countFilesNotHere(bare.replica, columnOf(bare), AT).fileCount).toBe(0);
  await fail(YEARS_LATER);
  expect(due(bare)).toHaveLength(1);

  await fail(SOON);
  await bare.write(forgetRetryTimes);
  expect(due(bare)).toHaveLength(1);
});

test('content that came clears the failure, and no later failure or rule takes it away', async () => {
  await using bare = await open();
  const id = await note(bare);
  await bare.write((tx) => {
    storeFileFailed(tx, id, { reason: 'no', failureCount: 4, retryAt: SOON });
    storeFileHere(tx, id, { sha256: HASH.a, bytes: 3 });
    storeFileFailed(tx, id, { reason: 'too late', failureCount: 5, retryAt: SOON });
    storeFileSkipped(tx, id, 'a rule');
  });

  expect(bare.rows('SELECT state, reason, sha256, bytes, failures, retry_at FROM _rowsync_files')).toEqual([
    { state: 'here', reason: null, sha256: HASH.a, bytes: 3, failures: 0, retry_at: null },
  ]);
});

test('facts of the origin are added where there are none yet', async () => {
  await using bare = await open();
  const id = await note(bare, { bytes: 5 });

  await bare.write((tx) => {
    storeFileFacts(tx, id, { type: 'image/png', bytes: 9, author: 'Ann', createdAt: AT });
    storeFileFacts(tx, id, { type: 'text/plain', bytes: null, author: 'Bob', createdAt: null });
  });

  expect(bare.lines('SELECT type, bytes, author, created FROM sync_files')).toEqual([['image/png', 5, 'Ann', AT]]);
});

test('what is wrong is summed up by table: failures of files and of lists, and the worst by name', async () => {
  await using bare = await open();
  const [worst, few] = [await note(bare, { guid: 'g1', rowId: 4 }), await note(bare, { guid: 'g2', rowId: 5 })];
  await note(bare, { guid: 'g3', rowId: 6 });
  const gone = await note(bare, { guid: 'g4', rowId: 7 });
  const problem = { problem: 'not now', failureCount: 3, retryAt: SOON };
  await bare.write((tx) => {
    storeFileFailed(tx, worst, { reason: 'the origin answered 404', failureCount: 9, retryAt: SOON });
    storeFileFailed(tx, few, { reason: 'no', failureCount: 2, retryAt: SOON });
    storeFileFailed(tx, gone, { reason: 'no', failureCount: 99, retryAt: SOON });
    storeFileVanished(tx, gone, AT);
    storeCellProblem(tx, columnOf(bare), 6, problem);
  });

  expect([...readFilesByTable(bare.replica)]).toEqual([
    ['Note', { failedCount: 2, waitingCount: 2, worst: '_id 4, g1.png: the origin answered 404' }],
  ]);

  bare.execute(`UPDATE _rowsync_columns SET state = 'removed' WHERE local_name = 'Photo'`);
  expect([...readFilesByTable(bare.replica)]).toEqual([]);
});

test('content is found by its guid, counted once however many files have it, and given for some tables or all', async () => {
  await using bare = await open();
  await bare.makeTable(2, 'Task', [described('Photo', 'Attachment')]);
  const notes = [await note(bare, { guid: 'g1' }), await note(bare, { guid: 'g2', rowId: 2 })];
  const other = await note(bare, { guid: 'g3', column: columnOf(bare, 'Photo', 2) });
  await note(bare, { guid: 'g4' });
  await bare.write((tx) => {
    for (const id of notes) storeFileHere(tx, id, { sha256: HASH.b, bytes: 10 });
    storeFileHere(tx, other, { sha256: HASH.a, bytes: 5 });
  });

  expect(readStoredBytes(bare.replica)).toBe(15);
  expect(readContents(bare.replica, null)).toEqual([
    { sha256: HASH.a, bytes: 5 },
    { sha256: HASH.b, bytes: 10 },
  ]);
  expect([readContents(bare.replica, [1]), readContents(bare.replica, [])]).toEqual([
    [{ sha256: HASH.b, bytes: 10 }],
    [],
  ]);
  expect(['g2', 'g4', 'unknown'].map((guid) => readContentOfGuid(bare.replica, guid))).toEqual([
    { sha256: HASH.b, bytes: 10 },
    null,
    null,
  ]);
});

test('content that is lost makes all files that have it missing again, with the reason', async () => {
  await using bare = await open();
  const ids = [await note(bare, { guid: 'g1' }), await note(bare, { guid: 'g2' })];
  const other = await note(bare, { guid: 'g3' });

  const lost = await bare.write((tx) => {
    for (const id of ids) storeFileHere(tx, id, { sha256: HASH.a, bytes: 3 });
    storeFileHere(tx, other, { sha256: HASH.b, bytes: 3 });
    return storeContentLost(tx, HASH.a);
  });

  expect(lost).toEqual(ids);
  expect(states(bare)).toEqual([
    ['g1', 'missing', CONTENT_LOST],
    ['g2', 'missing', CONTENT_LOST],
    ['g3', 'here', null],
  ]);
  expect(due(bare).map(({ id }) => id)).toEqual(ids);
});

test('a file that was uploaded is here at once, with the path of its content', async () => {
  await using bare = await open();
  const file = { name: 'a.txt', revision: 3, guid: 'g9', type: 'text/plain', sha256: HASH.a, bytes: 3 };

  await bare.write((tx) => {
    storeStoreFolder(tx, '/first');
    storeStoreFolder(tx, '/store');
    storeUploadedFile(tx, columnOf(bare), { rowId: 4, value: 'a.txt;3;g9', file }, AT);
  });

  expect(readStoreFolder(bare.replica)).toBe('/store');
  expect(
    bare.rows('SELECT "table", row_id, "column", revision, name, type, bytes, state, path FROM sync_files'),
  ).toEqual([
    {
      table: 'Note',
      row_id: 4,
      column: 'Photo',
      revision: 3,
      name: 'a.txt',
      type: 'text/plain',
      bytes: 3,
      state: 'here',
      path: `/store/aa/${HASH.a}`,
    },
  ]);
});

test('files of a column are forgotten with what was known of its cells, and their contents are named', async () => {
  await using bare = await open();
  const [here, scan] = [
    await note(bare, { guid: 'g1' }),
    await note(bare, { guid: 'g2', column: columnOf(bare, 'Scan') }),
  ];
  await note(bare, { guid: 'g3', rowId: 2 });

  const hashes = await bare.write((tx) => {
    for (const id of [here, scan]) storeFileHere(tx, id, { sha256: HASH.a, bytes: 3 });
    return forgetFilesOfColumn(tx, 1, columnOf(bare).columnId);
  });

  expect(hashes).toEqual([HASH.a]);
  expect(states(bare)).toEqual([['g2', 'here', null]]);
  expect(bare.lines('SELECT row_id, guid FROM _rowsync_file_cells')).toEqual([[1, 'g2']]);
});

test('files of tables and columns that were dropped here are forgotten, and no others', async () => {
  await using bare = await open();
  await note(bare, { guid: 'g1' });
  await note(bare, { guid: 'g2', column: columnOf(bare, 'Scan') });
  bare.execute(`DELETE FROM _rowsync_columns WHERE local_name = 'Photo'`);

  await bare.write(forgetDroppedFiles);

  expect(states(bare)).toEqual([['g2', 'missing', null]]);
});
