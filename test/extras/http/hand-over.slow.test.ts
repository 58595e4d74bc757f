/**
 * Commands beside a daemon that listens: exit code 0 means that what was asked for has happened, for every table.
 */
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { testClock } from '../../support/clock.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const OTHER = { ...NOTE, name: 'Other' };

/** The port has to be known to the command line, so the daemon listens on a socket. */
async function startListening(sandbox: TestSandbox, yaml = 'tables: { "*": { push: true } }'): Promise<TestDaemon> {
  const socket = `/tmp/rowsync-${process.pid}-${Math.floor(performance.now() * 1000)}.sock`;
  const daemon = startDaemon(sandbox, `http: { listen: "${socket}" }\nschedule: { verify: "0 3 * * *" }\n${yaml}\n`);
  await daemon.idle();
  return daemon;
}

/** Lets the reading of a table fail until it waits for its next try. */
async function failAlone(daemon: TestDaemon, sandbox: TestSandbox, table: string): Promise<void> {
  sandbox.faults.replace({ faults: [{ fault: 'html', table }] });
  sandbox.store.update(table, 1, { Title: 'there' });
  daemon.cycle();
  await daemon.idle();
  expect(daemon.events('table.waits')).toMatchObject([{ table }]);
}

test('verify beside a daemon tries a table that waits after a failure, and names it when it fails again', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, OTHER] });
  await using daemon = await startListening(sandbox);
  await failAlone(daemon, sandbox, 'Other');

  const failed = await runCli(['verify', 'Other'], { folder: daemon.folder });
  const again = await runCli(['verify'], { folder: daemon.folder });
  sandbox.faults.replace({ faults: [] });
  const recovered = await runCli(['verify'], { folder: daemon.folder });

  for (const { exitCode, stdout } of [failed, again]) {
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^verify (?:of all tables )?by the daemon: failed in .*, see below\n/);
    expect(stdout).toContain('Other');
  }
  expect(recovered).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('every cell matches') as string });
  const counts = daemon.events('work.finished').filter(({ work }) => work === 'verify');
  expect(counts.map(({ tableCount }) => tableCount)).toEqual([2, 2, 2]);
});

test('pull beside a daemon reads a table that waits after a failure', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, OTHER] });
  await using daemon = await startListening(sandbox);
  await failAlone(daemon, sandbox, 'Other');

  const failed = [await runCli(['pull'], { folder: daemon.folder }), await runCli(['sync'], { folder: daemon.folder })];
  sandbox.faults.replace({ faults: [] });
  const pulled = await runCli(['pull'], { folder: daemon.folder });

  expect(failed.map(({ exitCode }) => exitCode)).toEqual([1, 1]);
  expect(pulled).toMatchObject({ exitCode: 0 });
  expect(daemon.rows('SELECT "Title" FROM "Other" WHERE _id = 1')).toEqual([{ Title: 'there' }]);
});

test('pull beside a daemon ends with the code of a pull alone where a table may pass by itself', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, OTHER] });
  await using daemon = await startListening(sandbox);
  sandbox.faults.replace({ faults: [{ fault: 'failure', method: 'select', table: 'Other' }] });
  sandbox.store.update('Other', 1, { Title: 'there' });

  const endedBefore = daemon.events('work.finished').length;
  const pulling = runCli(['pull', '--json'], { folder: daemon.folder });
  // The retries of the daemon wait for the clock.
  while (daemon.events('work.finished').length === endedBefore) {
    await setImmediate();
    await daemon.seconds(5);
  }
  const { exitCode, stdout } = await pulling;

  expect(exitCode).toBe(75);
  expect(JSON.parse(stdout)).toMatchObject({ exitCode: 75, byDaemon: [{ outcome: 'failed', exitCode: 75 }] });
});

test('push beside a daemon sends edits of a table whose reading waits after a failure', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, OTHER] });
  await using daemon = await startListening(sandbox);
  await failAlone(daemon, sandbox, 'Other');
  daemon.execute(`UPDATE "Other" SET "Title" = 'here' WHERE _id = 2`);

  const failed = await runCli(['push'], { folder: daemon.folder });
  sandbox.faults.replace({ faults: [] });
  const pushed = await runCli(['push'], { folder: daemon.folder });

  expect(failed.exitCode).not.toBe(0);
  expect(pushed.exitCode).toBe(0);
  expect(sandbox.store.rows('Other')[1]?.values['Title']).toBe('here');
});

