/**
 * Every command against a sandbox: what it prints, and the code it exits with. Where the process itself matters
 * (signals, pipes, the first impression), it is a real one; otherwise the command line runs in this process.
 */
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace, runRowsync, startRowsync } from '../support/child.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';

// Every command is a process that compiles its sources, several per test, on machines that do other things as well.
vi.setConfig({ testTimeout: 60_000 });

const NOTES = 60;

const tables = (): readonly TableSpec[] => [
  {
    name: 'Note',
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Size', type: 'Numeric' },
      { name: 'Old', type: 'Text' },
    ],
    rows: Array.from({ length: NOTES }, (_, index) => ({ Title: `note ${index + 1}`, Size: index / 4, Old: 'x' })),
  },
  {
    name: 'Order Line',
    columns: [{ name: 'Amount', type: 'Numeric' }],
    rows: [{ Amount: 9_007_199_254_740_993n }, { Amount: null }],
  },
  { name: 'Empty', columns: [{ name: 'A', type: 'Text' }], rows: [] },
];

/** Retries without their waits. */
const hastyClock: Clock = { ...systemClock, sleep: async () => {} };

test('pulls, asks, follows and verifies', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  const rowsync = (...args: string[]) => runRowsync(args, workspace);

  const first = await rowsync('pull');
  expect(first.stderr).toBe('');
  expect(first.stdout).toContain('3 tables, 62 rows: 62 new, 0 changed, 0 deleted');
  expect(first.exitCode).toBe(0);

  const status = await rowsync('status');
  expect(status.stdout).toContain('3 tables, 62 rows; all steady');
  expect(status.stdout).toMatch(/^Order Line +2 +(just now|\d+ s ago)  steady$/m);

  const asked = await rowsync('sql', 'SELECT "Amount" FROM "Order Line" ORDER BY _id');
  expect(asked.stdout).toBe('Amount\n9007199254740993\n\n');
  const boxed = await rowsync('sql', '--format', 'table', 'SELECT "Amount" FROM "Order Line" ORDER BY _id');
  expect(boxed.stdout).toBe(
    [
      '┌──────────────────┐',
      '│           Amount │',
      '├──────────────────┤',
      '│ 9007199254740993 │',
      '│             NULL │',
      '└──────────────────┘',
      '2 rows',
      '',
    ].join('\n'),
  );

  vi.stubEnv('PAGER', `cat > '${join(workspace.folder, 'seen')}'`);
  const onTerminal = await runCli(['sql', 'SELECT "Title" FROM "Note"'], { ...workspace, width: 80 });
  vi.unstubAllEnvs();
  expect(onTerminal).toMatchObject({ exitCode: 0, stdout: '' });
  expect(readFileSync(join(workspace.folder, 'seen'), 'utf8')).toContain(`│ note ${NOTES} │`);

  const id = sandbox.store.insert('Note', { Title: 'late' });
  sandbox.store.update('Note', 1, { Title: 'early' });
  const second = await rowsync('sync');
  expect(second.stdout).toContain('1 new, 1 changed, 0 deleted');
  expect(second.stdout).toContain('2 tables without changes');

  const read = await rowsync(
    'sql',
    '--format',
    'csv',
    `SELECT "Title" FROM "Note" WHERE _id IN (1, ${id}) ORDER BY _id`,
  );
  expect(read.stdout).toBe('Title\nearly\nlate\n');

  const verified = await rowsync('verify');
  expect(verified.stdout).toContain('3 tables, 63 rows: every cell matches the origin');
  expect(verified.exitCode).toBe(0);
});

