/** Bringing files here: which requests that costs, what stands in `sync_files`, and what does not come. */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { contentsOf, fileOf, startFilesFixture, storeProblems, type FilesFixture } from '../support/files.ts';

const ALBUM: TableSpec = {
  name: 'Album',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Cover', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
    { name: 'Scan', type: 'Attachment' },
  ],
  rows: [
    { Title: 'a', Cover: fileOf('a.png', 'first', 'image/png'), Scan: fileOf('a;1;b.txt', 'scan', 'text/plain') },
    { Title: 'b', Cover: fileOf('b.png', 'other', 'image/png') },
    { Title: 'c' },
  ],
};

/** A fixture that was pulled once, with its files. */
async function pulled(): Promise<FilesFixture> {
  const fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  await fixture.pullFiles();
  fixture.sandbox.requests.clear();
  return fixture;
}

const requested = (fixture: FilesFixture): readonly string[] =>
  fixture.sandbox.requests.all.map(({ method }) => method).filter((method) => method.startsWith('attach'));

test('every file arrives byte for byte, with what the origin says of it', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();

  const report = await fixture.pullFiles();

  const files = fixture.files();
  expect(report).toMatchObject({
    downloadedCount: 3,
    downloadedBytes: 14,
    failedCount: 0,
    listedCount: 0,
    error: null,
  });
  expect(files).toMatchObject([
    {
      table: 'Album',
      row_id: 1,
      column: 'Cover',
      revision: 1,
      name: 'a.png',
      type: 'image/png',
      bytes: 5,
      state: 'here',
    },
    { row_id: 1, column: 'Scan', name: 'a;1;b.txt', type: expect.stringMatching(/^text\/plain/) as unknown },
    { row_id: 2, column: 'Cover', name: 'b.png', author: expect.stringContaining('@') as unknown, vanished: null },
  ]);
  expect(files.map(({ path }) => readFileSync(path ?? '', 'utf8'))).toEqual(['first', 'scan', 'other']);
  expect(files[0]?.created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(statSync(files[0]?.path ?? '').mode & 0o777).toBe(0o400);
  expect(fixture.problems()).toEqual([]);
});

test('an unchanged sweep makes no attachment request', async () => {
  await using fixture = await pulled();

  await fixture.pull();
  const report = await fixture.pullFiles();

  expect(report).toMatchObject({ requestCount: 0, downloadedCount: 0 });
  expect(requested(fixture)).toEqual([]);
});

test('a changed row costs the requests of its own file', async () => {
  await using fixture = await pulled();
  fixture.sandbox.store.update('Album', 2, { Cover: fileOf('b2.png', 'newer', 'image/png') });
  fixture.sandbox.store.update('Album', 1, { Title: 'A' });

  await fixture.pull();
  const report = await fixture.pullFiles();

  expect(requested(fixture)).toEqual(['attachment']);
  expect(report).toMatchObject({ downloadedCount: 1, listedCount: 0, vanishedCount: 0 });
  expect(fixture.files().filter(({ row_id }) => row_id === 2)).toMatchObject([
    { revision: 1, name: 'b.png', state: 'here', vanished: null },
    { revision: 2, name: 'b2.png', state: 'here' },
  ]);
});

test('all revisions come where the column shows its history, and the latest where it does not', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  for (const content of ['second', 'third']) {
    fixture.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', content), Scan: fileOf('s.txt', content) });
  }
  await fixture.pull();

  const report = await fixture.pullFiles({ rule: { mode: 'all' } });

  const shown = fixture.files().map(({ row_id, column, revision, state }) => [row_id, column, revision, state]);
  expect(shown).toEqual([
    [1, 'Cover', 1, 'here'],
    [1, 'Cover', 2, 'here'],
    [1, 'Cover', 3, 'here'],
    [1, 'Scan', 3, 'here'],
    [2, 'Cover', 1, 'here'],
  ]);
  expect(report).toMatchObject({ downloadedCount: 5, listedCount: 2, failedCount: 0 });
  expect(fixture.files()[0]?.created).toMatch(/Z$/);
  // "second" and "third" are in both columns or revisions: equal content is stored once.
  expect(contentsOf(fixture.store)).toHaveLength(4);
});

