/**
 * The script that `rowsync rebuild` writes is run with the sqlite3 shell, which takes lines that begin with a dot for
 * commands of its own, and drops carriage returns. No name and no value gets to be one, and every value arrives as it
 * was.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { withDatabase } from '../support/compare.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

const HOSTILE = `x\n.shell touch hacked\n.system touch hacked\n'); DROP TABLE victim; --\n/\ngo\n.once hacked\n`;
/** With what a shell could make something else of. */
const VALUE = `${HOSTILE}\r\n.shell touch hacked\r\rend\n`;
const TABLE = {
  name: HOSTILE,
  columns: [{ name: `Title ${HOSTILE}`, type: 'Text' }],
  rows: [{ [`Title ${HOSTILE}`]: 'one' }, { [`Title ${HOSTILE}`]: 'two' }],
} as const;

test.each([
  ['as it is', ''],
  ['with edits that cannot be read', 'DROP TABLE BASE; CREATE TABLE BASE (a)'],
])('no line of it is a command of the shell, %s', async (_what, damage) => {
  await using sandbox = await startTestSandbox({ tables: [TABLE] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": { push: true } }\n');
  const { folder } = workspace;
  const path = join(folder, 'replica.db');
  for (let sweep = 1; sweep <= 2; sweep += 1) await runCli(['pull'], { folder });
  const db = new Database(path);
  const [table, column, id] = db
    .prepare(
      `SELECT "table", "column", (SELECT id FROM _rowsync_tables) FROM sync_columns WHERE "column" LIKE 'Title%'`,
    )
    .raw()
    .get() as [string, string, number];
  const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  db.prepare(`UPDATE ${quoted(table)} SET ${quoted(column)} = ? WHERE _id = 1`).run(VALUE);
  db.exec(damage.replaceAll('BASE', `_rowsync_base_${id}`));
  db.close();

  const rebuilt = await runCli(['rebuild', '--give-up-edits', '--json'], { folder });
  const { scriptPath } = JSON.parse(rebuilt.stdout) as { scriptPath: string };
  await runCli(['pull'], { folder });
  const shell = spawnSync('sqlite3', [path], { input: readFileSync(scriptPath), encoding: 'utf8', cwd: folder });

  expect({ ...shell, path }).toMatchObject({ status: 0, stderr: '', stdout: '' });
  expect(existsSync(join(folder, 'hacked'))).toBe(false);
  const titles = withDatabase(path, (one) =>
    one
      .prepare(`SELECT ${quoted(column)} FROM ${quoted(table)} ORDER BY _id`)
      .pluck()
      .all(),
  );
  expect(titles).toEqual([damage === '' ? VALUE : 'one', 'two']);
});
