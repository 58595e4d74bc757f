/**
 * Backups with attached files, by command and on schedule, and what a restore brings back of them.
 */
import { SECTIONS } from '../../support/sections.ts';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { loadConfig, type Config } from '../../../src/config/load.ts';
import { backUpAll, backUpDated, restoreAll } from '../../../src/extras/backup/backup.ts';
import { openReplica } from '../../../src/replica/database.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startDaemon } from '../../support/daemon.ts';
import { contentsOf, fileOf, startFilesFixture, storeProblems, type FilesFixture } from '../../support/files.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { canMount, mountTmpfs } from '../../support/tmpfs.ts';

const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';
const STAMP = '20260601T120000Z';

const ALBUM: TableSpec = {
  name: 'Album',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: [1, 2, 3].map((n) => ({ Title: `album ${n}`, Photo: fileOf(`photo-${n}.jpg`, 500 * n, 'image/jpeg') })),
};

async function startAlbum(): Promise<FilesFixture & { readonly config: Config }> {
  const fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  await fixture.pullFiles();
  const { url, database, token } = fixture.sandbox;
  const file = join(fixture.folder, 'rowsync.yaml');
  writeFileSync(join(fixture.folder, 'token'), token, { mode: 0o600 });
  writeFileSync(
    file,
    `origin: { url: "${url}", database: "${database}", tokenFile: token }
replica: { path: replica.db, files: files }
backup: { folder: ., keep: 2 }
`,
  );
  return Object.assign(fixture, { config: loadConfig(file, { needsCredentials: true, sections: SECTIONS }).config });
}

/** What stands in the name of a dated backup for the place of its replica. */
function tagOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 6);
}

/** What stands in a folder of content, as `name links mode`. */
function inodesIn(folder: string): readonly string[] {
  return contentsOf(folder)
    .map((path) => {
      const { nlink, mode } = statSync(path);
      return `${path.slice(-4)} ${nlink} ${(mode & 0o777).toString(8)}`;
    })
    .toSorted();
}

test('a backup has the files that the replica names, as links', async () => {
  await using fixture = await startAlbum();
  const target = join(fixture.folder, 'copy.db');

  const { files } = await backUpAll(fixture.config, target, { withFiles: true });

  expect(files).toEqual({
    folder: `${target}.files`,
    linkedCount: 3,
    copiedCount: 0,
    presentCount: 0,
    bytes: 3000,
    lost: [],
  });
  expect(inodesIn(`${target}.files`)).toEqual(inodesIn(fixture.store));
  expect(inodesIn(fixture.store).every((line) => line.endsWith(' 2 400'))).toBe(true);
  expect(statSync(`${target}.files`).mode & 0o777).toBe(0o700);
  expect(readdirSync(fixture.folder).filter((name) => name.includes('partial'))).toEqual([]);
});

test.skipIf(!canMount)(`on another disk they are copied once, and linked from backup to backup${why}`, async () => {
  await using fixture = await startAlbum();
  using disk = mountTmpfs(20_000);

  const first = await backUpDated(fixture.config, disk.path, { nowMs: Date.UTC(2026, 5, 1) });
  fixture.sandbox.store.update('Album', 1, { Photo: fileOf('new.jpg', 77, 'image/jpeg') });
  await fixture.pull();
  await fixture.pullFiles();
  const second = await backUpDated(fixture.config, disk.path, { nowMs: Date.UTC(2026, 5, 2) });

  expect(first.files).toMatchObject({ linkedCount: 0, copiedCount: 3 });
  expect(second.files).toMatchObject({ linkedCount: 3, copiedCount: 1 });
  expect(storeProblems(filesAt(fixture, `${second.path}.files`), `${second.path}.files`)).toEqual([]);
});

/** The rows of `sync_files`, as if the store were that folder. */
function filesAt(fixture: FilesFixture, folder: string): ReturnType<FilesFixture['files']> {
  return fixture.files().map((file) => ({ ...file, path: file.path?.replace(fixture.store, folder) ?? null }));
}