test('asking for all revisions later fetches what is missing, and asks once', async () => {
  await using fixture = await pulled();
  fixture.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', 'second') });
  await fixture.pull();
  await fixture.pullFiles();
  fixture.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', 'third') });
  fixture.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', 'fourth') });
  await fixture.pull();

  const first = await fixture.pullFiles({ rule: { mode: 'all' } });
  const second = await fixture.pullFiles({ rule: { mode: 'all' } });

  expect(first).toMatchObject({ downloadedCount: 2, listedCount: 2 });
  expect(second.requestCount).toBe(0);
});

test('a list of revisions that is older than its cell is asked for again', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  await fixture.pullFiles({ rule: { mode: 'all' } });
  for (const text of ['second', 'third']) {
    fixture.sandbox.store.update('Album', 1, { Cover: fileOf(`${text}.png`, text, 'image/png') });
  }
  await fixture.pull();
  const body = '[]';
  fixture.sandbox.answerInstead(
    1,
    { status: 200, headers: { 'Content-Type': 'application/json' }, body },
    { method: 'attachments' },
  );

  const first = await fixture.pullFiles({ rule: { mode: 'all' } });
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 61_000 };
  const second = await fixture.pullFiles({ rule: { mode: 'all' }, context: { clock } });

  expect([first.error, first.vanishedCount, second.failedCount]).toEqual([null, 0, 0]);
  const shown = fixture.files().filter(({ row_id: rowId, column }) => rowId === 1 && column === 'Cover');
  expect(shown.map(({ revision, state, vanished }) => [revision, state, vanished])).toEqual([
    [1, 'here', null],
    [2, 'here', null],
    [3, 'here', null],
  ]);
});

test('files that go at the origin are marked and stay', async () => {
  await using fixture = await pulled();
  fixture.sandbox.store.update('Album', 1, { Scan: null });
  fixture.sandbox.store.delete('Album', 2);

  await fixture.pull();
  const report = await fixture.pullFiles();

  expect(report).toMatchObject({ vanishedCount: 2, requestCount: 0 });
  expect(fixture.files()).toMatchObject([
    { row_id: 1, column: 'Cover', vanished: null },
    { row_id: 1, column: 'Scan', vanished: expect.stringMatching(/Z$/) as unknown, state: 'here' },
    { row_id: 2, vanished: expect.stringMatching(/Z$/) as unknown, state: 'here' },
  ]);
  expect(fixture.problems()).toEqual([]);
});

test('a revision that no cell shows, and that is gone when it is fetched, is looked for in the list once more', async () => {
  await using fixture = await pulled();
  // It is listed before a pull has seen the cell that shows it.
  fixture.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', 'second') });
  const gone = { status: 404, headers: { 'Content-Type': 'application/json' }, body: '{"error":404,"code":4202}' };
  fixture.sandbox.answerInstead(1, gone, { method: 'attachment' });
  const rule = { mode: 'all' } as const;

  const first = await fixture.pullFiles({ rule });
  const second = await fixture.pullFiles({ rule });
  const third = await fixture.pullFiles({ rule });

  expect(first).toMatchObject({ failedCount: 1, listedCount: 2 });
  expect(second).toMatchObject({ failedCount: 0, listedCount: 1 });
  expect(third).toMatchObject({ requestCount: 0 });
});

test('a file that was taken away keeps its history, where all revisions are wanted', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  await fixture.pullFiles({ rule: { mode: 'all' } });
  fixture.sandbox.store.update('Album', 1, { Cover: fileOf('a2.png', 'second') });
  fixture.sandbox.store.update('Album', 1, { Cover: null });
  await fixture.pull();

  await fixture.pullFiles({ rule: { mode: 'all' } });
  fixture.sandbox.requests.clear();
  await fixture.pullFiles({ rule: { mode: 'all' } });

  expect(fixture.files().filter(({ column, row_id }) => column === 'Cover' && row_id === 1)).toMatchObject([
    { revision: 1, vanished: null, state: 'here' },
    { revision: 2, vanished: null, state: 'here' },
  ]);
  expect(requested(fixture)).toEqual([]);
});

