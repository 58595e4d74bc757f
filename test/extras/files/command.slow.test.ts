/** `rowsync files`, as its users run it, and what a check and a progress bar say of files. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countFiles, filesBarText, filesLineText } from '../../../src/cli/terminal/progress.ts';
import { pruneText } from '../../../src/extras/files/command.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { makeWorkspace } from '../../support/child.ts';
import { testClock } from '../../support/clock.ts';
import { fileOf } from '../../support/files.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli, type RunResult } from '../../support/session.ts';

const ALBUM: TableSpec = {
  name: 'Album',
  columns: [
    { name: 'Cover', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
    { name: 'Scan', type: 'Attachment' },
  ],
  rows: [
    { Cover: fileOf('a.png', 'first', 'image/png') },
    { Cover: fileOf('\u001b[31mb.png', 'other'), Scan: fileOf('s', 'scan') },
  ],
};

interface World extends AsyncDisposable {
  readonly sandbox: TestSandbox;
  readonly folder: string;
  run(...args: readonly string[]): Promise<RunResult>;
  json(...args: readonly string[]): Promise<unknown>;
}

/** A workspace whose replica was pulled; `yaml` goes behind its configuration. */
async function pulledWorld(yaml = ''): Promise<World> {
  const sandbox = await startTestSandbox({ tables: [ALBUM] });
  const { folder, [Symbol.dispose]: dispose } = makeWorkspace(sandbox, yaml);
  const run = (...args: readonly string[]): Promise<RunResult> => runCli(args, { folder });
  const first = await run('pull');
  if (first.exitCode !== 0) throw new Error(first.stdout + first.stderr);
  return {
    sandbox,
    folder,
    run,
    json: async (...args) => JSON.parse((await run(...args, '--json')).stdout) as unknown,
    [Symbol.asyncDispose]: async () => {
      dispose();
      await sandbox.stop();
    },
  };
}

test('a pull brings files, and says so once', async () => {
  await using world = await pulledWorld();
  world.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', 'second', 'image/png') });

  const { stdout, exitCode } = await world.run('pull');
  const quiet = await world.run('sync');
  const json = await world.json('pull');

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/\nfiles: 1 downloaded \(6 B\) in \d/);
  expect(quiet.stdout).not.toContain('files');
  expect(json).toMatchObject({ exitCode: 0, files: { downloadedCount: 0, requestCount: 0, error: null } });
});

test('files are listed for people and programs, without acting on a terminal', async () => {
  await using world = await pulledWorld();

  const { stdout } = await world.run('files');
  const some = (await world.json('files', 'list', 'album', '--state', 'here')) as { name: string; path: string }[];
  const none = await world.json('files', 'list', '--state', 'failed');
  const unknown = await world.run('files', 'list', 'Nope');

  expect(stdout).toContain('a.png');
  expect(stdout).not.toContain('\u001b');
  expect(some.map(({ path }) => readFileSync(path, 'utf8'))).toEqual(['first', 'other', 'scan']);
  expect(none).toEqual([]);
  expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Album') as unknown });
});

test('a file that failed is tried at once on demand, and shows in the exit code then', async () => {
  await using world = await pulledWorld();
  const refusal = {
    status: 404,
    body: '{"error":404,"message":"Lost"}',
    headers: { 'Content-Type': 'application/json' },
  };
  world.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', 'second') });
  world.sandbox.answerInstead(1, refusal, { method: 'attachment' });
  world.sandbox.answerInstead(2, refusal, { method: 'attachment' });

  const pulled = await world.run('pull');
  const again = await world.run('files', 'pull');
  const checked = await world.run('check');
  const third = await world.run('files', 'pull');
  const fourth = await world.run('files', 'pull');

  expect(pulled).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('1 file could not be fetched') as unknown,
  });
  expect(again).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("state = 'failed'") as unknown });
  expect(checked.stdout).toMatch(/warn +problems +files.late: Album: 1 file not here yet; the worst is _id 1, a.png: /);
  expect(third).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('1 downloaded') as unknown });
  expect(fourth.stdout).toBe('Nothing to fetch: every file that is wanted is here\n');
});

test('a damaged file is found and mended', async () => {
  await using world = await pulledWorld();
  const [{ path }] = (await world.json('files', 'list')) as [{ path: string }];
  chmodSync(path, 0o600);
  writeFileSync(path, 'fIrst');

  const found = await world.run('files', 'verify');
  const second = await world.json('files', 'verify');

  expect(found.exitCode).toBe(0);
  expect(found.stdout).toContain('1 file lost or damaged here');
  expect(found.stdout).toContain('1 file mended');
  expect(second).toMatchObject({ exitCode: 0, damagedCount: 0, contentCount: 3, askedCount: 3 });
  expect(readFileSync(path, 'utf8')).toBe('first');
});

test('what cannot be mended fails the verification', async () => {
  await using world = await pulledWorld();
  const [{ path }] = (await world.json('files', 'list')) as [{ path: string }];
  world.sandbox.store.delete('Album', 1);
  await world.run('pull');
  rmSync(path);

  const exported = await world.run('files', 'export', 'out');
  const found = await world.run('files', 'verify');

  expect(exported).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('rowsync files verify') as unknown });
  expect(found).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('Album.Cover of row 1, revision 1') as unknown,
  });
});

