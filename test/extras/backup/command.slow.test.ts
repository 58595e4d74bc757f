/**
 * `rowsync backup`, `restore` and `rebuild` as their users see them.
 */
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace, runRowsync } from '../../support/child.ts';
import { fileOf } from '../../support/files.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const ALBUM: TableSpec = {
  name: 'Album',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: [1, 2].map((n) => ({ Title: `album ${n}`, Photo: fileOf(`photo-${n}.jpg`, 500 * n, 'image/jpeg') })),
};
const WITH_FILES = 'tables: { "*": { files: latest } }\n';

test('a backup says what is in it, and a restore what came back', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, WITH_FILES);
  const { folder } = workspace;
  await runCli(['pull'], { folder });

  const made = await runCli(['backup', 'copy.db'], { folder });
  rmSync(join(folder, 'replica-files'), { recursive: true, force: true });
  const restored = await runCli(['restore', 'copy.db'], { folder });
  const pulled = await runCli(['pull'], { folder });

  expect(made).toMatchObject({ exitCode: 0, stderr: '' });
  expect(made.stdout).toMatch(/copy\.db: 1 table, 2 rows, .*\n.*copy\.db\.files: 2 linked, 0 copied \(1\.5 .*\)\n/);
  expect(restored).toMatchObject({ exitCode: 0 });
  expect(restored.stdout).toContain('replica.db: 1 table, 2 rows\n');
  expect(restored.stdout).toContain('the old replica is now ');
  expect(pulled).toMatchObject({ exitCode: 0 });
});

test('a restored table is not called steady before it was read anew, also by a pull that failed', async () => {
  const sandbox = await startTestSandbox({ tables: [{ ...ALBUM, name: 'Other' }, ALBUM] });
  using workspace = makeWorkspace(sandbox);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE _rowsync_tables SET swept_at = '2026-01-01T00:00:00Z'`);
  db.close();
  await runCli(['backup', 'copy.db'], { folder });
  const states = async (): Promise<readonly string[]> => {
    const { stdout } = await runCli(['status', '--json'], { folder });
    const { tables } = JSON.parse(stdout) as { tables: readonly { state: string }[] };
    return tables.map(({ state }) => state);
  };
  const before = await states();

  await runCli(['restore', 'copy.db'], { folder });
  const { stdout: restored } = await runCli(['status'], { folder });
  await runCli(['pull', 'Album'], { folder });
  const afterOne = await states();
  await sandbox[Symbol.asyncDispose]();
  await runCli(['pull'], { folder });

  expect(before).toEqual(['steady', 'steady']);
  expect(restored).toContain('2 tables, 4 rows; all restored\n');
  expect(restored).not.toContain('steady');
  expect(afterOne).toEqual(['steady', 'restored']);
  expect(await states()).toEqual([expect.stringMatching(/steady|failed/), expect.stringMatching(/restored|failed/)]);
});

test('a restore says how many edits of the former replica had not reached the origin', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  await runCli(['backup', 'copy.db'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Album" SET "Title" = 'edited' WHERE _id = 1; DELETE FROM "Album" WHERE _id = 2`);
  db.close();

  const { stdout } = await runCli(['restore', 'copy.db'], { folder });

  expect(stdout).toContain('\n2 edited rows of the old replica had not reached the origin;');
  const [aside = ''] = readdirSync(folder).filter((name) => /replaced-[^.]*$/.test(name));
  expect(stdout).toContain(`\n  sqlite3 -readonly "${join(folder, aside)}" 'SELECT * FROM sync_changes'\n`);
  const former = new Database(join(folder, aside), { readonly: true });
  expect(former.prepare('SELECT row_id, kind FROM sync_changes').raw().all()).toEqual([
    [1, 'update'],
    [2, 'delete'],
  ]);
  former.close();
});

test('a restore says which edits of the backup wait, since they may be outdated', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Album" SET "Title" = 'edited' WHERE _id = 1; INSERT INTO "Album" ("Title") VALUES ('new')`);
  db.close();
  await runCli(['backup', 'copy.db'], { folder });

  const { stdout } = await runCli(['restore', 'copy.db'], { folder });

  expect(stdout).toContain('\n1 new row had not been pushed when the backup was made, and may have been since.\n');
  expect(stdout).toContain('\nThose that nothing identifies wait; after the next pull, rowsync failures lists them: ');
  expect(stdout).toContain(
    '\n1 edited row of the backup had not been pushed when it was made. Such edits may be outdated, and wait:\n',
  );
});

