/**
 * Backups of a replica that is in use, and restores: what is copied, what is checked, what is no longer trusted.
 */
import {
  chmodSync,
  copyFileSync,
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
import { openReplica } from '../../../src/replica/database.ts';
import { backUp, restore } from '../../../src/extras/backup/replica-copy.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { startTwoWay } from '../../support/two-way.ts';

const notes = (count: number): TableSpec => ({
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: count }, (_, index) => ({ Title: `note ${index}` })),
});

function titlesIn(path: string): readonly unknown[] {
  const db = new Database(path, { readonly: true });
  try {
    return db.prepare('SELECT "Title" FROM "Note" ORDER BY _id').pluck().all();
  } finally {
    db.close();
  }
}

function originTitles({ sandbox }: Fixture): readonly unknown[] {
  return sandbox.store.rows('Note').map(({ values }) => values['Title']);
}

const STAMP = '20260601T120000Z';

test('copies everything into one private file while the replica is open', async () => {
  await using fixture = await startFixture({ tables: [notes(50)] });
  await fixture.pull();
  const target = join(fixture.folder, 'copy.db');

  const report = await backUp(fixture.path, target);

  expect(report).toMatchObject({ path: target, tableCount: 1, rowCount: 50 });
  expect(titlesIn(target)).toEqual(originTitles(fixture));
  expect(statSync(target).mode & 0o777).toBe(0o600);
  expect(readdirSync(fixture.folder).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
});

test('is of one moment, whatever another client writes meanwhile', async () => {
  await using fixture = await startFixture({ tables: [notes(3000)] });
  await fixture.pull();
  const target = join(fixture.folder, 'copy.db');

  const copying = backUp(fixture.path, target);
  sneakIn(fixture, 'DELETE FROM "Note"');
  const report = await copying;

  expect(report.rowCount).toBe(3000);
  expect(titlesIn(target)).toHaveLength(3000);
});

/** Changes the mirror as our own transactions do. */
function sneakIn(fixture: Fixture, statement: string): void {
  fixture.execute(
    `BEGIN; INSERT INTO _rowsync_writer (flag) VALUES (1); ${statement}; DELETE FROM _rowsync_writer; COMMIT`,
  );
}

test('says that there is no replica yet', async () => {
  await using fixture = await startFixture({ tables: [] });
  const missing = join(fixture.folder, 'none.db');

  await expect(backUp(missing, join(fixture.folder, 'copy.db'))).rejects.toThrow(
    `There is no replica at ${missing} yet`,
  );
});

test('never replaces a file', async () => {
  await using fixture = await startFixture({ tables: [notes(1)] });
  await fixture.pull();
  const target = join(fixture.folder, 'precious');
  writeFileSync(target, 'mine');
  writeFileSync(join(fixture.folder, 'gone-wal'), 'of a file that is gone');

  await expect(backUp(fixture.path, target)).rejects.toMatchObject({ code: 'backup.exists', exitCode: 2 });
  await expect(backUp(fixture.path, join(fixture.folder, 'gone'))).rejects.toMatchObject({ code: 'backup.exists' });
});

test('restores no folder, and speaks of what was named', async () => {
  await using fixture = await startFixture({ tables: [] });
  fixture.replica.close();
  const place = { path: fixture.path, stamp: STAMP };

  await expect(restore(fixture.folder, place)).rejects.toMatchObject({
    message: `There is no file ${fixture.folder}`,
    hint: 'Name the file that rowsync backup made.',
    exitCode: 2,
  });
  expect(readdirSync(fixture.folder).filter((name) => name.includes('replaced'))).toEqual([]);
});

test('says which folder is missing', async () => {
  await using fixture = await startFixture({ tables: [notes(3)] });
  await fixture.pull();
  const folder = join(fixture.folder, 'no-such-folder');

  await expect(backUp(fixture.path, join(folder, 'copy.db'))).rejects.toMatchObject({
    code: 'replica.path',
    message: `The folder ${folder} for the backup does not exist`,
    hint: expect.stringContaining(`mkdir -p ${folder}`) as string,
  });
});

test('says that a folder cannot be written, and not where the replica should be instead', async () => {
  await using fixture = await startFixture({ tables: [notes(3)] });
  await fixture.pull();
  const file = join(fixture.folder, 'file');
  writeFileSync(file, '');
  const closed = join(fixture.folder, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  // Root may write everywhere.
  const refused = [[file, 'ENOTDIR'], ...(process.getuid?.() === 0 ? [] : [[closed, 'EACCES']])] as const;

  for (const [folder, code] of refused)
    await expect(backUp(fixture.path, join(folder, 'copy.db'))).rejects.toMatchObject({
      code: 'replica.path',
      message: `The folder ${folder} for the backup cannot be written: ${code}`,
      hint: 'Let this user write there, or name another one; backup.folder is that of the daemon.',
    });
});

test('leaves nothing behind where it cannot be written', async () => {
  await using fixture = await startFixture({ tables: [notes(1)] });
  await fixture.pull();
  const before = readdirSync(fixture.folder);

  await expect(backUp(fixture.path, join(fixture.folder, 'no', 'folder'))).rejects.toMatchObject({
    code: 'replica.path',
  });

  expect(readdirSync(fixture.folder)).toEqual(before);
});

test('a replica that is damaged has no backup', async () => {
  await using fixture = await startFixture({ tables: [notes(2000)] });
  await fixture.pull();
  fixture.replica.close();
  const db = new Database(fixture.path);
  db.unsafeMode();
  db.pragma('writable_schema = ON');
  db.exec(
    `UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = '_rowsync_pages') WHERE name = '_rowsync_deleted'`,
  );
  db.close();
  const target = join(fixture.folder, 'copy.db');

  const failing = backUp(fixture.path, target);

  await expect(failing).rejects.toMatchObject({ kind: 'replica' });
  expect(existsSync(target)).toBe(false);
  expect(existsSync(`${target}.partial`)).toBe(false);
  fixture.replica = openReplica(join(fixture.folder, 'other.db'), { clock: fixture.context().clock });
});

test('a restore moves the replica aside, trusts no ETag, and the next pull makes it equal again', async () => {
  await using fixture = await startFixture({ tables: [notes(12)] }, { settings: { pageRows: 5 } });
  await fixture.pull();
  const target = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, target);
  fixture.sandbox.store.update('Note', 1, { Title: 'changed since' });
  fixture.sandbox.store.delete('Note', 2);
  await fixture.pull();
  fixture.replica.close();

  const report = await restore(target, { path: fixture.path, stamp: STAMP });
  const restored = titlesIn(fixture.path);
  fixture.restart();
  fixture.sandbox.requests.clear();
  await fixture.pull();

  expect(report).toMatchObject({ rowCount: 12, pendingCreateCount: 0, asidePath: `${fixture.path}.replaced-${STAMP}` });
  expect(titlesIn(`${fixture.path}.replaced-${STAMP}`)).toHaveLength(11);
  expect(restored).toHaveLength(12);
  expect(fixture.sandbox.requests.count({ method: 'select', status: 304 })).toBe(0);
  expect(titlesIn(fixture.path)).toEqual(originTitles(fixture));
});

test.each([
  ['damaged', (path: string) => damage(path), 'replica.damaged', 'copy.db'],
  [
    'no database',
    (path: string) => writeFileSync(path, 'a text'.repeat(1_000)),
    'replica.foreign',
    'copy.db is not a replica that rowsync made',
  ],
])('a backup that is %s is refused in words about it, and the replica stays', async (_what, spoil, code, words) => {
  await using fixture = await startFixture({ tables: [notes(500)] });
  await fixture.pull();
  const target = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, target);
  spoil(target);
  fixture.replica.close();

  await expect(restore(target, { path: fixture.path, stamp: STAMP })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(words) as string,
    hint: expect.stringMatching(/^The replica was left as it is. Restore another backup/) as string,
  });
  expect(titlesIn(fixture.path)).toHaveLength(500);
});