test('a backup without some of its files is kept and says so; one without any can be asked for', async () => {
  await using fixture = await startAlbum();
  const [damaged = '', missing = ''] = contentsOf(fixture.store);
  chmodSync(damaged, 0o600);
  writeFileSync(damaged, 'short');
  rmSync(missing);

  const report = await backUpAll(fixture.config, join(fixture.folder, 'copy.db'), { withFiles: true });
  const bare = await backUpAll(fixture.config, join(fixture.folder, 'bare.db'), { withFiles: false });

  expect(report.files?.lost.toSorted()).toEqual([damaged.slice(-64), missing.slice(-64)].toSorted());
  expect(report.files?.linkedCount).toBe(1);
  expect(bare.files).toBeNull();
  expect(existsSync(`${bare.path}.files`)).toBe(false);
});

test('a backup that cannot be finished leaves neither a file nor a folder', async () => {
  await using fixture = await startAlbum();
  const target = join(fixture.folder, 'copy.db');
  mkdirSync(`${target}.files`);

  const refused = backUpAll(fixture.config, target, { withFiles: true });

  await expect(refused).rejects.toMatchObject({ code: 'backup.exists', exitCode: 2 });
  expect(readdirSync(fixture.folder).filter((name) => name.startsWith('copy'))).toEqual(['copy.db.files']);
});

test('a restore brings files back, whole, and the next pull fetches those that the backup lacks', async () => {
  await using fixture = await startAlbum();
  const target = join(fixture.folder, 'copy.db');
  await backUpAll(fixture.config, target, { withFiles: true });
  fixture.replica.close();
  renameSync(fixture.store, `${fixture.store}-of-before`);
  const [damaged = '', lost = ''] = contentsOf(`${target}.files`);
  chmodSync(damaged, 0o600);
  writeFileSync(damaged, Buffer.alloc(statSync(damaged).size));
  rmSync(lost);

  const report = await restoreAll(fixture.config, target, STAMP);
  fixture.replica = openReplica(fixture.path, { clock: fixture.context().clock });
  const between = fixture.files().map(({ state }) => state);
  await fixture.pull();
  await fixture.pullFiles();

  expect(report.files).toMatchObject({ folder: fixture.store, linkedCount: 1 });
  expect(report.files?.lost).toHaveLength(2);
  expect(between.toSorted()).toEqual(['here', 'missing', 'missing']);
  expect(fixture.files().map(({ state }) => state)).toEqual(['here', 'here', 'here']);
  expect(fixture.problems()).toEqual([]);
});

test('a backup of another database is not restored, and the replica stays where it is', async () => {
  await using fixture = await startAlbum();
  const target = join(fixture.folder, 'copy.db');
  await backUpAll(fixture.config, target, { withFiles: true });
  fixture.replica.close();
  const other = { ...fixture.config, origin: { ...fixture.config.origin, database: '777' } };

  await expect(restoreAll(other, target, STAMP)).rejects.toMatchObject({ code: 'replica.otherDatabase' });

  expect(readdirSync(fixture.folder).filter((name) => /replaced|partial/.test(name))).toEqual([]);
  fixture.replica = openReplica(fixture.path, { clock: fixture.context().clock });
  expect(fixture.problems()).toEqual([]);
});

test('a restore leaves content alone that the store holds already', async () => {
  await using fixture = await startAlbum();
  const target = join(fixture.folder, 'copy.db');
  await backUpAll(fixture.config, target, { withFiles: true });
  fixture.replica.close();

  const report = await restoreAll(fixture.config, target, STAMP);
  fixture.replica = openReplica(fixture.path, { clock: fixture.context().clock });

  expect(report.files).toMatchObject({ presentCount: 3, linkedCount: 0, copiedCount: 0, lost: [] });
  expect(fixture.problems()).toEqual([]);
});