test('a rebuild writes down edits and what waits, and says where the rest is', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Album" SET "Title" = 'discarded' WHERE _id = 1; UPDATE "Album" SET "Title" = 'mine' WHERE _id = 2`);
  await runCli(['discard', 'Album', '1'], { folder });
  expect(db.prepare('SELECT count(*) FROM sync_conflicts').pluck().get()).toBe(1);
  db.close();

  const { stdout } = await runCli(['rebuild'], { folder });

  const [aside = '', script = ''] = ['replaced-', 'edits-'].map(
    (part) => readdirSync(folder).find((name) => name.includes(part)) ?? '',
  );
  expect(stdout).toContain(`${aside}; its sync_history, sync_deleted and decided conflicts are only there\n`);
  expect(stdout).toContain(`1 edit and 0 problems are in ${join(folder, script)}\n`);
  expect(readFileSync(join(folder, script), 'utf8')).not.toContain('discarded');
});

/** Rebuilds a replica, makes it anew, runs the script of its edits and pushes them, as the command says. */
async function rebuildAndPush(
  folder: string,
  flags: readonly string[],
): Promise<{ readonly rebuilt: Awaited<ReturnType<typeof runCli>>; readonly script: string }> {
  const rebuilt = await runCli(['rebuild', ...flags], { folder });
  await runCli(['pull'], { folder });
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const script = readFileSync(join(folder, file), 'utf8');
  const fresh = new Database(join(folder, 'replica.db'));
  fresh.exec(script);
  fresh.close();
  await runCli(['push'], { folder });
  return { rebuilt, script };
}

test.each([
  ['before anything opened it', []],
  ['after a resync, which asks the origin nothing', [['resync', 'Album']]],
])('a backup that is put back creates nothing twice by way of a rebuild, %s', async (_when, between) => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
  const { folder } = workspace;
  const path = join(folder, 'replica.db');
  await runCli(['pull'], { folder });
  const db = new Database(path);
  db.exec(`INSERT INTO "Album" ("Title") VALUES ('new')`);
  db.close();
  await runCli(['backup', 'copy.db'], { folder });
  await runCli(['push'], { folder });
  await runCli(['restore', 'copy.db'], { folder });
  for (const command of between) await runCli(command, { folder });

  const { rebuilt, script } = await rebuildAndPush(folder, []);

  expect(rebuilt.exitCode).toBe(0);
  expect(script).toContain(`-- INSERT INTO "Album" ("Title") VALUES ('new');`);
  expect(sandbox.store.rows('Album').map(({ values }) => values['Title'])).toEqual(['album 1', 'album 2', 'new']);
});

test('a backup that lacks files is kept and ends with 1; one without any says so', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, WITH_FILES);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const listed = await runCli(['sql', 'SELECT path FROM sync_files LIMIT 1', '--json'], { folder });
  const [{ path } = { path: '' }] = JSON.parse(listed.stdout) as { path: string }[];
  rmSync(path);

  const lacking = await runCli(['backup', 'copy.db', '--json'], { folder });
  const bare = await runCli(['backup', 'bare.db', '--without-files'], { folder });

  expect(lacking).toMatchObject({ exitCode: 1 });
  expect(JSON.parse(lacking.stdout)).toMatchObject({
    exitCode: 1,
    rowCount: 2,
    files: { linkedCount: 1 },
    error: { code: 'files.damaged' },
  });
  expect(bare).toMatchObject({ exitCode: 0 });
  expect(bare.stdout).toContain('without attached files');
  expect(
    readdirSync(folder)
      .filter((name) => /^(copy|bare)/.test(name))
      .toSorted(),
  ).toEqual(['bare.db', 'copy.db', 'copy.db.files']);
});

test('a file that could not be fetched again is lacking in each backup until it is here', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, WITH_FILES);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const listed = await runCli(['sql', 'SELECT path FROM sync_files LIMIT 1', '--json'], { folder });
  const [{ path } = { path: '' }] = JSON.parse(listed.stdout) as { path: string }[];
  rmSync(path);
  sandbox.store.revokeToken(sandbox.token);

  const verified = await runCli(['files', 'verify'], { folder });
  const lacking = await runCli(['backup', 'lacking.db', '--json'], { folder });
  const drilled = await runCli(['backup', '--drill', 'lacking.db'], { folder });
  sandbox.store.addToken(sandbox.token);
  const mended = await runCli(['files', 'verify'], { folder });
  const whole = await runCli(['backup', 'whole.db'], { folder });

  expect(verified.exitCode).not.toBe(0);
  expect(verified.stdout).toContain('code: origin.forbidden');
  expect(lacking.exitCode).toBe(1);
  expect(JSON.parse(lacking.stdout)).toMatchObject({
    files: { linkedCount: 1, lost: [] },
    filesNotHere: { failedCount: 1, waitingCount: 0 },
    error: { code: 'files.damaged' },
  });
  expect(drilled.stdout).toContain('1 of 1 file read, 1 file was not here when it was made');
  expect(mended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('1 file mended') as unknown });
  expect(whole).toMatchObject({ exitCode: 0 });
});

