/**
 * `--fresh`: an answer has every change that is older than it allows, or there is none.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { testClock } from '../../support/clock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { takeLock } from '../../../src/replica/lock.ts';
import { startAgent } from '../../support/agent.ts';
import { startDaemon } from '../../support/daemon.ts';
import { ask, portOf } from '../../support/http.ts';
import { keyOf, signIn } from '../../support/page.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';

const START_MS = Date.parse('2026-11-25T08:00:00Z');
const columns = [{ name: 'Title', type: 'Text' as const }];
const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ Title: `row ${n}` }));
const TABLES = [
  { name: 'Large', columns, rows: rows(90) },
  { name: 'Small', columns, rows: rows(2) },
];

/** Two tables, one with more pages than are swept often; `later` moves the clock by minutes. */
async function startWorld(yaml = 'tables: { "*": { push: true } }\nlimits: { pageRows: 10 }\n', tables = TABLES) {
  let nowMs = START_MS - 3_600_000;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const sandbox = await startTestSandbox({ tables, clock });
  const made = makeWorkspace(sandbox, yaml);
  await runCli(['pull'], { folder: made.folder, clock });
  // Later than all others by more than what following reads again; from its second sweep on, a large table is followed.
  nowMs = START_MS;
  sandbox.store.update('Large', 90, { Title: 'last' });
  await runCli(['pull'], { folder: made.folder, clock });
  sandbox.requests.clear();
  return {
    sandbox,
    folder: made.folder,
    later: (minutes: number) => void (nowMs += minutes * 60_000),
    run: (...args: readonly string[]) => runCli(args, { folder: made.folder, clock }),
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

const COUNT = 'SELECT count(*) AS n FROM "Large"';

test('answers without a request where the tables are young enough, and says of when', async () => {
  await using world = await startWorld();
  world.later(5);

  const { exitCode, stdout, stderr } = await world.run('sql', '--json', '--fresh', '10m', COUNT);

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    asOf: '2026-11-25T08:00:00Z',
    tables: [{ table: 'Large', asOf: '2026-11-25T08:00:00Z' }],
    rows: [{ n: 90 }],
  });
  expect(stderr).toContain('as of 2026-11-25T08:00:00Z or later');
  expect(world.sandbox.requests.count()).toBe(0);
});

test('a table is of no age and of no moment while the configuration has another filter than its rows were chosen by', async () => {
  const filter = `'[Title] <> "row 0"'`;
  await using world = await startWorld(`tables: { "*": {}, Small: { rows: ${filter} } }\n`);
  const file = join(world.folder, 'rowsync.yaml');
  const titles = 'SELECT "Title" FROM "Small"';
  expect((await world.run('pull', '--moment')).exitCode).toBe(0);
  expect((await world.run('sql', '--moment', titles)).exitCode).toBe(0);
  writeFileSync(file, readFileSync(file, 'utf8').replace(`{ rows: ${filter} }`, '{}'));

  const moment = await world.run('sql', '--moment', titles);
  const answer = await world.run('sql', '--json', '--fresh', '1h', titles);

  expect({ exitCode: moment.exitCode, stdout: moment.stdout }).toEqual({ exitCode: 75, stdout: '' });
  expect(moment.stderr).toContain('another filter now (rows) than when Small was read');
  expect(JSON.parse(answer.stdout)).toMatchObject({ rows: [{ Title: 'row 0' }, { Title: 'row 1' }] });
  expect((await world.run('pull', '--moment')).exitCode).toBe(0);
  expect((await world.run('sql', '--moment', titles)).exitCode).toBe(0);
});

test('while rows cannot be chosen by a new filter there is no answer', async () => {
  const filter = `'[Title] <> "row 0"'`;
  await using world = await startWorld(`tables: { "*": {}, Small: { rows: ${filter} } }\n`);
  const file = join(world.folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(filter, `'[Title] <> "row 1"'`));
  world.sandbox.store.revokeToken(world.sandbox.token);

  const refused = await world.run('sql', '--fresh', '1h', 'SELECT "Title" FROM "Small"');

  expect({ exitCode: refused.exitCode, stdout: refused.stdout }).toEqual({ exitCode: 75, stdout: '' });
  expect(refused.stderr).toContain('Small is not proven');
});

