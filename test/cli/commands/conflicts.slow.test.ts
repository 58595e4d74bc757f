/**
 * The commands about conflicts and edits, on a table that is two-way by its configuration.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { makeWorkspace } from '../../support/child.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const CONFIG = `tables: { Note: { push: true, match: Code, conflict: ask } }\n`;

type Workspace = ReturnType<typeof makeWorkspace>;

function execute({ folder }: Workspace, statements: string): void {
  const db = new Database(join(folder, 'replica.db'));
  try {
    db.exec(statements);
  } finally {
    db.close();
  }
}

async function startConflict(sandbox: TestSandbox): Promise<Workspace> {
  const workspace = makeWorkspace(sandbox, CONFIG);
  await runCli(['pull'], workspace);
  execute(workspace, `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  sandbox.store.update('Note', 1, { Title: 'theirs' });
  await runCli(['pull'], workspace);
  return workspace;
}

test('lists an open conflict, and says with the exit code that somebody is needed', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);

  // As an origin does that names the column by which it shows records.
  execute(
    workspace,
    `UPDATE _rowsync_descriptors SET descriptor = json_set(descriptor, '$.other.nameColumn', 'Title') WHERE scope LIKE 'table:%'`,
  );
  const text = await runCli(['conflicts'], { ...workspace, width: 200 });
  const piped = await runCli(['conflicts'], workspace);
  const json = await runCli(['conflicts', '--json'], workspace);

  expect(text.exitCode).toBe(3);
  expect(text.stdout).toContain('theirs');
  expect(text.stdout).toContain(
    '1 conflict; decide one with:\n  rowsync resolve ID --take local|remote|base|NULL|=VALUE',
  );
  expect(text.stdout).toContain('│ row │ row name │');
  expect(piped.stdout).toContain('id\ttable\trow\trow name\t');
  expect(piped.stdout).toContain('1\tNote\t1\t1 mine\tTitle\ttitle 1\tmine\ttheirs\t');
  expect(JSON.parse(json.stdout)).toMatchObject({
    conflicts: [{ id: 1, table: 'Note', rowId: 1, column: 'Title', local: 'mine', remote: 'theirs', state: 'open' }],
  });
});

test('a row whose key says no more than its _id is named by its first text', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);

  const box = await runCli(['conflicts'], { ...workspace, width: 200 });
  const records = await runCli(['conflicts'], { ...workspace, width: 60 });
  const piped = await runCli(['conflicts'], workspace);

  execute(workspace, `DELETE FROM "Note" WHERE _id = 1`);
  const gone = await runCli(['conflicts'], { ...workspace, width: 200 });

  expect(box.stdout).toContain('│ 1   │ mine     │ Title │');
  expect(records.stdout).toContain('row      │ 1\nrow name │ mine\nwhat     │ Title\n');
  expect(piped.stdout).toContain('1\tNote\t1\tmine\tTitle\t');
  expect(gone.stdout).toContain('│ 1   │ theirs   │ Title │'); // as the origin last confirmed it
});

test('an edit of a row that was deleted at the origin names the row, and blames no policy', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  const workspace = makeWorkspace(sandbox, CONFIG);
  using _ = workspace;
  await runCli(['pull'], workspace);
  execute(workspace, `UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2`);
  sandbox.store.delete('Note', 2);
  await runCli(['pull', '--confirm'], workspace);

  const { stdout } = await runCli(['conflicts'], { ...workspace, width: 200 });
  const again = await runCli(['resolve', '1', '--take', 'local'], workspace);

  expect(stdout).toContain('1 edit lost to a change or a delete at the origin\n');
  expect(stdout).toMatch(/│ 2 +│ mine +│/);
  expect(again.stderr).toContain('was decided without a person');
  expect(`${stdout}${again.stderr}`).not.toContain('by the policy');
});

test.each([
  ['local', 'mine'],
  ['remote', 'theirs'],
  ['base', 'title 1'],
  ['=something else', 'something else'],
  ['=local', 'local'],
])('resolves a conflict with --take %s', async (take, title) => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);

  const resolved = await runCli(['resolve', '1', '--take', take], workspace);
  const after = await runCli(['conflicts'], workspace);
  const all = await runCli(['conflicts', '--all'], { ...workspace, width: 200 });
  const rows = await runCli(['sql', '--json', 'SELECT "Title" FROM "Note" WHERE _id = 1'], workspace);

  expect(resolved).toMatchObject({ exitCode: 0 });
  expect(resolved.stdout).toMatch(/^Resolved conflict 1: Note row 1, Title, /);
  expect(resolved.stdout).toContain(`"${title}"`);
  expect(after).toMatchObject({ exitCode: 0, stdout: 'No conflicts\n' });
  expect(all.stdout).toContain(
    '1 conflict, none of them open; any kept version can still be taken:\n  rowsync resolve ID',
  );
  expect(JSON.parse(rows.stdout)).toEqual([{ Title: title }]);
  const version = take.startsWith('=') ? 'another value' : take;
  expect(all.stdout).toMatch(new RegExp(`│ ${version} +│ resolved │`));
});

test.each([
  { args: ['resolve', '99', '--take', 'local'], says: 'there is no conflict 99' },
  { args: ['resolve', '1', '--take', 'NULL'], says: '"Title" of Note must have a value' },
  { args: ['resolve', 'x', '--take', 'local'], says: 'a whole number' },
  { args: ['resolve', '1', '--take', 'loacl'], says: '--take is local, remote, base, NULL, or a value after "="' },
  { args: ['resolve', '1', '--take', 'Local'], says: 'For this text itself: --take "=Local"' },
  { args: ['discard', 'Note', '2'], says: 'row 2 of Note has no edit that the origin does not have' },
  { args: ['discard', 'Nope', '2'], says: 'no two-way table is called "Nope" (did you mean Note?)' },
])('$args changes nothing and says why', async ({ args, says }) => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);

  const { exitCode, stderr } = await runCli(args, workspace);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});

test('says what the other side changed of a row that was deleted, on a terminal and in a pipe', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, CONFIG);
  await runCli(['pull'], workspace);
  execute(workspace, `DELETE FROM "Note" WHERE _id = 1; UPDATE "Note" SET "Title" = 'mine', "Count" = 7 WHERE _id = 2`);
  sandbox.store.update('Note', 1, { Title: 'theirs' });
  sandbox.store.delete('Note', 2);
  await runCli(['sync', '--confirm'], workspace);

  const shown = await runCli(['conflicts'], { ...workspace, width: 250 });
  const piped = await runCli(['conflicts'], workspace);
  const lines = shown.stdout.split('\n').map((line) => line.replaceAll(/\s*│\s*/g, ' | '));

  expect(lines).toContainEqual(
    expect.stringContaining('deleted here | the row | deleted | Title: "title 1" -> "theirs", Date Modified: '),
  );
  expect(lines).toContainEqual(
    expect.stringContaining('deleted at the origin | the row | Title: "title 2" -> "mine", Count: 2 -> 7 | deleted |'),
  );
  expect(piped.stdout).toContain('\tdeleted here\tthe row\tdeleted\tTitle: "title 1" -> "theirs", Date Modified: ');
  expect(shown.stdout + piped.stdout).not.toContain('{');
});

