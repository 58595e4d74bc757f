/**
 * Backups that leave the machine, by programs that others make: restic, rsync and Litestream. Each test loses the
 * machine, brings the replica back on a new one, and has every cell compared with the origin. A test whose program is
 * missing is skipped by name.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { fileOf } from '../support/files.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

vi.setConfig({ testTimeout: 120_000 });

const run = promisify(execFile);
const LITESTREAM = join(homedir(), '.cache/rowsync/litestream/bin/litestream');

const isThere = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).error === undefined;
const needs = {
  restic: isThere('restic', 'version'),
  rsync: isThere('rsync', '--version'),
  litestream: existsSync(LITESTREAM),
};

const ROWS = 2_000;
const TABLES = [
  {
    name: 'Album',
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Photo', type: 'Attachment' },
    ],
    rows: Array.from({ length: ROWS }, (_, n) => ({
      Title: `album ${n}`,
      ...(n < 3 ? { Photo: fileOf(`photo-${n}.jpg`, 5_000 * (n + 1), 'image/jpeg') } : {}),
    })),
  },
] as const;
const YAML = 'tables: { "*": { push: true, files: latest } }\n';

/** A machine with a pulled replica and an edit that has not left yet. */
async function startMachine(sandbox: TestSandbox) {
  const workspace = makeWorkspace(sandbox, YAML);
  await runCli(['pull'], workspace);
  edit(workspace.folder, `UPDATE "Album" SET "Title" = 'edited here' WHERE _id = 7`);
  return workspace;
}

function edit(folder: string, statement: string): void {
  const db = new Database(join(folder, 'replica.db'));
  db.exec(statement);
  db.close();
}

/**
 * Brings a backup back on a new machine, and has it compared with the origin. Gives what the replica says of the edit.
 */
async function comeBack(sandbox: TestSandbox, backup: string): Promise<unknown> {
  using machine = makeWorkspace(sandbox, YAML);
  const { folder } = machine;
  expect(await runCli(['restore', backup], { folder })).toMatchObject({ exitCode: 0 });
  expect((await runCli(['pull'], { folder })).stdout).not.toMatch(/failed/);
  expect(await runCli(['verify'], { folder })).toMatchObject({ exitCode: 0 });
  expect(await runCli(['files', 'verify'], { folder })).toMatchObject({ exitCode: 0 });
  const db = new Database(join(folder, 'replica.db'), { readonly: true });
  try {
    expect(db.prepare('SELECT count(*) FROM "Album"').pluck().get()).toBe(ROWS);
    return db.prepare('SELECT "Title" FROM "Album" WHERE _id = 7').pluck().get();
  } finally {
    db.close();
  }
}

test.skipIf(!needs.restic)('a backup goes into a restic repository and comes back whole (needs restic)', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using away = temporaryFolder();
  const env = { ...process.env, RESTIC_PASSWORD: 'a', RESTIC_REPOSITORY: join(away.path, 'repository') };
  const restic = (...args: readonly string[]) => run('restic', ['--no-cache', '--quiet', ...args], { env });
  {
    using machine = await startMachine(sandbox);
    const backups = join(machine.folder, 'backups');
    mkdirSync(backups);
    await restic('init');
    await runCli(['backup', join(backups, 'first.db')], machine);
    await restic('backup', '--exclude', '*.partial', backups);
    await runCli(['backup', join(backups, 'second.db')], machine);
    await restic('backup', '--exclude', '*.partial', backups);
    await restic('check', '--read-data');
  } // the machine is lost

  await restic('restore', 'latest', '--target', join(away.path, 'back'));

  const found = readdirSync(join(away.path, 'back'), { recursive: true, encoding: 'utf8' });
  const backup = found.find((name) => name.endsWith('second.db')) ?? '';
  expect(await comeBack(sandbox, join(away.path, 'back', backup))).toBe('edited here');
});

test.skipIf(!needs.rsync)('a folder of backups is copied by rsync and comes back whole (needs rsync)', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  using away = temporaryFolder();
  const target = join(away.path, 'target');
  {
    using machine = await startMachine(sandbox);
    const backups = join(machine.folder, 'backups');
    mkdirSync(backups);
    const copy = () => run('rsync', ['-aH', '--delete', '--exclude=*.partial', `${backups}/`, `${target}/`]);
    for (const name of ['first.db', 'second.db']) {
      await runCli(['backup', join(backups, name)], machine);
      await copy();
    }
    const [first, second] = ['first', 'second'].map((name) => {
      const folder = join(target, `${name}.db.files`);
      const [file = ''] = readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .toSorted()
        .filter((each) => statSync(join(folder, each)).isFile());
      return statSync(join(folder, file)).ino;
    });
    expect(second).toBe(first); // -H keeps one copy of a file that several backups have
  }

  expect(await comeBack(sandbox, join(target, 'second.db'))).toBe('edited here');
});

test.skipIf(!needs.litestream)(
  'Litestream follows the replica while it is pulled, and brings it back (needs litestream)',
  async () => {
    await using sandbox = await startTestSandbox({ tables: TABLES });
    using away = temporaryFolder();
    const url = `file://${join(away.path, 'stream')}`;
    const restored = join(away.path, 'restored.db');
    {
      using machine = await startMachine(sandbox);
      const replica = join(machine.folder, 'replica.db');
      const stream = spawn(LITESTREAM, ['replicate', replica, url], { stdio: 'ignore' });
      await vi.waitFor(() => expect(existsSync(join(away.path, 'stream'))).toBe(true), { timeout: 30_000 });
      for (let round = 0; round < 5; round += 1) {
        for (let n = 20; n < 60; n += 1) sandbox.store.update('Album', n, { Title: `album ${n} of round ${round}` });
        expect(await runCli(['pull'], machine)).toMatchObject({ exitCode: 0 });
      }
      edit(machine.folder, `UPDATE "Album" SET "Title" = 'edited while it streams' WHERE _id = 7`);
      expect(await runCli(['check'], machine)).toMatchObject({ exitCode: 0 });
      const ended = once(stream, 'exit');
      stream.kill('SIGTERM'); // sends what is left
      await ended;
    }

    await run(LITESTREAM, ['restore', '-o', restored, url]);

    expect(await comeBack(sandbox, restored)).toBe('edited while it streams');
  },
);