test('files are exported into a folder, beside whatever runs, and what is left over is pruned', async () => {
  await using world = await pulledWorld('tables: { "*": { files: all } }\n');
  writeFileSync(join(world.folder, 'replica.db.files', 'ab'), 'not a folder');

  const exported = await world.run('files', 'export', 'out', '--latest', 'Album');
  const dry = await world.run('files', 'prune', '--dry-run');
  const pruned = await world.json('files', 'prune');

  expect(exported.exitCode).toBe(0);
  expect(exported.stdout).toBe(`${join(world.folder, 'out')}: 3 linked, 0 copied (14 B), 0 there already\n`);
  expect(readdirSync(join(world.folder, 'out', 'Album', '1', 'Cover'))).toEqual(['a.png']);
  expect(readdirSync(join(world.folder, 'out', 'Album', '2', 'Cover'))).toEqual(['[31mb.png']);
  expect(dry.stdout).toContain('Nothing to remove');
  expect(pruned).toEqual({ exitCode: 0, dryRun: false, contentCount: 0, bytes: 0 });
});

test('content goes only when its column was dropped here and pruning is asked for', async () => {
  await using world = await pulledWorld();
  const paths = ((await world.json('files', 'list')) as { path: string; column: string }[]).filter(
    ({ column }) => column === 'Scan',
  );
  world.sandbox.store.dropColumn('Album', 'Scan');
  await world.run('pull');

  const before = await world.json('files', 'prune', '--dry-run');
  await world.run('schema', 'prune', '--confirm');
  const dry = await world.run('files', 'prune', '--dry-run');
  const stood = existsSync(paths[0]?.path ?? '');
  const pruned = await world.run('files', 'prune');

  expect(before).toMatchObject({ contentCount: 0 });
  expect(dry.stdout).toBe('Would remove 1 content (4 B) that no row of sync_files refers to\n');
  expect(pruned.stdout).toContain('Removed 1');
  expect([stood, existsSync(paths[0]?.path ?? '')]).toEqual([true, false]);
  expect(await world.json('files', 'list')).toHaveLength(2);
});

test('the configuration says which files come, and check says which revisions', async () => {
  await using world = await pulledWorld('tables: { Album: { files: { revisions: all, maxFileBytes: 4 } } }\n');

  const states = (await world.json('files', 'list')) as { state: string; reason: string | null }[];
  const { stdout } = await world.run('check');
  writeFileSync(
    join(world.folder, 'rowsync.yaml'),
    readFileSync(join(world.folder, 'rowsync.yaml'), 'utf8') + 'files: { maxBytes: 5 }\n',
  );
  const bounded = await world.run('pull');

  expect(states.map(({ state, reason }) => reason ?? state)).toEqual([
    'tables.Album.files.maxFileBytes',
    'tables.Album.files.maxFileBytes',
    'here',
  ]);
  expect(stdout).toMatch(/ok +files +every revision of Album\.Cover; the latest revision of Album\.Scan\n/);
  expect(stdout).toMatch(
    /warn +files +Album\.Scan: all revisions are wanted, but the column does not show its history/,
  );
  expect(bounded.exitCode).toBe(0);
});

test('the words about pruning tell a dry run from a real one', () => {
  expect(pruneText({ contentCount: 2, bytes: 2_048 }, true)).toContain('Would remove 2 contents (2.0 KiB)');
  expect(pruneText({ contentCount: 2, bytes: 2_048 }, false)).toContain('Removed 2 contents');
});

describe('progress', () => {
  test('counts files and bytes, tells the rate and the time left', () => {
    const clock = testClock();
    const counter = countFiles(clock);
    counter.count({ kind: 'start', what: 'download', fileCount: 4, bytes: 4_096 });
    clock.advance(2_000);
    counter.count({ kind: 'bytes', bytes: 1_024 });
    counter.count({ kind: 'file' });

    expect(filesBarText(counter.state(), 100)).toBe(
      '█████░░░░░░░░░░░░░░░ 1 of 4 files  1.0 KiB of 4.0 KiB  512 B/s  6.0 s left',
    );
    expect(filesBarText(counter.state(), 30)).toHaveLength(30);
    expect(filesLineText(counter.state())).toBe('files: 1 of 4 files, 1.0 KiB of 4.0 KiB, 512 B/s, 6.0 s left');
  });

  test('goes by files where the bytes are not known, and never beyond the end', () => {
    const clock = testClock();
    const counter = countFiles(clock);
    counter.count({ kind: 'start', what: 'verify', fileCount: 2, bytes: null });
    clock.advance(1_000);
    counter.count({ kind: 'bytes', bytes: 10 });
    for (let index = 0; index < 3; index += 1) counter.count({ kind: 'file' });

    expect(filesLineText(counter.state())).toBe('verifying files: 2 of 2 files, 10 B, 10 B/s');
  });
});