test('the newest backups of a folder are kept, with their files, and everything of another name', async () => {
  await using fixture = await startAlbum();
  const backups = join(fixture.folder, 'backups');
  mkdirSync(backups);
  writeFileSync(join(backups, 'replica-of-somebody.db'), 'mine');
  const stem = `replica-21995-${tagOf(fixture.path)}`;
  mkdirSync(join(backups, `${stem}-20200101T000000Z.db.files`)); // its backup never got its name
  writeFileSync(join(backups, `${stem}-20200101T000000Z.db.partial`), '');

  for (const day of [1, 2, 3, 4]) await backUpDated(fixture.config, backups, { nowMs: Date.UTC(2026, 5, day, 3) });

  expect(readdirSync(backups).toSorted()).toEqual([
    `${stem}-20260603T030000Z.db`,
    `${stem}-20260603T030000Z.db.files`,
    `${stem}-20260604T030000Z.db`,
    `${stem}-20260604T030000Z.db.files`,
    'replica-of-somebody.db',
  ]);
  expect(readFileSync(join(backups, 'replica-of-somebody.db'), 'utf8')).toBe('mine');
});

test('backups of another database, or made by hand, are left alone, also those that are being made', async () => {
  await using fixture = await startAlbum();
  const backups = join(fixture.folder, 'backups');
  mkdirSync(backups);
  const [byHand, theirs] = ['replica-20260101T030000Z.db', 'replica-7-a1b2c3-20260102T030000Z.db'];
  for (const name of [byHand, theirs]) await backUpAll(fixture.config, join(backups, name), { withFiles: false });
  const db = new Database(join(backups, theirs));
  db.exec(`UPDATE _rowsync_identity SET database = '7'`);
  db.close();
  mkdirSync(join(backups, 'replica-7-20260604T030000Z.db.files'));
  writeFileSync(join(backups, 'replica-7-20260604T030000Z.db.partial'), '');

  for (const day of [1, 2]) await backUpDated(fixture.config, backups, { nowMs: Date.UTC(2026, 5, day, 3) });

  expect(readdirSync(backups).filter((name) => !name.startsWith('replica-21995-'))).toEqual([
    byHand,
    'replica-7-20260604T030000Z.db.files',
    'replica-7-20260604T030000Z.db.partial',
    theirs,
  ]);
});

test('backups of another replica of the same database are left alone, also those that are being made', async () => {
  await using fixture = await startAlbum();
  await using other = await startAlbum();
  const backups = join(fixture.folder, 'backups');
  mkdirSync(backups);
  const config = { ...other.config, origin: fixture.config.origin };
  const theirs = await backUpDated(config, backups, { nowMs: Date.UTC(2026, 5, 1, 3) });
  mkdirSync(`${theirs.path.replace('20260601', '20260602')}.files`); // its backup is about to get its name
  await backUpAll(config, join(backups, 'replica-21995-20260101T030000Z.db'), { withFiles: false }); // made by hand
  const before = readdirSync(backups);

  for (const day of [1, 2, 3]) await backUpDated(fixture.config, backups, { nowMs: Date.UTC(2026, 5, day, 3) });

  const after = readdirSync(backups);
  expect(before.filter((name) => !after.includes(name))).toEqual([]);
  expect(after.length - before.length).toBe(4);
});

test('backups that are dated later than now, since the clock was set back, go first', async () => {
  await using fixture = await startAlbum();
  const backups = join(fixture.folder, 'backups');
  mkdirSync(backups);

  for (const year of [2030, 2031, 2026, 2027]) await backUpDated(fixture.config, backups, { nowMs: Date.UTC(year, 1) });

  const years = readdirSync(backups).map((name) => /-(\d{4})\d{4}T\d{6}Z\.db$/.exec(name)?.[1]);
  expect(years.filter((year) => year !== undefined)).toEqual(['2026', '2027']);
});

test('a backup without any row takes the place of none that has some', async () => {
  await using fixture = await startAlbum();
  const backups = join(fixture.folder, 'backups');
  mkdirSync(backups);
  const good = await backUpDated(fixture.config, backups, { nowMs: Date.UTC(2026, 5, 1) });
  fixture.replica.close();
  renameSync(fixture.path, `${fixture.path}.broken`);
  fixture.replica = openReplica(fixture.path, { clock: fixture.context().clock });

  for (const day of [2, 3, 4]) await backUpDated(fixture.config, backups, { nowMs: Date.UTC(2026, 5, day) });
  const isKept = existsSync(good.path) && contentsOf(`${good.path}.files`).length === 3;
  await fixture.pull();
  await backUpDated(fixture.config, backups, { nowMs: Date.UTC(2026, 5, 5) });

  expect(isKept).toBe(true);
  expect(readdirSync(backups).filter((name) => name.endsWith('.db'))).toHaveLength(2);
});

