/**
 * `rowsync files export`: what it says, and its exit code.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { contentsOf, fileOf } from '../../support/files.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

const ALBUM = {
  name: 'Album',
  columns: [{ name: 'Cover', type: 'Attachment' as const, options: ['AllowSeeRevisionHistory' as const] }],
  rows: [{ Cover: fileOf('a.txt', 'first') }, { Cover: fileOf('b.txt', 'other') }],
};

test('files are written, found again, and named where they are lost; of revisions only the latest where that is asked', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using made = makeWorkspace(sandbox, `tables: { '*': { files: all } }\n`);
  const { folder } = made;
  const run = (...args: readonly string[]) => runCli(['files', 'export', ...args], { folder });
  await runCli(['pull'], { folder });
  sandbox.store.update('Album', 1, { Cover: fileOf('a.txt', 'second') });
  const pulled = await runCli(['pull'], { folder });

  const latest = await run('pictures', '--latest', '--json');
  const all = await run('pictures');
  const again = await run('pictures', 'Album');
  const unknown = await run('pictures', 'Nope');
  for (const path of contentsOf(join(folder, 'replica.db.files'))) rmSync(path);
  const lost = await run('elsewhere', '--json');

  expect(pulled.exitCode).toBe(0);
  expect(latest.exitCode).toBe(0);
  expect(JSON.parse(latest.stdout)).toMatchObject({
    exitCode: 0,
    folder: join(folder, 'pictures'),
    lostCount: 0,
    errors: [],
  });
  const names = readdirSync(join(folder, 'pictures'), { recursive: true }).map(String);
  expect(names.filter((name) => name.endsWith('.txt')).toSorted()).toEqual(
    expect.arrayContaining(['Album/1/Cover/a.txt', 'Album/2/Cover/b.txt']),
  );
  expect(readFileSync(join(folder, 'pictures/Album/1/Cover/a.txt'), 'utf8')).toBe('second');
  expect(all.stdout).toContain(`${join(folder, 'pictures')}: `);
  expect(again.stdout).toMatch(/0 linked, 0 copied \(0 B\), \d there already\n/);
  expect(unknown).toMatchObject({ exitCode: 2, stdout: '' });
  expect(lost.exitCode).toBe(1);
  expect(JSON.parse(lost.stdout)).toMatchObject({ exitCode: 1, errors: [{ code: 'files.damaged' }] });
});

test('files that were not fetched are said, and show in the exit code', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using made = makeWorkspace(sandbox, `tables: { '*': { files: all } }\n`);
  const { folder } = made;
  const run = (...args: readonly string[]) => runCli(['files', 'export', 'pictures', ...args], { folder });
  await runCli(['pull'], { folder });
  sandbox.store.update('Album', 1, { Cover: fileOf('a.txt', 'second') });
  const tries = Array.from({ length: 20 }, (_, index) => index + 1);
  for (const nth of tries) sandbox.answerInstead(nth, { status: 404, body: '' }, { method: 'attachment' });
  await runCli(['pull'], { folder });

  const partial = await run();
  const latest = await run('--latest', '--json');

  expect(partial.exitCode).toBe(1);
  expect(partial.stdout).toContain('1 file of the origin could not be exported: the content was not fetched yet');
  expect(JSON.parse(latest.stdout)).toMatchObject({ exitCode: 1, awaitedCount: 1, errors: [{ code: 'files.failed' }] });
});

test('of earlier revisions that are not here, nothing is said where only the latest are asked for', async () => {
  await using sandbox = await startTestSandbox({ tables: [ALBUM] });
  using made = makeWorkspace(sandbox, `tables: { '*': { files: all } }\n`);
  const { folder } = made;
  sandbox.store.update('Album', 1, { Cover: fileOf('a.txt', 'second') });
  await runCli(['pull'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE _rowsync_files SET state = 'failed', sha256 = NULL, reason = 'x' WHERE row_id = 1 AND revision = 1`);
  db.close();

  const latest = await runCli(['files', 'export', 'pictures', '--latest'], { folder });
  const all = await runCli(['files', 'export', 'pictures'], { folder });

  expect([latest.exitCode, all.exitCode]).toEqual([0, 1]);
});