test('reads a large table that is too old with two requests, and leaves the others alone', async () => {
  await using world = await startWorld();
  world.later(30);

  const unchanged = await world.run('sql', '--json', '--fresh', '10m', COUNT);
  expect(JSON.parse(unchanged.stdout)).toMatchObject({ asOf: '2026-11-25T08:30:00Z', rows: [{ n: 90 }] });
  expect(world.sandbox.requests.count()).toBe(2);

  world.later(30);
  world.sandbox.store.insert('Large', { Title: 'new' });
  world.sandbox.requests.clear();
  const changed = await world.run('sql', '--json', '--fresh', '10m', COUNT);
  expect(JSON.parse(changed.stdout)).toMatchObject({ asOf: '2026-11-25T09:00:00Z', rows: [{ n: 91 }] });
  // Where rows came, it asks whether they still have the same columns.
  expect(world.sandbox.requests.all.map(({ method }) => method)).toEqual(['select', 'select', 'describe']);
});

test('sweeps a table that cannot be followed', async () => {
  await using world = await startWorld();
  world.later(30);
  world.sandbox.store.delete('Small', 1);

  const { exitCode, stdout } = await world.run('sql', '--json', '--fresh', '1s', 'SELECT count(*) AS n FROM "Small"');

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ rows: [{ n: 1 }] });
});

test.each([
  ['a view of people', 'CREATE VIEW v AS SELECT * FROM "Small"', 'SELECT count(*) FROM v', ['Small']],
  ['an index alone', 'CREATE INDEX i ON "Small" ("Title")', 'SELECT "Title" FROM "Small" ORDER BY 1', ['Small']],
  ['a part of a query', '', 'SELECT 1 WHERE EXISTS (SELECT 1 FROM "Large" WHERE "Title" = 1)', ['Large']],
  ['edits that wait', '', 'SELECT * FROM sync_changes', ['Large', 'Small']],
  ['a view of ours', '', 'SELECT * FROM sync_status', ['Large', 'Small']],
  ['no table of the origin', 'CREATE TABLE own (a)', 'SELECT * FROM own', []],
])('knows which tables a query reads by way of %s', async (_way, statement, query, expected) => {
  await using world = await startWorld();
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(join(world.folder, 'replica.db'));
  db.exec(statement);
  db.close();

  const { stdout } = await world.run('sql', '--json', '--fresh', '10m', query);

  const { tables } = JSON.parse(stdout) as { tables: readonly { table: string }[] };
  expect(tables.map(({ table }) => table)).toEqual(expected);
});