test('a backup says that it goes on, at each step of the replica and at each of its files', async () => {
  await using fixture = await startAlbum();
  let count = 0;
  const onAdvance = (): void => {
    count += 1;
  };

  await backUpAll(fixture.config, join(fixture.folder, 'bare.db'), { withFiles: false, onAdvance });
  const bareCount = count;
  await backUpAll(fixture.config, join(fixture.folder, 'copy.db'), { withFiles: true, onAdvance });

  expect(bareCount).toBeGreaterThan(0);
  expect(count).toBe(2 * bareCount + 3);
});

test('the daemon makes backups on schedule', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  await using daemon = startDaemon(
    sandbox,
    'schedule: { backup: "30 12 * * *" }\nbackup: { folder: "." }\ntables: { "*": { files: latest } }\n',
  );

  await daemon.elapse(40);

  const path = join(daemon.folder, `replica-21995-${tagOf(join(daemon.folder, 'replica.db'))}-20260601T123000Z.db`);
  expect(daemon.events('work.finished').filter(({ work }) => work === 'backup')).toMatchObject([
    { outcome: 'done', rowCount: 3, fileCount: 3, path },
  ]);
  expect(contentsOf(`${path}.files`)).toHaveLength(3);
});

test.each([
  [
    'were not fetched yet',
    'NULL',
    { code: 'backup.lacksFiles', about: / lacks 2 files that were not here yet$/ },
    'done',
  ],
  ['were asked for in vain', "'404'", { code: 'work.failed', about: /is made, but lacks 2 of its files/ }, 'failed'],
])('a scheduled backup says that it lacks files that %s', async (_what, reason, { code, about }, outcome) => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  await using daemon = startDaemon(
    sandbox,
    'schedule: { backup: "3 12 * * *" }\nbackup: { folder: "." }\ntables: { "*": { files: latest } }\n',
  );
  await daemon.idle();
  const db = new Database(join(daemon.folder, 'replica.db'));
  db.exec(`UPDATE _rowsync_files SET state = 'missing', sha256 = NULL, reason = ${reason} WHERE row_id > 1`);
  db.close();

  await daemon.elapse(4);

  const [ended] = daemon.events('work.finished').filter(({ work }) => work === 'backup');
  const told = daemon.events('problem.found').filter((event) => event['code'] === code);
  expect(ended).toMatchObject({ outcome, fileCount: 1 });
  expect(told).toMatchObject([{ message: expect.stringMatching(about) as unknown }]);
});

test('backups and drills keep to their schedule while the origin refuses the token, which stays a problem', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  const yaml = 'schedule: { backup: "*/10 * * * *", drill: "15 * * * *" }\nbackup: { folder: "." }\n';
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);

  await daemon.elapse(60);

  const ended = daemon.events('work.finished').map(({ work, outcome }) => `${String(work)} ${String(outcome)}`);
  expect(ended.filter((text) => text === 'backup done')).toHaveLength(6);
  expect(ended.filter((text) => text === 'drill done')).toHaveLength(1);
  expect(daemon.events('circuit.closed')).toEqual([]);
  const [opened, ...again] = daemon.events('circuit.opened').map(({ attempt }) => Number(attempt));
  expect(again).toEqual(again.map((_, index) => Number(opened) + index + 1));
});

test('a backup that fails keeps no pull waiting, and says so', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  await using daemon = startDaemon(sandbox, 'schedule: { backup: "3 12 * * *" }\nbackup: { folder: no/where }\n');

  await daemon.elapse(4);

  expect(daemon.events('work.failed')).toMatchObject([{ work: 'backup', code: 'replica.path' }]);
  expect(daemon.events('circuit.opened')).toEqual([]);
  expect(daemon.events('work.finished').map(({ work, outcome }) => [work, outcome])).toEqual([
    ['pull', 'done'],
    ['backup', 'failed'],
    ['pull', 'done'],
  ]);
});