test('sync beside a daemon pushes after a pull in which one table failed, as it does alone', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, OTHER] });
  await using daemon = await startListening(sandbox);
  await failAlone(daemon, sandbox, 'Other');
  daemon.execute(`UPDATE "Note" SET "Title" = 'here' WHERE _id = 2`);

  const { exitCode, stdout } = await runCli(['sync'], { folder: daemon.folder });

  expect(exitCode).not.toBe(0);
  expect(stdout).toMatch(/^pull by the daemon: failed in .*\npush by the daemon: /);
  expect(sandbox.store.rows('Note')[1]?.values['Title']).toBe('here');
});

test('push --confirm beside a daemon ends with 0 only once the edits were sent', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox, 'safety: { maxPushRows: 1 }\ntables: { "*": { push: true } }');
  const hold = async (title: string): Promise<void> => {
    daemon.execute(`UPDATE "Note" SET "Title" = '${title}'`);
    expect(await runCli(['push'], { folder: daemon.folder })).toMatchObject({ exitCode: 3 });
  };
  const titles = (): unknown => new Set(sandbox.store.rows('Note').map(({ values }) => values['Title']));

  await hold('first');
  const pushed = await runCli(['push', '--confirm'], { folder: daemon.folder });
  const sent = titles();
  await hold('second');
  const named = await runCli(['push', 'Note', '--confirm'], { folder: daemon.folder });

  expect(pushed).toMatchObject({ exitCode: 0 });
  expect(pushed.stdout).toMatch(
    /^Note: the next push may continue, with 6 edited rows at most\npush by the daemon: done in /,
  );
  expect(sent).toEqual(new Set(['first']));
  // It can be asked to push all tables only, which is more than this.
  expect([named.exitCode, titles()]).toEqual([75, sent]);
  expect(named.stderr).toContain(
    ', and your confirmation is kept for it; Note: the next push may continue, with 6 edited rows at most\n',
  );
  // Nothing more is to be done, so nobody is told to stop the daemon or to leave the table away.
  expect(named.stderr).toContain(
    'what to do: Nothing more is to be done if it is a daemon: it uses that when it works next, and at once on SIGUSR1.',
  );
  expect(named.stderr).not.toContain('away');
});

test('pull beside a daemon also reads a table that has no schedule', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, OTHER] });
  await using daemon = await startListening(sandbox, 'tables: { "*": {}, Other: { schedule: { pull: false } } }');

  const { exitCode } = await runCli(['pull'], { folder: daemon.folder });

  expect(exitCode).toBe(0);
  expect(daemon.rows('SELECT count(*) AS n FROM "Other"')).toEqual([{ n: 6 }]);
});

test('an edit that the origin refuses in a push by the daemon is exit code 1, with its account', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);
  const edit = (code: string): void => daemon.execute(`UPDATE "Note" SET "Code" = '${code}' WHERE _id = 2`);

  edit('c3');
  const pushed = await runCli(['push'], { folder: daemon.folder });
  edit('c4');
  const asJson = await runCli(['push', '--json'], { folder: daemon.folder });
  edit('c5');
  const synced = await runCli(['sync'], { folder: daemon.folder });
  edit('free');
  const accepted = await runCli(['push', '--json'], { folder: daemon.folder });

  expect(pushed).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('1 edit: 1 refused\n') as string });
  const account = { began: 1, arrived: 0, refused: 1 };
  expect(JSON.parse(asJson.stdout)).toMatchObject({ exitCode: 1, byDaemon: [{ work: 'push', account }] });
  expect([asJson.exitCode, synced.exitCode]).toEqual([1, 1]);
  expect(JSON.parse(accepted.stdout)).toMatchObject({ exitCode: 0, byDaemon: [{ account: { began: 1, arrived: 1 } }] });
});

test('with --strict, a row that was refused earlier is exit code 3 beside a daemon, as it is alone', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);
  const run = async (...words: readonly string[]): Promise<number> =>
    (await runCli([...words], { folder: daemon.folder })).exitCode;

  const well = [await run('sync', '--strict'), await run('push', '--strict')];
  daemon.execute(`UPDATE "Note" SET "Code" = 'c3' WHERE _id = 2`);
  const refused = await run('sync', '--strict');
  const earlier = [await run('sync'), await run('push', '--strict'), await run('sync', '--strict')];
  daemon.execute(`UPDATE "Note" SET "Code" = 'free' WHERE _id = 2`);

  expect([well, refused, earlier]).toEqual([[0, 0], 3, [0, 3, 3]]);
  expect(await run('sync', '--strict')).toBe(0);
});