/** Overwrites all pages of a file but the first. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0x55, 4_096);
  writeFileSync(path, bytes);
}

test('a backup from which a two-way table was dropped is restored, and the next pull makes the table again', async () => {
  await using fixture = await startTwoWay({ tables: [notes(3)] });
  fixture.execute('DROP TABLE "Note"');
  const target = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, target);
  fixture.replica.close();

  const report = await restore(target, { path: fixture.path, stamp: STAMP });
  fixture.restart();
  await fixture.pull();

  expect(report).toMatchObject({ rowCount: 0, pendingCreateCount: 0 });
  expect(titlesIn(fixture.path)).toEqual(originTitles(fixture));
});

/** Ends as a crash does: what was written last stands in the log beside the file. */
function crash(fixture: Fixture): void {
  for (const ending of ['', '-wal']) copyFileSync(fixture.path + ending, join(fixture.folder, `kept${ending}`));
  fixture.replica.close();
  for (const ending of ['', '-wal']) renameSync(join(fixture.folder, `kept${ending}`), fixture.path + ending);
}

/** Pulls, makes a backup, pulls what changed since, and crashes. @returns the path of the backup. */
async function backUpAndCrash(fixture: Fixture): Promise<string> {
  await fixture.pull();
  const target = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, target);
  fixture.sandbox.store.update('Note', 1, { Title: 'changed since' });
  await fixture.pull();
  crash(fixture);
  return target;
}

