/** The SQL that people give to `rowsync sql` reads this replica and nothing else, and changes nothing anywhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

const TABLE = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] } as const;

test.each([
  `ATTACH 'other.db' AS other`,
  `ATTACH 'file:other.db?mode=rwc' AS other`,
  `VACUUM INTO 'other.db'`,
  `PRAGMA writable_schema = 1`,
  `PRAGMA journal_mode = DELETE`,
  `PRAGMA user_version = 7`,
  `UPDATE "Note" SET "Title" = 'x'`,
  `DELETE FROM _rowsync_tables`,
  `DROP TABLE "Note"`,
  `CREATE TABLE x (a)`,
  `CREATE TEMP TABLE x (a)`,
  `INSERT INTO sqlite_schema VALUES (1, 2, 3, 4, 5)`,
  `SELECT load_extension('x')`,
  `SELECT writefile('other.db', 'x')`,
  `SELECT readfile('token')`,
  `SELECT 1; DELETE FROM "Note"`,
])('%s', async (statement) => {
  await using sandbox = await startTestSandbox({ tables: [TABLE] });
  using workspace = makeWorkspace(sandbox);
  const { folder } = workspace;
  await runCli(['pull'], { folder });
  const files = (): readonly string[] => readdirSync(folder).filter((file) => !/-(?:wal|shm)$/.test(file));
  const before = files();
  const schema = readSchema(join(folder, 'replica.db'));

  const { stdout, exitCode } = await runCli(['sql', statement], { folder });

  expect(exitCode).not.toBe(0);
  expect(stdout).not.toContain(readFileSync(join(folder, 'token'), 'utf8'));
  expect(files()).toEqual(before);
  expect(readSchema(join(folder, 'replica.db'))).toEqual(schema);
});

function readSchema(path: string): unknown {
  const db = new Database(path, { readonly: true });
  try {
    return [
      db.prepare('SELECT * FROM sqlite_schema').all(),
      db.prepare('SELECT * FROM "Note"').all(),
      db.pragma('user_version'),
      db.pragma('journal_mode'),
    ];
  } finally {
    db.close();
  }
}