test('a backup before the first pull of files says that they are not in it', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, WITH_FILES);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE _rowsync_files SET state = 'missing', sha256 = NULL, reason = NULL WHERE row_id = 2`);
  db.close();

  const made = await runCli(['backup', 'copy.db'], { folder });

  expect(made).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('not here yet, so not in the backup: 1 file;') as unknown,
  });
});

test('a restore tells files that the next pull fetches from those that the origin no longer has', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, WITH_FILES);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  sandbox.store.delete('Album', 1);
  await runCli(['pull'], { folder });
  await runCli(['backup', 'copy.db'], { folder });
  for (const store of ['replica.db.files', 'copy.db.files']) rmSync(join(folder, store), { recursive: true });

  const restored = await runCli(['restore', 'copy.db'], { folder });

  expect(restored.stdout).toContain('\nnot in the backup: 1 file; rowsync pull fetches what is missing\n');
  expect(restored.stdout).toContain('\nlost: 1 file that the origin no longer has; only another backup may have it\n');
});

test.each([
  ['_rowsync_rows', ['--give-up-edits']],
  ['_rowsync_batches', []],
])(
  'a replica of which another program dropped %s is damaged, and its edits get out by a rebuild',
  async (name, flags) => {
    await using sandbox = await startTestSandbox({ tables: [ALBUM] });
    using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
    const { folder } = workspace;
    const path = join(folder, 'replica.db');
    await runCli(['pull'], { folder });
    const db = new Database(path);
    db.exec(`INSERT INTO "Album" ("Title") VALUES ('new'); UPDATE "Album" SET "Title" = 'mine' WHERE _id = 1;
    DELETE FROM "Album" WHERE _id = 2; DROP TABLE ${name}`);
    db.close();

    const pulled = await runCli(['pull'], { folder });
    const { rebuilt, script } = await rebuildAndPush(folder, flags);

    expect(pulled).toMatchObject({ exitCode: 78, stdout: '' });
    expect(pulled.stderr).toMatch(new RegExp(`${name} is missing.*\\n.*rowsync rebuild`));
    expect(rebuilt).toMatchObject({ exitCode: 0 });
    expect(script).toContain(`\n-- INSERT INTO "Album" ("Title") VALUES ('new');`);
    expect(sandbox.store.rows('Album').map(({ id, values }) => [id, values['Title']])).toEqual([[1, 'mine']]);
  },
);

test('a rebuild where nothing was edited writes no script, and the next pull makes the replica', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox);
  const { folder } = workspace;
  await runCli(['pull'], { folder });

  const rebuilt = await runCli(['rebuild'], { folder });
  const status = await runCli(['status'], { folder });
  const none = await runCli(['rebuild'], { folder });
  const pulled = await runCli(['pull'], { folder });

  expect(rebuilt).toMatchObject({ exitCode: 0 });
  expect(rebuilt.stdout).toMatch(/it had no unpushed edits\nrun rowsync pull: it makes a new replica\n/);
  expect(status.stdout).toContain('There is no replica yet');
  expect(readdirSync(folder).filter((name) => name.includes('edits'))).toEqual([]);
  expect(none).toMatchObject({ exitCode: 1 });
  expect(none.stderr).toContain('replica.path');
  expect(pulled).toMatchObject({ exitCode: 0 });
});

test.skipIf(process.geteuid?.() !== 0)(
  'a drill says that a backup is for root alone, not that it is missing',
  async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using workspace = makeWorkspace(sandbox);
    using roots = temporaryFolder();
    const { folder } = workspace;
    const backup = join(roots.path, 'copy.db');
    await runCli(['pull'], { folder });
    await runCli(['backup', backup], { folder });
    for (const name of ['.', ...readdirSync(folder)]) chownSync(join(folder, name), 65_533, 65_533);

    const { exitCode, stderr } = await runRowsync(['backup', '--drill', backup], { folder });
    const missing = await runRowsync(['backup', '--drill', join(roots.path, 'none.db')], { folder });

    expect(stderr).toContain(`The user that owns the replica may not read ${backup}`);
    expect(missing.stderr).toContain(`There is no file ${join(roots.path, 'none.db')}`);
    expect([exitCode, missing.exitCode]).toEqual([2, 2]);
  },
);

test('a backup that is of no moment takes away nothing but what it made', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using workspace = makeWorkspace(sandbox, WITH_FILES);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  mkdirSync(join(folder, 'copy.db.files'));
  writeFileSync(join(folder, 'copy.db.files', 'mine'), 'of another backup');

  const without = await runCli(['backup', '--moment', '--without-files', 'copy.db'], { folder });
  const withFiles = await runCli(['backup', '--moment', 'other.db'], { folder });

  expect([without.stderr, withFiles.stderr].map((said) => said.includes('fresh.moved'))).toEqual([true, true]);
  expect(readdirSync(folder).filter((name) => /^(?:copy|other)/.test(name))).toEqual(['copy.db.files']);
  expect(readdirSync(join(folder, 'copy.db.files'))).toEqual(['mine']);
});
