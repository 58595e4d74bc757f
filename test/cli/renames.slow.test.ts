/** What the commands say of a table that was renamed at the origin, and of names that match nothing. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Store } from '../../src/sandbox/store/store.ts';
import { makeWorkspace } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { NOTE } from '../support/two-way.ts';

const NAMED = 'Note is now called Memo; its configuration still applies: change the name in the configuration';

test('pull, status and check name the table that was renamed, and log says when; none does once the name is changed', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {}, Note: { columns: { exclude: [Title] } } }\n`);
  const run = (...args: readonly string[]) => runCli(args, { folder: made.folder });
  await run('pull');
  sandbox.store.renameTable('Note', 'Memo');

  const pulled = await run('pull');
  const again = await run('pull', '--json');
  const status = await run('status');
  const check = await run('check');
  const log = await run('log');
  const columns = await run('sql', `SELECT count(*) AS n FROM pragma_table_info('Memo') WHERE name = 'Title'`);

  expect(pulled).toMatchObject({ exitCode: 0 });
  expect(pulled.stdout).toContain(NAMED);
  expect(pulled.stdout).toContain('Changed: Memo: the origin renamed the table, which was called Note');
  expect(JSON.parse(again.stdout)).toMatchObject({ notes: [NAMED], schemaChanges: [] });
  expect(status.stdout).toContain(NAMED);
  expect(check.stdout).toContain(NAMED);
  expect(log.stdout).toContain('Memo: the origin renamed the table, which was called Note');
  expect(columns.stdout).toContain('0');

  const file = join(made.folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('Note:', 'Memo:'));
  const corrected = [await run('pull'), await run('status'), await run('check')];

  for (const { stdout } of corrected) expect(stdout).not.toContain('is now called');
});

test.each([
  [(store: Store) => store.dropColumn('Note', 'Title'), 'the origin no longer shows a column "Title"'],
  [(store: Store) => store.renameColumn('Note', 'Title', 'Heading'), '"Title" is now called "Heading"'],
])(
  'pull and status say that the configuration leaves out a column that is no more, or has another name',
  async (change, words) => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using made = makeWorkspace(sandbox, `tables: { Note: { columns: { exclude: [Title] } } }\n`);
    const first = await runCli(['pull'], { folder: made.folder });
    change(sandbox.store);
    const second = await runCli(['pull'], { folder: made.folder });
    const status = await runCli(['status'], { folder: made.folder });

    expect(first.stdout).not.toContain('Title');
    for (const { stdout, exitCode } of [second, status]) {
      expect(exitCode).toBe(0);
      expect(stdout).toContain(`tables.Note.columns.exclude: ${words}`);
    }
  },
);

test('a table and a column keep the names that the configuration gives them when the table is renamed at the origin', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { Note: { name: remark, columnNames: { Title: headline } } }\n`);
  const run = (...args: readonly string[]) => runCli(args, { folder: made.folder });
  await run('pull');
  sandbox.store.renameTable('Note', 'Memo');

  const pulled = await run('pull');
  const rows = await run('sql', 'SELECT headline FROM remark LIMIT 1');
  const byBoth = [await run('pull', 'remark'), await run('pull', 'Memo'), await run('verify', 'remark')];

  expect([pulled.exitCode, rows.exitCode, ...byBoth.map(({ exitCode }) => exitCode)]).toEqual([0, 0, 0, 0, 0]);
  writeFileSync(
    join(made.folder, 'rowsync.yaml'),
    readFileSync(join(made.folder, 'rowsync.yaml'), 'utf8').replace(/tables:.*/, `tables: { 'N*': { name: sync_x } }`),
  );
  const refused = await run('pull');
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain('tables.N*.name must be a name that SQL can use for a table here');
  expect(refused.stderr).toContain('tables.N*.name is for one table, not for a pattern');
});

test('a table keeps the name that the configuration gives it in a pull of another table', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  using made = makeWorkspace(sandbox, `tables: { '*': {}, Note: { name: remark } }\n`);
  await runCli(['pull'], { folder: made.folder });

  const pulled = await runCli(['pull', 'Other'], { folder: made.folder });
  const rows = await runCli(['sql', 'SELECT count(*) FROM remark'], { folder: made.folder });

  expect([pulled.exitCode, rows.exitCode]).toEqual([0, 0]);
});

test.each(['pull', 'push', 'sync', 'verify', 'status'])(
  '%s has the account, as text and with --json',
  async (command) => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    using made = makeWorkspace(sandbox, `tables: { '*': { push: true }, Notes: { columns: { include: [Title] } } }\n`);
    await runCli(['pull', '--confirm'], { folder: made.folder });

    const { stdout: text } = await runCli([command], { folder: made.folder });
    const { stdout: json } = await runCli([command, '--json'], { folder: made.folder });

    const { problems } = JSON.parse(json) as { problems: readonly { code: string; sentence: string }[] };
    expect(problems.map(({ code }) => code)).toContain('config.excluding');
    for (const { sentence } of problems) expect(text).toContain(sentence);
  },
);

test('a misspelt key that keeps a table out holds the first pull, and status says so', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using made = makeWorkspace(sandbox, `tables: { '*': {}, Notes: false }\n`);
  const run = (...args: readonly string[]) => runCli(args, { folder: made.folder });

  const held = await run('pull');
  const status = await run('status');
  const check = await run('check');
  const confirmed = await run('pull', '--confirm');
  const after = await run('status');

  expect(held.exitCode).toBe(3);
  expect(held.stdout).toContain('No table matches Notes under tables (did you mean Note?)');
  for (const { stdout } of [status, check]) expect(stdout).toContain('No table matches Notes');
  expect(confirmed.exitCode).toBe(0);
  expect(after.stdout).toContain('No table matches Notes under tables (did you mean Note?)');
});

test.each([
  ['a renamed column', (store: Store) => store.renameColumn('Note', 'Title', 'Headline'), 'columns were renamed'],
  ['another calling user', (store: Store) => store.changeUser({ id: 4711 }), 'The calling user'],
])('a push that stops for %s is said until the pull that ends it', async (_what, change, words) => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'tables: { Note: { push: true, match: Code } }\n');
  await runCli(['pull'], workspace);
  change(sandbox.store);
  const db = new Database(join(workspace.folder, 'replica.db'));
  db.exec(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  db.close();
  await runCli(['push'], workspace);
  const before = await runCli(['status'], workspace);
  const pulled = await runCli(['pull', '--confirm'], workspace);

  expect(before.stdout).toContain(words);
  expect(pulled.exitCode).toBe(0);
  expect(pulled.stdout).not.toContain(words);
});