test('gives a program the same in JSON', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  const json = async (...args: string[]): Promise<unknown> => {
    const { stdout, stderr, exitCode } = await runCli(['--json', ...args], workspace);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    return JSON.parse(stdout);
  };

  expect(await json('pull', 'note')).toMatchObject({
    exitCode: 0,
    error: null,
    tables: [{ table: 'Note', rowCount: 60, insertedCount: 60, held: null, error: null }],
  });
  expect(await json('status')).toMatchObject({
    replica: { path: join(workspace.folder, 'replica.db') },
    identity: { database: sandbox.database, userEmail: sandbox.user.email },
    tables: [{ table: 'Note', state: 'steady', rowCount: 60, problem: null }],
    runs: [{ kind: 'pull', outcome: 'done', insertedCount: 60 }],
  });
  expect(await json('sql', 'SELECT _id, "Title" FROM "Note" WHERE _id < 3')).toEqual([
    { _id: 1, Title: 'note 1' },
    { _id: 2, Title: 'note 2' },
  ]);
  expect(await json('verify')).toMatchObject({ exitCode: 0, tables: [{ mismatchCount: 0 }, { mismatchCount: 0 }, {}] });
  expect(await json('resync', 'Note')).toEqual({ tables: ['Note'] });
  expect(await json('schema', 'prune')).toEqual({ prunable: [] });
  expect(await json('check')).toMatchObject({ exitCode: 0 });
});

test('a query comes from stdin, reads only, and says what SQLite says', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);

  const fromInput = await runRowsync(['sql', '-f', 'csv'], { ...workspace, input: 'SELECT 1 AS one;\n' });
  const wrong = await runCli(['sql', 'SELECT nonsense'], workspace);
  const writing = await runCli(['sql', 'DELETE FROM "Note"'], workspace);
  const two = await runCli(['sql', 'SELECT 1; SELECT 2'], workspace);

  expect(fromInput.stdout).toBe('one\n1\n');
  expect(wrong.exitCode).toBe(2);
  expect(wrong.stderr).toContain('no such column: nonsense');
  expect(wrong.stderr).toContain('code: replica.query');
  expect(writing.stderr).toContain('code: replica.query');
  expect(two.stderr).toContain('One statement is allowed: run each on its own.');
});

test('an answer stops when its reader goes away', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull', 'Empty'], workspace);
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';

  const child = startRowsync(['sql', '--format', 'csv', endless], workspace);
  await once(child.process.stdout ?? child.process, 'data');
  child.process.stdout?.destroy();
  const { exitCode, stderr } = await child.end;

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});

test('resync makes the next pull read a table whole', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  sandbox.requests.clear();

  const forgotten = await runCli(['resync', 'note'], workspace);
  const unknown = await runCli(['resync', 'Nothing'], workspace);
  await runCli(['pull'], workspace);

  expect(forgotten.stdout).toBe('The next pull reads these tables whole: Note\n');
  expect(unknown.exitCode).toBe(2);
  // The page with its rows and the empty one behind it; the other two tables are unchanged.
  expect(sandbox.requests.count({ method: 'select', status: 200 })).toBe(2);
  expect(sandbox.requests.count({ method: 'select', status: 304 })).toBe(2);
});

test('a guard holds a mass delete with exit code 3, until --confirm', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  for (let id = 1; id <= 40; id += 1) sandbox.store.delete('Note', id);

  const held = await runCli(['pull'], workspace);
  const status = await runCli(['status'], workspace);
  const confirmed = await runCli(['pull', 'Note', '--confirm'], workspace);

  expect(held.exitCode).toBe(3);
  expect(held.stdout).toContain('Note: held:');
  expect(held.stdout).toContain('code: guard.deletes');
  expect(status.stdout).toContain('needs attention:\n  Note: the origin no longer returns 40 of 60 rows');
  expect(confirmed.exitCode).toBe(0);
  expect(confirmed.stdout).toContain('40 deleted');
});

test('status does not say that all is well after a pull whose token was refused', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  expect((await runCli(['status', '--exit-code'], workspace)).exitCode).toBe(0);
  writeFileSync(join(workspace.folder, 'token'), 'not-the-token');
  await runCli(['pull'], workspace);

  const status = await runCli(['status', '--exit-code'], workspace);

  expect(status.exitCode).toBe(3);
  expect(status.stdout).toMatch(/needs attention:\n {2}.*(?:401|403|credentials)/);
  expect(status.stdout).toContain('once a daemon runs');
  expect(status.stdout).not.toContain('by the daemon');
});

