/**
 * What is said of two-way tables and columns that another program drops, renames, or puts a trigger on, and of views
 * that pruning would break.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { NOTE } from '../support/two-way.ts';

const CONFIG = 'tables: { Note: { push: true, match: Code } }\n';

type Workspace = ReturnType<typeof makeWorkspace>;

function execute({ folder }: Workspace, statements: string): void {
  const db = new Database(join(folder, 'replica.db'));
  try {
    db.exec(statements);
  } finally {
    db.close();
  }
}

test.each(['DROP TABLE "Note"', 'ALTER TABLE "Note" RENAME TO "Notes"'])('%s is said with the edits', async (drop) => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, CONFIG);
  await runCli(['pull'], workspace);
  execute(workspace, `UPDATE "Note" SET "Title" = 'x' WHERE _id <= 2; INSERT INTO "Note" ("Title") VALUES ('new')`);
  execute(workspace, drop);
  const planned = await runCli(['plan'], workspace);
  const before = await runCli(['push'], workspace);
  const pulled = await runCli(['pull'], workspace);
  const after = await runCli(['status'], workspace);

  for (const { exitCode, stdout, stderr } of [planned, before]) {
    expect(exitCode).toBe(1);
    expect(stdout + stderr).toContain(
      'Note: 3 edits not pushed yet, and the table was dropped or renamed in this file',
    );
  }
  for (const { stdout } of [pulled, after])
    expect(stdout).toContain('Note: was dropped or renamed in this file, and was recreated; 3 edits not pushed before');
  expect(after.stdout).not.toContain('not pushed yet');
});

test('a column that was renamed is said until it is made again, and for days after', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, CONFIG);
  await runCli(['pull'], workspace);
  execute(workspace, `ALTER TABLE "Note" RENAME COLUMN "Title" TO "Caption"; UPDATE "Note" SET "Caption" = 'x'`);
  const before = await runCli(['status'], workspace);
  const refused = [await runCli(['plan'], workspace), await runCli(['push'], workspace)];
  const pulled = await runCli(['pull'], workspace);
  const after = await runCli(['status'], workspace);

  for (const { stdout, stderr } of [before, ...refused]) {
    expect(stdout + stderr).toContain('Note: the column "Title" was dropped or renamed in this file');
    expect(stdout + stderr).not.toContain('no such column');
  }
  expect(refused.map(({ exitCode }) => exitCode)).toEqual([1, 1]);
  for (const { stdout } of [pulled, after])
    expect(stdout).toContain('Note: "Title" was dropped or renamed in this file, and was recreated');
});

test('guards of a mirror that were removed are said by the pull that makes them again, and for days after', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": {}, Other: { push: true, match: Code } }\n');
  await runCli(['pull'], workspace);
  const db = new Database(join(workspace.folder, 'replica.db'));
  const triggers = db.prepare(
    `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('Note', 'Other')`,
  );
  for (const name of triggers.pluck().all()) db.exec(`DROP TRIGGER "${String(name)}"`);
  db.exec(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  db.close();
  const pulled = await runCli(['pull'], workspace);
  const after = await runCli(['status', '--json'], workspace);

  expect(pulled.stdout).toContain('Note: its guards were removed in this file; they were recreated');
  expect(pulled.stdout).not.toContain('Changed: ');
  const { problems } = JSON.parse(after.stdout) as { problems: readonly { code: string; table: string }[] };
  expect(problems.map(({ code, table }) => [code, table])).toEqual([['guards.remade', 'Note']]);
});

test('a mirror that was dropped is said until it is made again, and for days after', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": {}, Other: { push: true, match: Code } }\n');
  await runCli(['pull'], workspace);
  execute(workspace, 'DROP TABLE "Note"');
  const { stdout: before } = await runCli(['status'], workspace);
  const asked = await runCli(['sql', 'SELECT * FROM "Note"'], workspace);
  const { exitCode: pushed } = await runCli(['push'], workspace);
  const pulled = await runCli(['pull'], workspace);
  const after = await runCli(['status', '--json'], workspace);
  const { stdout: logged } = await runCli(['log'], workspace);

  expect(before).toContain('Note: the table was dropped or renamed in this file');
  expect(asked.stderr).toContain('no such table: Note (it is not in this file: rowsync status says why)');
  // No edit of another table waits for it.
  expect(pushed).toBe(0);
  expect(pulled.stdout).toContain('Note: was dropped or renamed in this file, and was recreated; it had no edits');
  const { problems } = JSON.parse(after.stdout) as { problems: readonly { code: string; table: string }[] };
  expect(problems.map(({ code, table }) => [code, table])).toEqual([['table.remade', 'Note']]);
  // The origin had no part in it.
  expect(logged).toContain(
    '  Note: the table was dropped or renamed here, and recreated; edits that went with it: 0\n',
  );
});

test('a table that was dropped is not counted as steady, also where the configuration leaves it out', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": {}, }\n');
  await runCli(['pull'], workspace);
  const config = join(workspace.folder, 'rowsync.yaml');
  writeFileSync(config, readFileSync(config, 'utf8').replace('"*": {},', '"*": {}, Other: false'));
  execute(workspace, 'DROP TABLE "Other"');
  await runCli(['pull'], workspace);

  const { stdout } = await runCli(['status'], workspace);
  const { tables } = JSON.parse((await runCli(['status', '--json'], workspace)).stdout) as {
    tables: readonly unknown[];
  };
  const view = await runCli(['sql', '--json', 'SELECT state, rows FROM sync_status'], workspace);

  expect(JSON.parse(view.stdout)).toEqual([
    { state: 'steady', rows: 6 },
    { state: 'dropped', rows: 0 },
  ]);
  expect(stdout).toContain('2 tables, 6 rows; 1 steady, 1 dropped\n');
  expect(tables).toMatchObject([
    { table: 'Note', state: 'steady', rowCount: 6 },
    { table: 'Other', state: 'dropped', rowCount: 0 },
  ]);
});

test('a trigger with RAISE(IGNORE) is said, and an edit beside it is sent once the trigger is gone', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, CONFIG);
  await runCli(['pull'], workspace);
  execute(
    workspace,
    `INSERT INTO "Note" ("Title") VALUES ('new'); CREATE TRIGGER mine BEFORE UPDATE ON "Note" BEGIN SELECT RAISE(IGNORE); END`,
  );
  const refused = [await runCli(['plan'], workspace), await runCli(['push'], workspace)];
  const verified = await runCli(['verify'], workspace);
  const status = await runCli(['status'], workspace);
  execute(workspace, 'DROP TRIGGER mine');
  const pushed = await runCli(['push'], workspace);

  for (const { exitCode, stdout, stderr } of [...refused, verified]) {
    expect(exitCode).toBe(1);
    expect(stdout + stderr).toContain('Note: the trigger "mine" of another program can refuse or drop a row');
  }
  expect(status.stdout).toContain('the trigger "mine" of another program can refuse or drop a row');
  expect(pushed).toMatchObject({ exitCode: 0 });
  expect(sandbox.store.rows('Note').length).toBe(7);
});

test.each([
  ['Titles', 'SELECT "Title" FROM "Note"'],
  ['Others', 'SELECT * FROM "Other"'],
])(
  'pruning names the saved question %s that it would break, drops nothing, and does once it is gone',
  async (name, text) => {
    await using sandbox = await startTestSandbox({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
    using workspace = makeWorkspace(sandbox, 'tables: { "*": {} }\n');
    await runCli(['pull'], workspace);
    execute(workspace, `CREATE VIEW "${name}" AS ${text}`); // as the page saves it
    sandbox.store.dropColumn('Note', 'Title');
    sandbox.store.dropTable('Other');
    await runCli(['pull'], workspace);

    const refused = await runCli(['schema', 'prune', '--confirm'], workspace);
    const asked = await runCli(['sql', `SELECT count(*) FROM "${name}"`], workspace);
    execute(workspace, `DROP VIEW "${name}"`);
    const pruned = await runCli(['schema', 'prune', '--confirm'], workspace);

    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(`error in view ${name}`);
    expect(refused.stderr).toContain('Drop or change it, run the command again');
    expect(asked.exitCode).toBe(0);
    for (const part of ['Note.Title', 'Other']) expect(pruned.stdout).toContain(`  ${part}\n`);
  },
);
