/**
 * Commands that root runs on a replica whose folder members of a group may write. Root is rowsync's user there,
 * whatever they put into the folder, and reads no secret before it knows who that is.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { runRowsync } from '../support/child.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { fileOf } from '../support/files.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import type { RunResult } from '../support/session.ts';
import { isRoot, makeSharedFolder, MEMBER, ROWSYNC, runAs } from '../support/shared-folder.ts';

vi.setConfig({ testTimeout: 300_000 });

const NOTE = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] } as const;

const ALBUM: TableSpec = {
  name: 'Album',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: [1, 2].map((n) => ({ Title: `album ${n}`, Photo: fileOf(`photo-${n}.jpg`, 300_000 * n, 'image/jpeg') })),
};

/** Everything below a folder that is not of rowsync's user. */
function foreignBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => lstatSync(join(folder, name)).uid !== ROWSYNC,
  );
}

describe.skipIf(!isRoot)('root', () => {
  test.each([['verify'], ['status'], ['daemon']])(
    'works on no replica that a member has exchanged, and reads no token before: %s',
    async (...command) => {
      await using sandbox = await startTestSandbox({ tables: [NOTE] });
      using place = makeSharedFolder(sandbox);
      await runRowsync(['pull', '--config', place.config], { folder: place.top });
      runAs(MEMBER, 'cp "$1" "$1.mine"; mv -f "$1.mine" "$1"', place.replica);
      rmSync(join(place.top, 'token')); // reading it would be another error

      const { exitCode, stderr } = await runRowsync([...command, '--config', place.config, '--json'], {
        folder: place.top,
      });

      expect(exitCode).toBe(1);
      expect(stderr).toContain('"code":"replica.path"');
      expect(stderr).toContain(`belongs to the user ${MEMBER}`);
    },
  );

  test('reads tables for --fresh with a token that it alone may read', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using place = makeSharedFolder(sandbox);
    const run = (...command: readonly string[]): Promise<RunResult> =>
      runRowsync([...command, '--config', place.config], { folder: place.top });
    await run('pull');
    await run('resync', 'Note');

    const { exitCode, stdout, stderr } = await run('sql', '--fresh', '1h', '--json', 'SELECT "Title" FROM "Note"');

    expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^asking http.* for Note\nas of /)]);
    expect(JSON.parse(stdout)).toMatchObject({ rows: [{ Title: 'a' }] });
  });

  test('is rowsync’s user in every command, so that nothing in the folder is root’s', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using place = makeSharedFolder(sandbox, 'tables: { Note: { push: true, history: true } }\n');
    const out = join(place.top, 'out');
    mkdirSync(out);
    chmodSync(out, 0o777);
    const commands = [
      ['pull'],
      ['sync'],
      ['status'],
      ['sql', 'SELECT * FROM Note'],
      ['log'],
      ['failures'],
      ['conflicts'],
      ['history', 'Note', '1'],
      ['schema'],
      ['plan'],
      ['push'],
      ['check'],
      ['verify'],
      ['files', 'list'],
      ['files', 'pull'],
      ['files', 'export', join(out, 'files')],
      ['files', 'prune'],
      ['export', join(out, 'tables'), '--format', 'csv'],
      ['backup', join(out, 'copy.db')],
      ['proposals'],
      ['mcp'],
      ['resync', 'Note'],
      ['history', 'forget', 'Note', '1'],
      ['rebuild'],
      ['pull'],
      ['restore', join(out, 'copy.db')],
    ];

    const failures: string[] = [];
    for (const command of commands) {
      const { exitCode, stderr } = await runRowsync([...command, '--config', place.config], { folder: place.top });
      if (exitCode !== 0) failures.push(`${command.join(' ')}: ${exitCode} ${stderr}`);
      failures.push(...foreignBelow(place.folder).map((name) => `${command.join(' ')}: ${name} is not rowsync's`));
    }

    expect(failures).toEqual([]);
    expect(foreignBelow(out)).toEqual([]);
  });

  test('leaves no configuration of its own in the folder of another user', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using place = makeSharedFolder(sandbox);
    const token = join(place.folder, 'token');
    writeFileSync(token, sandbox.token, { mode: 0o600 });
    chownSync(token, ROWSYNC, ROWSYNC);

    const { stderr } = await runRowsync(
      ['init', '--url', sandbox.url, '--database', sandbox.database, '--token-file', 'token'],
      { folder: place.folder },
    );

    expect(stderr).toContain('written: ');
    expect(readdirSync(place.folder)).toContain('rowsync.yaml');
    expect(foreignBelow(place.folder)).toEqual([]);
  });

  test('stays root on a replica of its own', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using place = makeSharedFolder(sandbox);
    const config = join(place.top, 'own.yaml');
    mkdirSync(join(place.top, 'own'), { mode: 0o777 });
    writeFileSync(
      config,
      `origin: { url: "${sandbox.url}", database: "${sandbox.database}", tokenFile: token }\nreplica: { path: own/replica.db }\n`,
    );

    const { exitCode, stderr } = await runRowsync(['pull', '--config', config], { folder: place.top });

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(lstatSync(join(place.top, 'own/replica.db')).uid).toBe(0);
    expect(existsSync(place.replica)).toBe(false);
  });

  test('backs up into a folder of its own, and restores from there, without a file of root beside the replica', async () => {
    await using sandbox = await startTestSandbox({ tables: [ALBUM] });
    using place = makeSharedFolder(sandbox, 'tables: { "*": { files: latest } }\n');
    const own = join(place.top, 'own');
    mkdirSync(own, { mode: 0o700 });
    const run = (...command: string[]): Promise<RunResult> =>
      runRowsync([...command, '--config', place.config], { folder: own });
    await run('pull');
    const content = readdirSync(`${place.replica}.files`, { recursive: true, encoding: 'utf8' }).toSorted();

    const made = await run('backup', 'copy.db');
    const twice = await run('backup', 'copy.db');
    rmSync(place.replica);
    rmSync(`${place.replica}.files`, { recursive: true });
    const restored = await run('restore', 'copy.db');
    const checked = await run('files', 'verify');

    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    expect(made.stdout).toMatch(/own\/copy\.db: 1 table, 2 rows, .*\n.*own\/copy\.db\.files: 0 linked, 2 copied/);
    expect(twice).toMatchObject({ exitCode: 2, stdout: '' });
    expect(readdirSync(own).toSorted()).toEqual(['copy.db', 'copy.db.files']);
    expect(lstatSync(join(own, 'copy.db')).mode & 0o777).toBe(0o600);
    expect(restored).toMatchObject({ exitCode: 0, stderr: '' });
    expect(restored.stdout).toContain('replica.db: 1 table, 2 rows\n');
    expect(lstatSync(place.replica)).toMatchObject({ uid: ROWSYNC, gid: ROWSYNC, mode: 0o100660 });
    expect(readdirSync(`${place.replica}.files`, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(content);
    expect(foreignBelow(place.folder)).toEqual([]);
    expect(readdirSync(place.folder).filter((name) => name.includes('.backup-'))).toEqual([]);
    expect(checked).toMatchObject({ exitCode: 0 });
  });

  test('restores nothing into a tree that a member has linked, and changes no owner anywhere', async () => {
    await using sandbox = await startTestSandbox({ tables: [ALBUM] });
    using place = makeSharedFolder(sandbox, 'tables: { "*": { files: latest } }\n');
    const own = join(place.top, 'own');
    mkdirSync(own, { mode: 0o700 });
    const run = (...command: string[]): Promise<RunResult> =>
      runRowsync([...command, '--config', place.config], { folder: own });
    await run('pull');
    await run('backup', 'copy.db');
    const secret = join(own, 'secret');
    writeFileSync(secret, 'of root', { mode: 0o640 });
    runAs(MEMBER, 'mv "$1.files" "$1.former"; ln -s "$2" "$1.files"', place.replica, own);

    const { exitCode } = await run('restore', 'copy.db');

    expect(exitCode).not.toBe(0);
    expect(lstatSync(own)).toMatchObject({ uid: 0, mode: 0o40700 });
    expect(lstatSync(secret)).toMatchObject({ uid: 0, gid: 0, mode: 0o100640 });
    expect(readdirSync(own).toSorted()).toEqual(['copy.db', 'copy.db.files', 'secret']);
  });

  test('reads no backup for members that they could not read themselves', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using place = makeSharedFolder(sandbox);
    const own = join(place.top, 'own');
    mkdirSync(own, { mode: 0o700 });
    await runRowsync(['pull', '--config', place.config], { folder: place.top });
    const made = await runRowsync(['backup', join(own, 'copy.db'), '--config', place.config], { folder: place.top });
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    const planted = `${place.replica}.before-5`;
    runAs(MEMBER, 'ln -s "$2" "$1"', planted, join(own, 'copy.db'));

    const { exitCode, stderr } = await runRowsync(['restore', planted, '--config', place.config], { folder: own });

    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('replica.path') as string,
    });
    expect(readdirSync(place.folder).filter((name) => name.includes('.replaced-'))).toEqual([]);
  });

  test('changes the owner of no file, in no command', () => {
    const sources = join(import.meta.dirname, '../../src');
    const changing = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.ts') && /chown(?:Sync)?\(/.test(readFileSync(join(sources, name), 'utf8')),
    );

    expect(changing).toEqual([]);
  });
});