test('status says in the account that the replica is damaged', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  const db = new Database(join(workspace.folder, 'replica.db'));
  db.exec('DROP TABLE _rowsync_pages');
  db.close();

  const plain = await runCli(['status'], workspace);

  expect(plain).toMatchObject({ exitCode: 78, stderr: '' });
  expect(plain.stdout).toMatch(/needs attention:\n {2}Reading .*\n {4}what to do: rowsync rebuild/);
  expect((await runCli(['status', '--exit-code'], workspace)).exitCode).toBe(78);
});

test.each([
  ['SIGTERM', false],
  ['SIGINT', true],
] as const)('a pull that is asked to stop by %s exits with 75, and the next one goes on', async (signal, isPerson) => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox, 'limits: { pageRows: 5, concurrency: 1 }');
  const child = startRowsync(['pull', 'Note'], workspace);
  sandbox.before(4, () => child.process.kill(signal), { method: 'select' });

  const stopped = await child.end;
  const resumed = await runCli(['pull', 'Note'], workspace);

  expect(stopped.exitCode).toBe(75);
  expect(stopped.stderr.includes('Stopping; press Ctrl-C again to quit now\n')).toBe(isPerson);
  expect(stopped.stdout).toContain('not finished, because rowsync was asked to stop');
  expect(resumed.exitCode).toBe(0);
  expect(resumed.stdout).toContain('1 table, 60 rows');
});

test('the origin being down means: try later', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await sandbox.stop();

  const { exitCode, stdout } = await runCli(['pull'], { folder: workspace.folder, clock: hastyClock });

  expect(exitCode).toBe(75);
  expect(stdout).toContain('code: origin.unreachable');
});

test('a table that nobody knows is a mistake on the command line', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox, 'tables: { "*": {}, Empty: false }');

  for (const command of ['pull', 'sync', 'verify']) {
    const { exitCode, stdout, stderr } = await runCli([command, 'Note', 'Emtpy'], workspace);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('error: No table is called "Emtpy"');
    expect(stderr).toContain('The configuration matches: Note, Order Line.');
  }
});

test('a mistyped name leaves no run, but where a table was found to be gone', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  const runs = async (): Promise<readonly unknown[]> => {
    const { stdout } = await runCli(['sql', '--json', 'SELECT kind, outcome FROM sync_runs ORDER BY id'], workspace);
    return JSON.parse(stdout) as readonly unknown[];
  };
  await runCli(['pull'], workspace);

  await runCli(['pull', 'Ntoe'], workspace);
  const before = await runs();
  sandbox.store.dropTable('Empty');
  const { exitCode } = await runCli(['pull', 'Ntoe'], workspace);

  expect(before).toEqual([{ kind: 'pull', outcome: 'done' }]);
  expect(exitCode).toBe(2);
  expect(await runs()).toEqual([...before, { kind: 'pull', outcome: 'stopped' }]);
});

test('a configuration that matches no table is wrong, and check says the same', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox, 'tables: { Notte: {} }');
  const words = 'o table matches the patterns under tables; the database has Note, Order Line, Empty';

  const pulled = await runCli(['pull'], workspace);
  const checked = await runCli(['check'], workspace);

  expect(pulled.exitCode).toBe(2);
  expect(pulled.stdout).toContain(`N${words}`);
  expect(checked.stdout).toContain(`n${words}`);
});

test('a wrong token is a plain failure that says what to do, without the token', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const token = '0123456789abcdef0123456789abcdef';
  using workspace = makeWorkspace({ ...sandbox, token });

  const pulled = await runCli(['pull', '--verbose'], workspace);
  const checked = await runCli(['check'], workspace);

  expect(pulled.exitCode).toBe(1);
  expect(pulled.stdout).toContain('code: origin.forbidden');
  expect(checked.exitCode).toBe(1);
  expect(checked.stdout).toMatch(/^fail {2}credentials /m);
  expect(JSON.stringify([pulled, checked])).not.toContain(token);
});

