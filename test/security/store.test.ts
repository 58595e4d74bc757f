/**
 * The file store takes its paths from the replica, which other SQL clients write. Whatever they put in the place of a
 * hash, nothing outside of the store is read into an export or a backup, replaced or removed.
 */
import { SECTIONS } from '../support/sections.ts';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { carryToBackup } from '../../src/extras/shared/stored-content.ts';
import { exportFiles } from '../../src/extras/export/files-export.ts';
import { pruneFiles } from '../../src/extras/files/command.ts';
import { verifyFiles } from '../../src/extras/verify/files.ts';
import { backUpAll } from '../../src/extras/backup/backup.ts';
import { loadConfig } from '../../src/config/load.ts';
import { readStoreFolder } from '../../src/replica/bookkeeping/files.ts';
import { fileOf, startFilesFixture, type FilesFixture } from '../support/files.ts';
import { canMount, mountTmpfs } from '../support/tmpfs.ts';

const SECRET = 'what only the daemon may read';

/** What stands in the place of a hash, from which a path below `store/..` could be made. */
const HASHES: readonly (readonly [string, (folder: string) => string])[] = [
  ['a path upwards', (folder) => `../${basename(folder)}/secret`],
  [
    'a path upwards that is as long as a hash',
    (folder) => `../${basename(folder)}/secret`.replace('/', '/'.repeat(40)),
  ],
  ['an absolute path', (folder) => `${folder}/secret`],
  ['nothing', () => ''],
  ['dots', () => '..'],
  ['a NUL', () => 'a\0b'],
  ['a line break behind a hash', () => `${'a'.repeat(64)}\n`],
  ['a hash in capitals', () => 'A'.repeat(64)],
];

async function spoiled(hashFor: (folder: string) => string): Promise<FilesFixture> {
  const columns = [{ name: 'Cover', type: 'Attachment' }];
  const fixture = await startFilesFixture({
    tables: [{ name: 'Album', columns, rows: [{ Cover: fileOf('cover.png', 'x'.repeat(SECRET.length)) }] }],
  });
  await fixture.pull();
  await fixture.pullFiles();
  writeFileSync(join(fixture.folder, 'secret'), SECRET);
  const hash = Buffer.from(hashFor(fixture.folder)).toString('hex');
  fixture.execute(`UPDATE _rowsync_files SET sha256 = CAST(x'${hash}' AS TEXT)`);
  return fixture;
}

/** Content of all files below a folder. */
function contentsBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}

const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';

test.skipIf(!canMount).each([
  ['on the same disk', false],
  ['on another one', true],
])(
  `another folder in the place of the store, with a link under the name of a hash, brings nothing into an export %s${why}`,
  async (_where, isElsewhere) => {
    using disk = mountTmpfs(1_024);
    await using fixture = await spoiled(() => 'a'.repeat(64));
    const planted = join(fixture.folder, 'planted');
    mkdirSync(join(planted, 'aa'), { recursive: true });
    symlinkSync(join(fixture.folder, 'secret'), join(planted, 'aa', 'a'.repeat(64)));
    fixture.execute(`UPDATE _rowsync_file_store SET folder = '${planted}'`);
    const store = String(readStoreFolder(fixture.replica));
    const folder = isElsewhere ? join(disk.path, 'out') : join(fixture.folder, 'out');

    const exported = await exportFiles(fixture.replica, { store, folder, latestOnly: false, tables: [] });

    expect(store).toBe(planted);
    expect(exported).toMatchObject({ lostCount: 1, linkedCount: 0, copiedCount: 0 });
    expect(readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => !one.isDirectory())).toEqual(
      [],
    );
  },
);

test.skipIf(!canMount)(`content that is not what its name says is not copied into an export${why}`, async () => {
  using disk = mountTmpfs(1_024);
  await using fixture = await spoiled(() => 'a'.repeat(64));
  mkdirSync(join(fixture.store, 'aa'));
  writeFileSync(join(fixture.store, 'aa', 'a'.repeat(64)), 'y'.repeat(SECRET.length));
  const [store, folder] = [fixture.store, join(disk.path, 'out')];

  const exported = await exportFiles(fixture.replica, { store, folder, latestOnly: false, tables: [] });

  expect(exported).toMatchObject({ lostCount: 1, linkedCount: 0, copiedCount: 0 });
  expect(contentsBelow(folder)).toEqual([]);
});

test.each(HASHES)('%s in the place of a hash leads nowhere, and verifying mends it', async (_what, hashFor) => {
  await using fixture = await spoiled(hashFor);
  const [out, backup] = [join(fixture.folder, 'out'), join(fixture.folder, 'copy.db')];
  const sha256 = String(fixture.files()[0]?.sha256);

  const exported = await exportFiles(fixture.replica, {
    store: fixture.store,
    folder: out,
    latestOnly: false,
    tables: [],
  });
  const sources = [fixture.store];
  const carried = await carryToBackup([{ sha256, bytes: SECRET.length }], { backup, sources });
  const verified = await verifyFiles(fixture.filesContext(), { tables: [] });
  await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false });

  expect(exported).toMatchObject({ lostCount: 1, linkedCount: 0, copiedCount: 0 });
  expect(contentsBelow(out)).toEqual([]);
  expect(carried).toMatchObject({ linkedCount: 0, copiedCount: 0, lost: [sha256] });
  expect(contentsBelow(`${backup}.files`)).toEqual([]);
  expect(verified).toMatchObject({ damagedCount: 1, lostCount: 0, error: null });
  expect(readFileSync(join(fixture.folder, 'secret'), 'utf8')).toBe(SECRET);
  expect(fixture.problems()).toEqual([]);
});

test('a folder that a client wrote into the replica leads no backup to a file', async () => {
  await using fixture = await spoiled(() => 'a'.repeat(64));
  const { folder } = fixture;
  const planted = join(folder, 'planted');
  mkdirSync(join(planted, 'aa'), { recursive: true });
  writeFileSync(join(planted, 'aa', 'a'.repeat(64)), SECRET);
  fixture.execute(`UPDATE _rowsync_file_store SET folder = '${planted}'`);
  const file = join(folder, 'rowsync.yaml');
  const { url, database } = fixture.sandbox;
  writeFileSync(
    file,
    `origin: { url: "${url}", database: "${database}", token: "\${TOKEN}" }\nreplica: { path: replica.db, files: files }\n`,
  );
  const { config } = loadConfig(file, { needsCredentials: false, sections: SECTIONS });
  const replica = { ...config.replica, path: fixture.replica.path, files: fixture.store };

  const { files } = await backUpAll({ ...config, replica }, join(folder, 'copy.db'), { withFiles: true });

  expect(files).toMatchObject({ linkedCount: 0, copiedCount: 0, lost: ['a'.repeat(64)] });
  expect(contentsBelow(join(folder, 'copy.db.files'))).toEqual([]);
});

test('content of another store that others may still write is copied, not linked', async () => {
  await using fixture = await spoiled(() => createHash('sha256').update(SECRET).digest('hex'));
  const sha256 = createHash('sha256').update(SECRET).digest('hex');
  const source = join(fixture.folder, 'planted');
  const path = join(source, sha256.slice(0, 2), sha256);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, SECRET);
  chmodSync(path, 0o660);

  const carried = await carryToBackup([{ sha256, bytes: SECRET.length }], {
    backup: join(fixture.folder, 'copy.db'),
    sources: [source],
  });

  expect(carried).toMatchObject({ linkedCount: 0, copiedCount: 1, lost: [] });
});
