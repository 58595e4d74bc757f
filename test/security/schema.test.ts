/**
 * Whoever may write the replica makes views, triggers and virtual tables in it, and writes rowsync's own tables. None
 * of that runs with more rights than he has, reaches another host, or holds up the other tables.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { readOrigin, readReplica, withDatabase } from '../support/compare.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli, type RunResult } from '../support/session.ts';

const TABLES = ['Note', 'Other'].map((name) => ({
  name,
  columns: [{ name: 'Title', type: 'Text' }],
  rows: [{ Title: 'one' }, { Title: 'two' }],
}));
const VALUE = 'a value of a row';

/** A pulled workspace, in which another SQL client then ran this; and changes at the origin. */
async function plant(
  statements: string,
): Promise<{ sandbox: TestSandbox; folder: string; path: string } & AsyncDisposable> {
  const sandbox = await startTestSandbox({ tables: TABLES });
  const workspace = makeWorkspace(sandbox, 'tables: { Note: { push: true }, "*": {} }\n');
  const { folder } = workspace;
  const path = join(folder, 'replica.db');
  for (let sweep = 1; sweep <= 2; sweep += 1) await runCli(['pull'], { folder });
  const db = new Database(path);
  db.exec(statements);
  db.close();
  for (const { name } of TABLES) sandbox.store.update(name, 1, { Title: VALUE });
  sandbox.requests.clear();
  return {
    sandbox,
    folder,
    path,
    [Symbol.asyncDispose]: async () => {
      workspace[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function titles(path: string, table: string): readonly unknown[] {
  return withDatabase(path, (db) => db.prepare(`SELECT "Title" FROM "${table}" ORDER BY _id`).pluck().all());
}

const onUpdate = (what: string, when = 'AFTER'): string =>
  `CREATE TRIGGER hostile ${when} UPDATE ON "Note" BEGIN SELECT ${what}; END`;

describe('a trigger', () => {
  test.each([
    ['that loads a program', onUpdate(`load_extension('hostile')`), /unsafe use|no such function|not authorized/],
    ['that asks SQLite for its files', onUpdate('(SELECT file FROM pragma_database_list)'), /unsafe use/],
    ['that reads raw pages', onUpdate('(SELECT count(*) FROM dbstat)'), /unsafe use/],
    [
      'that refuses with a value in its words',
      onUpdate(`RAISE(ABORT, 'no ' || new."Title")`),
      /the trigger .*RAISE.*, so nothing of the table is read/,
    ],
    [
      'that ends the transaction',
      onUpdate(`RAISE(ROLLBACK, 'no')`, 'BEFORE'),
      /the trigger .*RAISE.*, so nothing of the table is read/,
    ],
    [
      'that leaves the statement half done',
      onUpdate(`RAISE(FAIL, 'no')`, 'BEFORE'),
      /the trigger .*RAISE.*, so nothing of the table is read/,
    ],
    ['that needs what is not there', onUpdate('(SELECT a FROM nowhere)'), /no such table/],
  ])('%s fails its own table alone, and nothing of that comes out', async (_what, statements, message) => {
    await using world = await plant(statements);
    const files = (): readonly string[] => readdirSync(world.folder).filter((name) => !/-(?:wal|shm)$/.test(name));
    const before = files();

    const results: RunResult[] = [];
    for (const command of ['pull', 'push', 'status']) {
      results.push(await runCli([command, '--verbose'], { folder: world.folder }));
    }

    const output = results.map(({ stdout, stderr }) => stdout + stderr).join('\n');
    expect(results.map(({ exitCode }) => exitCode)).toEqual([1, 1, 0]);
    expect(output).toMatch(message);
    expect(output).not.toContain(VALUE);
    expect(titles(world.path, 'Note')).toEqual(['one', 'two']);
    expect(titles(world.path, 'Other')).toEqual([VALUE, 'two']);
    expect(world.sandbox.store.rows('Note').map(({ values }) => values['Title'])).toEqual([VALUE, 'two']);
    expect(files()).toEqual(before);
  });
});

test.each([
  ['the files that SQLite has open', 'CREATE VIEW hostile AS SELECT * FROM pragma_database_list'],
  ['raw pages', 'CREATE VIEW hostile AS SELECT * FROM dbstat'],
  ['a program that it loads', `CREATE VIEW hostile AS SELECT load_extension('hostile')`],
])('a view of %s is not run for whoever reads it', async (_what, statements) => {
  await using world = await plant(statements);

  const { exitCode, stderr } = await runCli(['sql', 'SELECT * FROM hostile'], { folder: world.folder });

  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/unsafe use|no such function|not authorized/);
});

test.each([
  ['addresses of pages', `UPDATE _rowsync_pages SET url = 'http://127.0.0.1:9/hostile'`],
  ['ETags that would add headers', `UPDATE _rowsync_pages SET etag = '"a"' || char(13, 10) || 'X-Hostile: 1'`],
  ['ETags of another form', `UPDATE _rowsync_pages SET etag = '*'`],
  ['aliases that would be paths', `UPDATE _rowsync_tables SET alias = '../../../hostile?a=b#'`],
  ['names that would be paths', `UPDATE _rowsync_tables SET alias = '', name = '../../../hostile?a=b#' || id`],
  [
    'a virtual table and a trigger',
    `CREATE VIRTUAL TABLE found USING fts5(a);
    CREATE TRIGGER finding AFTER UPDATE ON "Note" BEGIN INSERT INTO found VALUES (new."Title"); END`,
  ],
])('%s written into the replica send no request elsewhere, and the next pull is whole', async (_what, statements) => {
  await using world = await plant(statements);

  const { exitCode } = await runCli(['pull'], { folder: world.folder });

  expect(exitCode).toBe(0);
  expect(world.sandbox.requests.all.map(({ path }) => path).filter((path) => /hostile/i.test(path))).toEqual([]);
  expect(readReplica(world.path)).toEqual(readOrigin(world.sandbox));
});