test('discarding in a mirror says what a mirror is, as a push does', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);

  const discarded = await runCli(['discard', 'Note', '1'], workspace);
  const pushed = await runCli(['push', 'Note'], workspace);

  expect(discarded.exitCode).toBe(2);
  for (const { stderr } of [discarded, pushed])
    expect(stderr).toContain('It is a read-only mirror: set push: true for it in the configuration');
});

test('discards the edit of a row', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);
  execute(workspace, `INSERT INTO "Note" ("Title") VALUES ('new')`);

  const first = await runCli(['discard', 'note', '1'], workspace);
  const second = await runCli(['discard', 'Note', '--', '-2'], workspace);
  const changes = await runCli(['sql', '--json', 'SELECT * FROM sync_changes'], workspace);

  expect([first.exitCode, second.exitCode]).toEqual([0, 0]);
  expect(JSON.parse(changes.stdout)).toEqual([]);
});

test('discards every edit of a table that is in no conflict, and keeps them', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);
  execute(workspace, `DELETE FROM "Note" WHERE _id > 1; INSERT INTO "Note" ("Title") VALUES ('new')`);
  const edited = await runCli(['sql', '--json', 'SELECT count(DISTINCT row_id) AS n FROM sync_changes'], workspace);
  const [{ n }] = JSON.parse(edited.stdout) as [{ n: number }];

  const { exitCode, stdout } = await runCli(['discard', 'Note', '--all'], workspace);
  const left = await runCli(['sql', '--json', 'SELECT * FROM sync_changes'], workspace);
  const verified = await runCli(['verify'], workspace);
  const kept = await runCli(
    ['sql', '--json', `SELECT count(DISTINCT row_id) AS n FROM sync_conflicts WHERE state = 'discarded'`],
    workspace,
  );

  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: `Put ${n - 2} rows of Note back, and removed 1 new row; left alone: 1 row in conflict or refused\n`,
  });
  expect(JSON.parse(left.stdout)).toMatchObject([{ row_id: 1, state: 'conflicted' }]);
  expect(verified.exitCode).toBe(0);
  expect(JSON.parse(kept.stdout)).toEqual([{ n: n - 1 }]);
});