test('refuses with 75 and prints no answer where the origin is away, and says which table is how old', async () => {
  await using world = await startWorld();
  world.later(30);
  world.sandbox.store.revokeToken(world.sandbox.token);

  const { exitCode, stdout, stderr } = await world.run('sql', '--fresh', '10m', COUNT);

  expect({ exitCode, stdout }).toEqual({ exitCode: 75, stdout: '' });
  expect(stderr).toMatch(/Older than 10m, so there is no answer: Large is 30 min old \(/);
});

test('says at once what it asks, and tries no longer than an answer may be old', async () => {
  await using world = await startWorld();
  const clock = testClock({ startMs: START_MS + 60_000, random: () => 0.99 });
  world.sandbox.faults.replace({ faults: [{ fault: 'unavailable', count: 100 }] });
  const askFor = (within: string) => runCli(['sql', '--fresh', within, COUNT], { folder: world.folder, clock });

  const { exitCode, stderr } = await askFor('2s');
  const waitedMs = clock.monotonicMs();
  await askFor('30s');

  expect(exitCode).toBe(75);
  expect(stderr).toMatch(/^asking http:\/\/127\.0\.0\.1:\d+ for Large\n/);
  expect(waitedMs).toBeGreaterThan(0);
  expect(waitedMs).toBeLessThanOrEqual(2_000);
  expect(clock.monotonicMs() - waitedMs).toBeGreaterThan(10_000);
});

test.each([['10'], ['soon'], ['0s']])('refuses %j as an age', async (age) => {
  await using world = await startWorld();

  const { exitCode, stdout, stderr } = await world.run('sql', '--fresh', age, COUNT);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain('such as 30s or 10m');
});

test('refuses a table of which a deletion waits for a person', async () => {
  await using world = await startWorld();
  world.later(30);
  for (const id of world.sandbox.store.ids('Large').slice(0, 80)) world.sandbox.store.delete('Large', id);

  const { exitCode, stdout, stderr } = await world.run('sql', '--fresh', '10m', COUNT);

  expect({ exitCode, stdout }).toEqual({ exitCode: 75, stdout: '' });
  expect(stderr).toContain('Large is not proven');
});

test('exports only what is young enough, and the manifest says of when', async () => {
  await using world = await startWorld();
  const folder = join(world.folder, 'out');
  world.later(30);

  expect((await world.run('export', '--fresh', '10m', '--format', 'csv', folder)).exitCode).toBe(0);
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as object;
  expect(manifest).toMatchObject({ asOf: '2026-11-25T08:30:00Z', tables: [{ table: 'Large' }, { table: 'Small' }] });

  world.later(30);
  world.sandbox.store.revokeToken(world.sandbox.token);
  expect((await world.run('export', '--fresh', '10m', '--format', 'csv', folder)).exitCode).toBe(75);
  expect(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))).toEqual(manifest);
});

test('has a running daemon read what is too old, between its ticks', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  await using daemon = startDaemon(
    sandbox,
    'http: { listen: "127.0.0.1:0" }\nlimits: { pageRows: 10 }\nschedule: { pull: "0 0 * * *", follow: "0 0 * * *" }\n',
  );
  await daemon.idle();
  await daemon.elapse(30);
  sandbox.store.insert('Large', { Title: 'new' });
  const where = { port: portOf(daemon) };
  const text = JSON.stringify({ tables: ['Large', 'Nothing'] });
  const post = (key: string) => ({
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: text,
  });

  expect((await ask(where, '/read', post('wrong'))).status).toBe(403);
  expect(daemon.rows('SELECT count(*) AS n FROM "Large"')).toEqual([{ n: 90 }]);
  expect((await ask(where, '/read', post(keyOf(daemon)))).status).toBe(200);
  expect(daemon.rows('SELECT count(*) AS n FROM "Large"')).toEqual([{ n: 91 }]);
  expect(daemon.events('work.finished').map(({ work }) => work)).toEqual(['pull', 'follow']);
});