test('check finds everything in order', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);

  const before = await runCli(['check'], workspace);
  await runCli(['pull'], workspace);
  const after = await runCli(['check'], workspace);

  expect(before.exitCode).toBe(0);
  expect(before.stdout).toContain('will be made by the first pull');
  expect(before.stdout).not.toMatch(/^(warn|fail) {2}(?!disk)/m);
  expect(existsSync(join(workspace.folder, 'replica.db'))).toBe(true);
  expect(after.stdout).toContain('replica.db has 3 tables');
  for (const name of [
    'config',
    'folder',
    'disk',
    'connection',
    'tls',
    'clock',
    'credentials',
    'rights',
    'time zone',
    'database',
    'tables',
  ]) {
    expect(after.stdout).toMatch(new RegExp(`^(ok|warn) {2,4}${name} `, 'm'));
  }
});

test('check finds what is wrong with the configuration, each with what to do', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  const patterns = 'tables: { Note: { sort: [Nope] }, "Nothing*": {}, Empty: false }';
  using workspace = makeWorkspace(sandbox, patterns);

  const { exitCode, stdout } = await runCli(['check', '--json'], workspace);
  const { checks } = JSON.parse(stdout) as {
    checks: { name: string; outcome: string; message: string; hint: string }[];
  };
  const found = checks.filter(({ outcome, name }) => outcome !== 'ok' && outcome !== 'note' && name !== 'disk');

  expect(exitCode).toBe(1);
  expect(found.map(({ outcome, message }) => `${outcome}: ${message}`)).toEqual([
    'warn: No table matches Nothing* under tables',
    'fail: Note: sort names columns that do not exist: Nope',
  ]);
  expect(found.filter(({ hint }) => hint === '')).toEqual([]);
  expect(checks.map(({ message }) => message)).toContain('1 table to copy; left alone: Order Line, Empty');
});

test('check finds a replica of another database, and a file that is not ours', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  await using other = await startTestSandbox({ tables: tables(), database: '777' });
  using workspace = makeWorkspace(sandbox);
  using elsewhere = makeWorkspace(other);
  const path = join(workspace.folder, 'replica.db');
  const elsewherePath = join(elsewhere.folder, 'replica.db');
  await runCli(['pull'], workspace);

  copyFileSync(path, elsewherePath);
  const another = await runCli(['check'], elsewhere);
  writeFileSync(elsewherePath, 'this is no database, but long enough to look like a file that somebody needs');
  const foreign = await runCli(['check'], elsewhere);

  expect(another.exitCode).toBe(1);
  expect(another.stdout).toContain('holds database 21995, but the configuration names 777');
  expect(foreign.exitCode).toBe(1);
  expect(foreign.stdout).toMatch(/^fail {2}replica /m);
});

test('check names the triggers that other clients have on the tables of rowsync', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await runCli(['pull'], workspace);
  const before = await runCli(['check'], workspace);
  const db = new Database(join(workspace.folder, 'replica.db'));
  db.exec(`CREATE TABLE audit (a);
    CREATE TRIGGER theirs AFTER INSERT ON audit BEGIN SELECT 1; END;
    CREATE TRIGGER mine AFTER UPDATE ON "note" BEGIN INSERT INTO audit VALUES (1); END;
    CREATE TRIGGER hidden AFTER INSERT ON _rowsync_pages BEGIN SELECT 1; END`);
  db.close();

  const { exitCode, stdout } = await runCli(['check'], workspace);

  expect(before.stdout).not.toMatch(/triggers/);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^warn {2}triggers .*: hidden on _rowsync_pages, mine on note$/im);
});

