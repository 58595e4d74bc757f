/**
 * Drills of backups: what they prove about a good one, and that a bad one is reported until there is a better one.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { drillComplaints } from '../../../src/extras/backup/drill.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../../support/child.ts';
import { startDaemon } from '../../support/daemon.ts';
import { contentsOf, fileOf } from '../../support/files.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { SECTIONS } from '../../support/sections.ts';
import { runCli } from '../../support/session.ts';

const ALBUM: TableSpec = {
  name: 'Album',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: [1, 2, 3].map((n) => ({ Title: `album ${n}`, Photo: fileOf(`photo-${n}.jpg`, 500 * n, 'image/jpeg') })),
};
const NOTE: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Text', type: 'Text' }],
  rows: [{ Text: 'one' }, { Text: 'two' }],
};
const YAML = 'tables: { Album: { files: latest, history: true }, Note: { push: true } }\n';

/** A replica with edits under way, and a backup `copy.db` of it. */
async function startBackedUp() {
  const sandbox = await startTestSandbox({ tables: [ALBUM, NOTE] });
  const { folder, [Symbol.dispose]: dispose } = makeWorkspace(sandbox, YAML);
  await runCli(['pull'], { folder });
  sql(folder, 'replica.db', `INSERT INTO Note ("Text") VALUES ('new'); DELETE FROM Note WHERE _id = 1`);
  await runCli(['backup', 'copy.db'], { folder });
  return {
    folder,
    sandbox,
    drill: async () => runCli(['backup', 'copy.db', '--drill'], { folder }),
    [Symbol.asyncDispose]: async () => {
      dispose();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function sql(folder: string, file: string, statements: string): void {
  const db = new Database(join(folder, file));
  const guards = db.prepare<[], string>(
    `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%read-only mirror%'`,
  );
  if (file !== 'replica.db') for (const name of guards.pluck().all()) db.exec(`DROP TRIGGER "${name}"`);
  db.exec(statements);
  db.close();
}

test('a good backup is whole, has the rows of its record and of the history since, and its files', async () => {
  await using place = await startBackedUp();
  place.sandbox.store.insert('Album', { Title: 'later' });
  place.sandbox.store.delete('Album', 2);
  await runCli(['pull'], { folder: place.folder });
  const before = readFileSync(join(place.folder, 'copy.db'));

  const { exitCode, stdout } = await place.drill();

  expect(stdout).toMatch(
    /copy\.db is whole: 2 tables, 5 rows \(including 1 row added here and without 1 row deleted here, not pushed yet\) \(1 table checked against the history since\), 3 of 3 files read\n$/,
  );
  expect(exitCode).toBe(0);
  expect(readFileSync(join(place.folder, 'copy.db')).equals(before)).toBe(true);
});

test.each([
  ['a row is gone from a mirror', 'DELETE FROM Album WHERE _id = 2', 'Album has 2 rows, by its own record 3'],
  [
    'a row is gone that the record does not miss',
    "DELETE FROM Album WHERE _id = 2; UPDATE _rowsync_tables SET row_count = 2 WHERE local_name = 'Album'",
    'Album has 2 rows, by the history since 3',
  ],
  [
    'a row of a two-way table is gone',
    "UPDATE _rowsync_tables SET row_count = 3 WHERE local_name = 'Note'",
    'Note has 1 row, by its own record 2',
  ],
])('a backup fails where %s', async (_title, damage, words) => {
  await using place = await startBackedUp();
  sql(place.folder, 'copy.db', damage);

  const { exitCode, stdout } = await place.drill();

  expect(stdout).toContain(`failed: copy.db: ${words}`);
  expect(exitCode).toBe(1);
});

test('a backup fails where SQLite finds it damaged, or a file has other content', async () => {
  await using place = await startBackedUp();
  const [first = ''] = contentsOf(join(place.folder, 'copy.db.files'));
  const content = readFileSync(first);
  chmodSync(first, 0o600);
  writeFileSync(first, content.fill(1));
  const ofFile = await place.drill();
  const bytes = readFileSync(join(place.folder, 'copy.db'));
  writeFileSync(join(place.folder, 'copy.db'), bytes.fill(7, bytes.length - 9000));

  const ofPages = await place.drill();

  expect(ofFile.stdout).toContain(`its file ${first.slice(-64)} is damaged`);
  expect(ofPages.stdout).toMatch(/failed: copy\.db: .*(damaged|malformed)/);
});

test('the daemon drills weekly where it makes backups, and tells of a bad one, also after a restart', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  const yaml = 'schedule: { backup: "0 4 * * *" }\nbackup: { folder: backups }';
  await using daemon = startDaemon(sandbox, yaml, {
    prepare: (folder) => mkdirSync(join(folder, 'backups')),
    startMs: Date.UTC(2026, 5, 7, 3, 58), // a Sunday
  });
  await daemon.elapse(10);
  const [name = ''] = readdirSync(join(daemon.folder, 'backups'));
  sql(join(daemon.folder, 'backups'), name, 'DELETE FROM Note');
  await daemon.elapse(25);
  const drills = daemon.events('work.finished').filter(({ work }) => work === 'drill');
  const told = daemon.events('problem.found').at(-1);
  await daemon.stop();

  const status = await runCli(['status'], { folder: daemon.folder });
  const { config } = loadConfig(join(daemon.folder, 'rowsync.yaml'), { needsCredentials: false, sections: SECTIONS });
  const complaints = drillComplaints(config);

  expect(drills).toMatchObject([{ outcome: 'done', reason: 'Note has 0 rows, by its own record 2' }]);
  expect(told).toMatchObject({ code: 'work.failed' });
  expect(status.stdout).toContain(`failed: ${name}: Note has 0 rows, by its own record 2`);
  expect(complaints).toMatchObject([{ about: 'work.failed', subject: null, code: 'backup.damaged' }]);
});