test('--confirm beside a daemon that holds nothing is a run without it, which a guard can still hold', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox, 'safety: { maxPushRows: 1 }\ntables: { "*": { push: true } }');
  const confirm = async (work: string): Promise<unknown> => {
    const { exitCode, stdout } = await runCli([work, '--confirm'], { folder: daemon.folder });
    return [exitCode, stdout.split('\n', 1)[0]];
  };

  const why = 'nothing is held that could be confirmed, so --confirm does nothing';
  for (const work of ['pull', 'push', 'sync']) expect(await confirm(work)).toEqual([0, why]);
  daemon.execute(`UPDATE "Note" SET "Title" = 'x'`);
  expect(await confirm('push')).toEqual([3, why]);
  expect(new Set(sandbox.store.rows('Note').map(({ values }) => values['Title']))).not.toContain('x');
  expect(await confirm('push')).toEqual([0, 'Note: the next push may continue, with 6 edited rows at most']);
});

test('the counts beside a daemon are those of the work that was asked for, not of what the daemon did next', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE, OTHER] });
  await using daemon = await startListening(sandbox);
  sandbox.store.update('Other', 1, { Title: 'there' });
  daemon.execute(`UPDATE "Note" SET "Title" = 'here' WHERE _id = 1`);

  const pulled = await runCli(['pull'], { folder: daemon.folder });
  const synced = await runCli(['sync'], { folder: daemon.folder });

  expect(pulled.stdout).toMatch(
    /^pull by the daemon: done in .*\nlast pull: 0 new, 1 changed, 0 deleted; \d+ requests\n\n/,
  );

  expect(synced.stdout).toMatch(/\nlast pull: 0 new, 0 changed.*\nlast push: 0 new, [01] changed/);
});

test('a daemon whose replica was moved away is heard, and says that', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);
  const [path, away] = [join(daemon.folder, 'replica.db'), join(daemon.folder, 'away.db')];
  renameSync(path, away);

  const pulled = await runCli(['pull'], { folder: daemon.folder });
  const status = await runCli(['status'], { folder: daemon.folder });
  renameSync(away, path);
  const back = await runCli(['pull'], { folder: daemon.folder });

  expect(pulled.exitCode).not.toBe(0);
  expect(pulled.stderr).toContain('replica.db was moved, deleted or exchanged');
  expect(status.stdout).toContain('daemon  ');
  expect(status.stdout).not.toContain('No daemon answers');
  expect(back.exitCode).toBe(0);
});

test('a daemon of an earlier version, which takes no work, is named instead of being asked for ever', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, 'http: { listen: false }\n');
  await daemon.idle();
  const { folder } = daemon;
  const socket = join(folder, 'old.sock');
  const yaml = readFileSync(join(folder, 'rowsync.yaml'), 'utf8').replace('listen: false', `listen: "${socket}"`);
  writeFileSync(join(folder, 'old.yaml'), yaml);
  writeFileSync(join(folder, 'replica.db.page-key'), 'k'.repeat(43));
  const status = {
    status: 'ok',
    working: null,
    failure: null,
    jobs: [{ job: 'pull', nextAt: '2026-06-01T12:05:00Z' }],
  };
  let askedCount = 0;
  const server = createServer(({ method }, response) => {
    if (method === 'POST') askedCount += 1;
    response.writeHead(method === 'POST' ? 415 : 200).end(method === 'POST' ? '<p>' : JSON.stringify(status));
  });
  await once(server.listen(socket), 'listening');

  const pulled = await runCli(['pull', '--config', 'old.yaml'], { folder, clock: testClock() });
  server.close();

  expect([pulled.exitCode, askedCount]).toEqual([75, 21]);
  expect(pulled.stderr).toContain('start it again (one of an earlier version takes no work)');
});

test('beside another command, of which nothing answers, nobody is told to read a key or to end a daemon', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, 'http: { listen: false }\n');
  await daemon.idle();
  const { folder } = daemon;
  const yaml = readFileSync(join(folder, 'rowsync.yaml'), 'utf8');
  writeFileSync(join(folder, 'rowsync.yaml'), yaml.replace('listen: false', `listen: "${join(folder, 'none.sock')}"`));
  writeFileSync(join(folder, 'replica.db.page-key'), 'k'.repeat(43));

  const results = [await runCli(['sync'], { folder }), await runCli(['verify'], { folder })];

  for (const { exitCode, stderr } of results) {
    expect(exitCode).toBe(75);
    expect(stderr).toContain('most likely another command, since nothing answers at http.listen: it ends by itself');
    expect(stderr).not.toMatch(/kill|the key of the page/);
  }
});