test.each([
  ['shared, in a folder that its group may write', 'shared: true', 0o770, 'may also write FOLDER, and so decide'],
  ['shared, in a folder of its owner alone', 'shared: true', 0o750, null],
  ['shared with nobody', 'shared: false', 0o770, null],
])('check of a replica that is %s', async (_where, shared, mode, warning) => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  const file = join(workspace.folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('path: replica.db', `path: replica.db, ${shared}`));
  chmodSync(file, 0o640);
  chmodSync(workspace.folder, mode);

  const { stdout } = await runCli(['check'], workspace);

  const said = /^warn {2}config .*(may also write .* decide)/m.exec(stdout)?.[1] ?? null;
  expect(said?.replace(workspace.folder, 'FOLDER') ?? null).toBe(warning);
});

test('check is quick to say that nobody answers', async () => {
  await using sandbox = await startTestSandbox({ tables: tables() });
  using workspace = makeWorkspace(sandbox);
  await sandbox.stop();

  const { exitCode, stdout } = await runCli(['check'], workspace);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^fail {2}connection .*refused/m);
  expect(stdout).not.toContain('credentials');
});

test('sandbox --json prints one line when it is ready, and ends on SIGTERM', async () => {
  using workspace = makeWorkspace({ url: 'http://127.0.0.1:1', database: '1', token: 'x' });
  const token = 'ABCDEFabcdef01234567890123456789';

  const child = startRowsync(
    ['sandbox', '--json', '--database', '777', '--token', token, '--store', 'kept.db'],
    workspace,
  );
  await once(child.process.stdout ?? child.process, 'data');
  const ready = JSON.parse(child.text.stdout) as { url: string; database: string; token: string };
  const response = await fetch(`${ready.url}/secure/api/v2/777/user.json`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  child.process.kill('SIGTERM');
  const { exitCode } = await child.end;

  expect(ready).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as unknown,
    database: '777',
    token,
    session: expect.stringMatching(/^rowsync_session=[0-9a-f]{32}$/) as string,
    users: expect.arrayContaining([expect.objectContaining({ role: 'Administrator', token })]) as unknown,
  });
  expect(response.status).toBe(200);
  expect(exitCode).toBe(0);
  expect(existsSync(join(workspace.folder, 'kept.db'))).toBe(true);
});

test('sandbox answers badly as a YAML file says, and shows its control port', async () => {
  using workspace = makeWorkspace({ url: 'http://127.0.0.1:1', database: '1', token: 'x' });
  writeFileSync(join(workspace.folder, 'faults.yaml'), 'faults:\n  - { fault: unavailable, method: user, nth: 1 }\n');

  const child = startRowsync(['sandbox', '--json', '--faults', 'faults.yaml', '--control', '0'], workspace);
  await once(child.process.stdout ?? child.process, 'data');
  const ready = JSON.parse(child.text.stdout) as { url: string; database: string; token: string; control: string };
  const answer = await fetch(`${ready.url}/secure/api/v2/${ready.database}/${ready.token}/user.json`);
  const shown = await fetch(`${ready.control}/requests`);
  const text = await shown.text();
  child.process.kill('SIGTERM');
  await child.end;

  expect(answer.status).toBe(503);
  expect(text).toContain('"fault":"unavailable"');
  expect(text).not.toContain(ready.token);
});

test.each([
  [
    'faults that have problems',
    ['--faults', 'faults.yaml'],
    /2 problems:\n\s+faults\[0\]\.fault: .*\n\s+faults\[1\]\.ms: /,
  ],
  ['a file of faults that is not there', ['--faults', 'none.yaml'], /cannot read the faults in .*none\.yaml/],
  ['one file for TLS', ['--tls', 'cert.pem'], /--tls takes two files/],
  ['a login mode that does not exist', ['--login', 'nobody'], /tokens and users, tokens, disabled/],
])('sandbox refuses %s', async (_what, args, message) => {
  using workspace = makeWorkspace({ url: 'http://127.0.0.1:1', database: '1', token: 'x' });
  writeFileSync(join(workspace.folder, 'faults.yaml'), 'faults: [{ fault: no }, { fault: delay, ms: -1 }]');

  const { exitCode, stderr } = await runCli(['sandbox', ...args], workspace);

  expect(exitCode).toBe(2);
  expect(stderr).toMatch(message);
});