test('a backup that is put in place by hand beside the log of the old replica is now not opened before that is taken away', async () => {
  await using fixture = await startFixture({ tables: [notes(12)] });
  const target = await backUpAndCrash(fixture);
  copyFileSync(target, fixture.path);
  const refused = expect.objectContaining({ code: 'replica.log', exitCode: 78 }) as unknown;

  expect(() => openReplica(fixture.path, { clock: fixture.context().clock })).toThrow(refused);
  rmSync(`${fixture.path}-wal`);
  fixture.restart();

  expect(titlesIn(fixture.path)).toEqual(titlesIn(target));
});

test('a restore keeps the log of a replica that somebody took away out of the backup', async () => {
  await using fixture = await startFixture({ tables: [notes(12)] });
  const target = await backUpAndCrash(fixture);
  rmSync(fixture.path);

  const report = await restore(target, { path: fixture.path, stamp: STAMP });
  const restored = titlesIn(fixture.path);
  fixture.restart();

  expect(report.asidePath).toBeNull();
  expect(restored).toEqual(titlesIn(target));
  expect(existsSync(`${fixture.path}.replaced-${STAMP}-wal`)).toBe(true);
});

test('a restore brings what only the log has into the replica before it moves both, so that a crash in between parts nothing', async () => {
  await using fixture = await startFixture({ tables: [notes(12)] });
  const target = await backUpAndCrash(fixture);

  const report = await restore(target, { path: fixture.path, stamp: STAMP });
  fixture.restart();

  const alone = join(fixture.folder, 'alone.db');
  copyFileSync(report.asidePath ?? '', alone);
  expect(titlesIn(alone)[0]).toBe('changed since');
});

test('a restore leaves the log of another file beside the one that was put in its place as it is', async () => {
  await using fixture = await startFixture({ tables: [notes(12)] });
  const target = await backUpAndCrash(fixture);
  copyFileSync(target, fixture.path);

  const report = await restore(target, { path: fixture.path, stamp: STAMP });
  fixture.restart();

  const alone = join(fixture.folder, 'alone.db');
  copyFileSync(report.asidePath ?? '', alone);
  expect(titlesIn(alone)).toEqual(titlesIn(target));
  expect(statSync(`${report.asidePath}-wal`).size).toBeGreaterThan(0);
});

test('two restores in one second keep both of the replicas that were there', async () => {
  await using fixture = await startFixture({ tables: [notes(3)] });
  await fixture.pull();
  const target = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, target);
  fixture.sandbox.store.delete('Note', 1);
  await fixture.pull();
  fixture.replica.close();

  const first = await restore(target, { path: fixture.path, stamp: STAMP });
  const second = await restore(target, { path: fixture.path, stamp: STAMP });
  fixture.restart();

  expect([first.asidePath, second.asidePath].map((path) => titlesIn(path ?? '').length)).toEqual([2, 3]);
});

test('a restore waits for nobody: a replica in use is left alone', async () => {
  await using fixture = await startFixture({ tables: [notes(1)] });
  await fixture.pull();
  const target = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, target);

  await expect(restore(target, { path: fixture.path, stamp: STAMP })).rejects.toMatchObject({ code: 'replica.inUse' });
});

test.each([
  ['no backup of rowsync', 'text'],
  ['a file that is not there', null],
])('a restore from %s changes nothing', async (_what, text) => {
  await using fixture = await startFixture({ tables: [notes(4)] });
  await fixture.pull();
  fixture.replica.close();
  const file = join(fixture.folder, 'file');
  if (text !== null) writeFileSync(file, text);

  await expect(restore(file, { path: fixture.path, stamp: STAMP })).rejects.toMatchObject({ name: 'RowsyncError' });

  expect(titlesIn(fixture.path)).toHaveLength(4);
  fixture.restart();
});

test('what a restored copy wants to create is not created again', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
  await backUp(fixture.path, copy);
  await pushNow(fixture);
  fixture.replica.close();
  await restore(copy, { path: fixture.path, stamp: STAMP });
  fixture.restart();

  await fixture.pull();
  await pushNow(fixture);
  await pushNow(fixture);

  expect(originTitles(fixture).filter((title) => title === 'once')).toHaveLength(1);
  expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: -2, kind: 'inDoubt' }]);
});