test.each([[['discard', 'Note']], [['discard', 'Note', '1', '--all']]])('%j is refused', async (args) => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);

  const { exitCode, stderr } = await runCli(args, workspace);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('either the _id of a row or --all');
});

test('gives up edits of a table that becomes a mirror only when asked to', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = await startConflict(sandbox);
  using mirror = makeWorkspace(sandbox);
  const config = join(mirror.folder, 'rowsync.yaml');
  const { url, database } = sandbox;
  writeFileSync(
    config,
    `origin: { url: "${url}", database: "${database}", tokenFile: token }\nreplica: { path: "${join(workspace.folder, 'replica.db')}" }\n`,
  );

  const held = await runCli(['pull', '--config', config], workspace);
  const discarded = await runCli(['pull', '--discard', '--config', config], workspace);

  expect(held).toMatchObject({ exitCode: 3 });
  expect(held.stdout).toContain('guard.pending');
  expect(discarded).toMatchObject({ exitCode: 0 });
});

test('edits that lost to a policy are named by the run, counted by status, and listed until a person saw them', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'tables: { Note: { push: true, match: Code, conflict: origin } }\n');
  await runCli(['pull'], workspace);
  execute(workspace, `UPDATE "Note" SET "Title" = 'mine' WHERE _id <= 2`);
  sandbox.store.update('Note', 1, { Title: 'theirs' });
  const pushed = await runCli(['push'], workspace);
  execute(workspace, `UPDATE "Note" SET "Title" = 'mine again' WHERE _id = 2`);
  sandbox.store.update('Note', 2, { Title: 'theirs' });
  const pulled = await runCli(['pull', '--json'], workspace);
  const status = await runCli(['status'], workspace);
  const listed = await runCli(['conflicts'], { ...workspace, width: 200 });
  const taken = await runCli(['resolve', '1', '--take', 'local', '--again'], workspace);
  const seen = await runCli(['conflicts', '--seen', '2'], workspace);
  const after = await Promise.all([runCli(['conflicts'], workspace), runCli(['status'], workspace)]);

  expect(pushed).toMatchObject({ exitCode: 0 });
  expect(pushed.stdout).toContain(
    '1 edit lost to a change at the origin; what takes it back:\n  Note row 1, Title: rowsync resolve 1 --take local --again\n',
  );
  expect(JSON.parse(pulled.stdout)).toMatchObject({
    lost: [{ id: 2, rowId: 2, column: 'Title', local: 'mine again' }],
  });
  expect(status.stdout).toContain('Note: 2 edits lost to a change at the origin');
  expect(listed).toMatchObject({ exitCode: 0 });
  expect(listed.stdout).toContain('once you saw them:  rowsync conflicts --seen 2');
  expect(taken).toMatchObject({ exitCode: 0 });
  expect(seen.stdout).toBe('Noted that you saw 1 lost edit\n');
  expect(after[0].stdout).toBe('No conflicts\n');
  expect(after[1].stdout).not.toContain('lost');
});

test("an autonumber key is the origin's to give: SQL cannot change it", async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, CONFIG);
  await runCli(['pull'], workspace);

  expect(() => execute(workspace, `UPDATE "Note" SET "Id" = 99 WHERE _id = 1`)).toThrow('cannot be changed here');
});