test('the command asks the daemon of the replica, and the page asks before it answers', async () => {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  const yaml = 'limits: { pageRows: 10 }\nschedule: { pull: "0 0 * * *", follow: "0 0 * * *" }\n';
  await using daemon = startDaemon(sandbox, `http: { listen: "127.0.0.1:0" }\n${yaml}`);
  await daemon.idle();
  await daemon.elapse(30);
  const port = portOf(daemon);
  const file = join(daemon.folder, 'rowsync.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('127.0.0.1:0', `127.0.0.1:${port}`));
  sandbox.store.insert('Large', { Title: 'new' });
  const { clock } = daemon;

  const run = await runCli(['sql', '--json', '--fresh', '10m', COUNT], { folder: daemon.folder, clock });
  expect({ stderr: run.stderr, rows: (JSON.parse(run.stdout) as { rows: unknown }).rows }).toMatchObject({
    rows: [{ n: 91 }],
  });
  expect(run.stderr).toContain('asking the daemon to read Large\n');

  const { cookie } = await signIn(daemon);
  sandbox.store.insert('Large', { Title: 'newer' });
  const query = new URLSearchParams({ sql: COUNT, fresh: '1s' }).toString();
  clock.advance(30_000);
  await daemon.idle();
  const page = await ask({ port }, `/ask?${query}`, { headers: { Host: `127.0.0.1:${port}`, Cookie: cookie } });
  expect(page.body).toMatch(/>92</);
  expect(page.body).toMatch(/, as of 2026-06-01T\S+ or later/);
  sandbox.store.revokeToken(sandbox.token);
  clock.advance(30_000);
  await daemon.idle();
  const refused = await ask({ port }, `/ask?${query}`, { headers: { Host: `127.0.0.1:${port}`, Cookie: cookie } });
  expect(refused.body).toContain('Older than 1s, so there is no answer: Large is');
  expect(refused.body).not.toMatch(/>92</);
  const { exitCode, stderr } = await runCli(['sql', '--fresh', '1s', COUNT], { folder: daemon.folder, clock });
  expect(exitCode).toBe(75);
  expect(stderr.replaceAll('\n', ' ')).toMatch(/Older than 1s, so there is no answer: Large is .* \(The daemon says: /);
});

test('what is asked of the daemon is said as a request, without the control characters of a name', async () => {
  const name = 'Sm\u001Ball';
  const tables = TABLES.map((table) => (table.name === 'Small' ? { ...table, name } : table));
  await using world = await startWorld('http: { listen: "127.0.0.1:9" }\n', tables);
  world.later(30);
  const lock = takeLock(join(world.folder, 'replica.db'), 0o600);

  const { exitCode, stderr } = await world.run('sql', '--fresh', '10m', `SELECT * FROM "${name}"`);
  lock.close();

  expect(exitCode).toBe(75);
  expect(stderr).toContain('asking the daemon to read Sm\\u001ball\n');
});

test('a daemon that has not read in time is not said to be beyond asking', async () => {
  const socket = `/tmp/rowsync-${process.pid}-late.sock`;
  await using world = await startWorld(`http: { listen: "${socket}" }\n`);
  world.later(30);
  writeFileSync(join(world.folder, 'replica.db.page-key'), 'k'.repeat(43));
  const lock = takeLock(join(world.folder, 'replica.db'), 0o600);
  const server = createServer((request, response) => {
    if (request.url === '/read') request.destroy();
    else response.end(JSON.stringify({ status: 'ok', working: 'pull', failure: null, jobs: [] }));
  });
  await once(server.listen(socket), 'listening');

  const { exitCode, stderr } = await world.run('sql', '--fresh', '10m', COUNT);
  server.close();
  lock.close();

  expect(exitCode).toBe(75);
  expect(stderr).toContain('(the daemon did not finish reading in time)');
  expect(stderr).toContain('It goes on reading: try again in a while.');
});

test(
  'an agent gets no older answer than it asks for, and none where no daemon can be asked',
  { timeout: 60_000 },
  async () => {
    await using sandbox = await startTestSandbox({ tables: TABLES });
    using made = makeWorkspace(sandbox, 'limits: { pageRows: 10 }\n');
    const clock = { ...systemClock, nowMs: () => Date.now() - 3_600_000 };
    await runCli(['pull'], { folder: made.folder, clock });
    await using agent = await startAgent(made.folder);

    const young = await agent.call('query', { sql: COUNT, fresh_within: '2h' });
    const old = await agent.call('query', { sql: COUNT, fresh_within: '10m' });
    const wrong = await agent.call('query', { sql: COUNT, fresh_within: 'soon' });

    expect(young).toMatchObject({ isError: false, value: { rows: [[90]] } });
    expect(old).toMatchObject({ isError: true, value: { code: 'fresh.stale' } });
    expect(old.value['error']).toMatch(/^No daemon has read what is too old: Large is 1 h/);
    expect(wrong).toMatchObject({ isError: true, value: { code: 'usage.invalid' } });
  },
);
