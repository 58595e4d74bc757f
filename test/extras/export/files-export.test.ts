/** Exports: hostile names, revisions, links, copies, what is there already; and pruning what nothing refers to. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportFiles, type ExportOptions, type ExportReport } from '../../../src/extras/export/files-export.ts';
import { pruneFiles } from '../../../src/extras/files/command.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { contentsOf, fileOf, startFilesFixture, type FilesFixture } from '../../support/files.ts';
import { canMount, mountTmpfs } from '../../support/tmpfs.ts';

const HISTORY = ['AllowSeeRevisionHistory'];
const NAMES = [
  '../../etc/passwd',
  'CON',
  `${'x'.repeat(300)}.png`,
  'photo\u202Egnp.exe',
  '',
  'a\u007Fb.txt',
  '/etc/shadow',
];
const CASES: TableSpec = {
  name: 'Case / 1',
  key: 'Code',
  columns: [
    { name: 'Code', type: 'Text', options: ['Unique', 'Required'] },
    { name: 'File', type: 'Attachment', options: HISTORY },
    { name: 'Other', type: 'Attachment', options: HISTORY },
  ],
  rows: NAMES.map((name, index) => ({
    Code: index < 2 ? (['../a', '..\\A'][index] ?? '') : `c${index}`,
    File: fileOf(name, name || 'empty'),
  })),
};

async function pulled(tables: readonly TableSpec[] = [CASES]): Promise<FilesFixture> {
  const fixture = await startFilesFixture({ tables });
  await fixture.pull();
  await fixture.pullFiles({ rule: { mode: 'all' } });
  return fixture;
}

function exported(fixture: FilesFixture, change: Partial<ExportOptions> = {}): Promise<ExportReport> {
  const folder = join(fixture.folder, 'out');
  return exportFiles(fixture.replica, { store: fixture.store, folder, latestOnly: false, tables: [], ...change });
}

function tree(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}

test('no name leaves the folder, hides or meets another one', async () => {
  await using fixture = await pulled();

  const report = await exported(fixture);

  expect(tree(join(fixture.folder, 'out'))).toEqual([
    'Case _ 1/_ (2)._A/File/_CON',
    'Case _ 1/_._a/File/_._.._etc_passwd',
    `Case _ 1/c2/File/${'x'.repeat(156)}.png`,
    'Case _ 1/c3/File/photognp.exe',
    'Case _ 1/c4/File/file',
    'Case _ 1/c5/File/ab.txt',
    'Case _ 1/c6/File/_etc_shadow',
  ]);
  expect(report).toMatchObject({ linkedCount: 7, copiedCount: 0, lostCount: 0 });
  expect(tree(fixture.folder).filter((path) => path.endsWith('passwd'))).toHaveLength(1);
});

test('revisions stand beside the one that the cell shows, also two of one name', async () => {
  await using fixture = await startFilesFixture({ tables: [CASES] });
  for (const content of ['second', 'third'])
    fixture.sandbox.store.update('Case / 1', 3, {
      File: fileOf('same.txt', content),
      Other: fileOf('same.txt', content),
    });
  fixture.sandbox.store.update('Case / 1', 3, { File: fileOf('last.txt', 'last') });
  await fixture.pull();
  await fixture.pullFiles({ rule: { mode: 'all' } });

  await exported(fixture);
  await exported(fixture, { folder: join(fixture.folder, 'latest'), latestOnly: true });

  const folder = join(fixture.folder, 'out', 'Case _ 1', 'c2');
  expect(tree(folder)).toEqual([
    'File/last.txt',
    'File/same (revision 2).txt',
    'File/same (revision 3).txt',
    `File/${'x'.repeat(156)} (revision 1).png`,
    'Other/same (revision 1).txt',
    'Other/same.txt',
  ]);
  expect(readFileSync(join(folder, 'File/same (revision 2).txt'), 'utf8')).toBe('second');
  expect(tree(join(fixture.folder, 'latest', 'Case _ 1', 'c2'))).toEqual(['File/last.txt', 'Other/same.txt']);
});

test('what is there already stays, and what is not the same is replaced', async () => {
  await using fixture = await pulled();
  await exported(fixture);
  const folder = join(fixture.folder, 'out', 'Case _ 1');
  rmSync(join(folder, 'c3/File/photognp.exe'));
  rmSync(join(folder, 'c4/File/file'));
  writeFileSync(join(folder, 'c4/File/file'), 'other');
  rmSync(join(folder, 'c5/File/ab.txt'));
  writeFileSync(join(folder, 'c5/File/ab.txt'), 'a\u007Fb.txt');

  const report = await exported(fixture);

  expect(report).toMatchObject({ unchangedCount: 5, linkedCount: 2 });
  expect(readFileSync(join(folder, 'c4/File/file'), 'utf8')).toBe('empty');
});

test('a link in the way is replaced where it stands for a file, and refused where it stands for a folder', async () => {
  await using fixture = await pulled();
  const outside = join(fixture.folder, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'precious'), 'precious');
  const cell = join(fixture.folder, 'out', 'Case _ 1', 'c3', 'File');
  mkdirSync(cell, { recursive: true });
  symlinkSync(join(outside, 'precious'), join(cell, 'photognp.exe'));

  await exported(fixture);
  rmSync(join(fixture.folder, 'out'), { recursive: true });
  mkdirSync(join(fixture.folder, 'out'));
  symlinkSync(outside, join(fixture.folder, 'out', 'Case _ 1'));
  const refused = exported(fixture);

  await expect(refused).rejects.toMatchObject({
    code: 'files.store',
    message: expect.stringContaining('Case _ 1') as unknown,
  });
  expect(readdirSync(outside)).toEqual(['precious']);
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('precious');
});

test('content that is not there is counted, and the rest is exported', async () => {
  await using fixture = await pulled();
  rmSync(fixture.files()[0]?.path ?? '');

  expect(await exported(fixture)).toMatchObject({ linkedCount: 6, lostCount: 1 });
});

test('files of deleted rows are exported under the id of their row', async () => {
  await using fixture = await pulled();
  fixture.sandbox.store.delete('Case / 1', 3);
  await fixture.pull();
  await fixture.pullFiles({ rule: { mode: 'all' } });

  await exported(fixture);

  expect(tree(join(fixture.folder, 'out', 'Case _ 1', 'row 3'))).toEqual([`File/${'x'.repeat(156)} (revision 1).png`]);
});

const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';

test.skipIf(!canMount)(`on another disk, files are copied, and are the reader’s own${why}`, async () => {
  using disk = mountTmpfs(1_024);
  await using fixture = await pulled();

  const report = await exported(fixture, { folder: disk.path });
  const again = await exported(fixture, { folder: disk.path });

  expect(report).toMatchObject({ copiedCount: 7, linkedCount: 0 });
  expect(statSync(join(disk.path, 'Case _ 1/c5/File/ab.txt')).mode & 0o777).toBe(0o600);
  expect(again).toMatchObject({ unchangedCount: 7 });
});

test('pruning removes what no row refers to, and a dry run only counts it', async () => {
  await using fixture = await pulled();
  const orphan = 'ab'.repeat(32);
  const path = join(fixture.store, 'ab', orphan);
  mkdirSync(join(fixture.store, 'ab'), { recursive: true });
  writeFileSync(path, 'left behind');
  writeFileSync(join(fixture.store, 'ab', 'README'), 'not ours');

  const dry = await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: true });
  const stood = existsSync(path);
  const real = await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false });

  expect([dry, real]).toEqual([
    { contentCount: 1, bytes: 11 },
    { contentCount: 1, bytes: 11 },
  ]);
  expect([stood, existsSync(path)]).toEqual([true, false]);
  expect(contentsOf(fixture.store)).toHaveLength(8);
  expect(fixture.problems().filter((problem) => !problem.includes('README'))).toEqual([]);
});

test.each([
  ['for this user alone', false, 0o700],
  ['and for its group where the replica is shared', true, 0o750],
])('folders of an export show their names %s', async (_what, isShared, mode) => {
  await using fixture = await pulled();
  const before = process.umask(0o022);
  try {
    await exported(fixture, { isShared });
  } finally {
    process.umask(before);
  }

  const out = join(fixture.folder, 'out');
  const folders = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  const modes = [out, ...folders.map((entry) => join(entry.parentPath, entry.name))].map(
    (path) => statSync(path).mode & 0o777,
  );
  expect(folders.length).toBeGreaterThan(3);
  expect(new Set(modes)).toEqual(new Set([mode]));
});