test('a row that returns is looked at again, and its file is not fetched twice', async () => {
  await using fixture = await pulled();
  fixture.execute(`DROP TRIGGER "_rowsync_guard_delete_${tableId(fixture)}"; DELETE FROM "Album" WHERE _id = 1`);
  const lost = await fixture.pullFiles();
  await fixture.pull();
  fixture.sandbox.requests.clear();

  const report = await fixture.pullFiles();

  expect(lost.vanishedCount).toBe(2);
  expect(report).toMatchObject({ downloadedCount: 0, requestCount: 0 });
  expect(fixture.files().map(({ vanished }) => vanished)).toEqual([null, null, null]);
});

test.each([
  ['none are wanted', { mode: 'none' }, {}, 0, []],
  ['they are too large', { maxFileBytes: 4 }, {}, 1, ['tables.Album.files.maxFileBytes']],
  ['they are of another type', { types: ['text/*'] }, {}, 1, ['tables.Album.files.types']],
  ['the bound on all is reached', {}, { bytesMax: 6 }, 1, ['files.maxBytes']],
] as const)('files stay away, and it says so, where %s', async (_what, rule, change, downloadedCount, rules) => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();

  const report = await fixture.pullFiles({ rule, ...change });
  fixture.sandbox.requests.clear();
  const again = await fixture.pullFiles({ rule, ...change });

  expect(report).toMatchObject({ downloadedCount, failedCount: 0, error: null });
  expect(new Set(fixture.files().flatMap(({ reason }) => reason ?? []))).toEqual(new Set(rules));
  expect(again.requestCount).toBe(0);
  expect(contentsOf(fixture.store)).toHaveLength(downloadedCount);
});

test('files that a rule left out come once the rule is gone', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  await fixture.pullFiles({ bytesMax: 6 });

  const report = await fixture.pullFiles();

  expect(report.downloadedCount).toBe(2);
  expect(fixture.files().map(({ state, reason }) => [state, reason])).toEqual([
    ['here', null],
    ['here', null],
    ['here', null],
  ]);
});

test('the bound on all holds for files whose sizes are known, too', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  await fixture.pullFiles({ bytesMax: 1 });
  const sizes = fixture.files().map(({ bytes }) => Number(bytes));
  const bytesMax = Math.max(...sizes);

  const report = await fixture.pullFiles({ bytesMax });

  expect(sizes.every((bytes) => bytes > 0)).toBe(true);
  expect(report.downloadedBytes).toBeLessThanOrEqual(bytesMax);
  expect(report.overBoundCount).toBeGreaterThan(0);
});

test('one guid in flight twice, and one that is here, are downloaded once', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  // The origin shows one file in two cells.
  const [value] = fixture.rows('SELECT "Cover" AS c FROM "Album" WHERE _id = 1') as { c: string }[];
  fixture.execute(`DROP TRIGGER "_rowsync_guard_update_${tableId(fixture)}"`);
  fixture.execute(`UPDATE "Album" SET "Scan" = '${value?.c ?? ''}' WHERE _id > 1`);

  const report = await fixture.pullFiles();

  expect(report).toMatchObject({ downloadedCount: 3, knownCount: 2, failedCount: 0 });
});

function tableId(fixture: FilesFixture): number {
  const [row] = fixture.rows('SELECT id FROM _rowsync_tables') as { id: number }[];
  return row?.id ?? 0;
}

test('content comes along into another folder, and what is in neither is fetched again', async () => {
  await using fixture = await pulled();
  const [lost = ''] = contentsOf(fixture.store);
  rmSync(lost);
  const folder = join(fixture.folder, 'elsewhere');
  const { settings } = fixture.filesContext();

  const report = await fixture.pullFiles({ context: { settings: { ...settings, folder } } });

  expect(report).toMatchObject({ downloadedCount: 1, error: null });
  expect(storeProblems(fixture.files(), folder)).toEqual([]);
  expect(fixture.files().filter(({ state }) => state !== 'here')).toEqual([]);
  expect(fixture.files().every(({ path }) => path?.startsWith(folder))).toBe(true);
});
