/**
 * Messages when the editing options of a table change between runs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { NOTE } from '../support/two-way.ts';

test('a pull ends what a push said of a misspelt match column that was corrected', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, 'tables: { Note: { push: true, match: Code } }\n');
  const run = (...args: string[]) => runCli(args, { folder: made.folder });
  const respell = (from: string, to: string): void => {
    const path = join(made.folder, 'rowsync.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace(`match: ${from} `, `match: ${to} `));
  };
  await run('pull');
  respell('Code', 'Cod');
  await run('pull');
  await run('push');
  const before = await run('status');
  respell('Cod', 'Code');

  const pulled = await run('pull');
  const after = await run('status');

  expect(pulled.exitCode).toBe(0);
  expect(before.stdout).toContain('the column "Cod" does not exist');
  expect(pulled.stdout).not.toContain('"Cod"');
  expect(after.stdout).not.toContain('"Cod"');
});

test('a table that is to be a mirror again says how many rows have edits', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, 'tables: { Note: { push: true } }\n');
  const { folder } = made;
  await runCli(['pull'], { folder });
  const db = new Database(join(folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  db.close();
  const path = join(folder, 'rowsync.yaml');
  writeFileSync(path, readFileSync(path, 'utf8').replace('push: true', 'push: false'));

  const { stdout } = await runCli(['pull'], { folder });

  expect(stdout).toContain('the origin does not have the edits of 1 row; push stays switched on');
});
