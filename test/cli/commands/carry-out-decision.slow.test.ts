/**
 * Decisions by the command line while a daemon holds the replica: it carries them out, where it can be asked.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTroubled } from '../../support/page.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { runCli } from '../../support/session.ts';
import { NOTE } from '../../support/two-way.ts';

const TABLES = 'tables: { "*": { push: true, conflict: ask } }\n';

/** The port has to be known to the command line, so the daemon listens on a socket in its folder. */
async function startListening(
  sandbox: Parameters<typeof startTroubled>[0],
  more = '',
): ReturnType<typeof startTroubled> {
  const socket = `/tmp/rowsync-${process.pid}-${Math.floor(performance.now() * 1000)}.sock`;
  return startTroubled(sandbox, `http: { listen: "${socket}" }\n${TABLES}${more}`);
}

test('resolve, retry, discard and seen work beside a daemon', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);

  expect(await runCli(['resolve', '1', '--take', 'local'], daemon)).toMatchObject({
    exitCode: 0,
    stdout: 'Resolved conflict 1: Note row 1, Title, the version here: "mine"\n',
  });
  expect(await runCli(['retry', '--json'], daemon)).toMatchObject({
    exitCode: 0,
    stdout: jsonOf({ rowCount: 1, decided: [{ table: 'Note', rowId: 2, column: null, state: 'edited' }] }),
  });
  expect((await runCli(['discard', 'Note', '2'], daemon)).stdout).toBe('Put row 2 of Note back\n');
  expect((await runCli(['conflicts', '--seen', '9'], daemon)).stdout).toBe('Noted that you saw 0 lost edits\n');
  const decided = daemon.events('person.decided').map(({ reason }) => reason);
  expect(decided).toEqual(['resolve', 'retry', 'discard', 'seen']);
});

function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

test('resolve, discard and seen say as JSON what was decided, and what waits now', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);
  const json = async (...command: string[]): Promise<unknown> =>
    JSON.parse((await runCli([...command, '--json'], daemon)).stdout);
  const cell = { table: 'Note', rowId: 1, column: 'Title', conflict: 1 };

  expect(await json('resolve', '1', '--take', '=ours')).toEqual({
    rowCount: 1,
    decided: [{ ...cell, value: 'ours', state: 'edited' }],
  });
  expect(await json('resolve', '1', '--take', 'remote', '--again')).toEqual({
    rowCount: 1,
    decided: [{ ...cell, value: 'theirs', state: null }],
  });
  // Row 2 was refused, which a person decides by itself.
  expect(await json('discard', 'Note', '--all')).toEqual({ rowCount: 0, decided: [] });
  expect(await json('discard', 'Note', '2')).toEqual({
    rowCount: 1,
    decided: [{ table: 'Note', rowId: 2, column: 'Code', value: 'c2', conflict: 3, state: null }],
  });
  expect(await json('conflicts', '--seen', '9')).toEqual({ rowCount: 0, decided: [] });
});

test('what cannot be done is an error of usage, as without a daemon', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);

  const { exitCode, stderr } = await runCli(['resolve', '9', '--take', 'local'], daemon);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('there is no conflict 9');
  expect(stderr).toContain('what to do: rowsync conflicts --all shows each conflict with its number and versions');
});

test('without the key the daemon is not asked, and the replica is in use', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);
  rmSync(join(daemon.folder, 'replica.db.page-key'));

  const { exitCode, stderr } = await runCli(['resolve', '1', '--take', 'local'], daemon);

  expect(exitCode).not.toBe(0);
  expect(stderr).toContain('replica.inUse');
});

test('a daemon that does not listen cannot be asked', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox, TABLES);

  const { stderr } = await runCli(['resolve', '1', '--take', 'local'], daemon);

  expect(stderr).toContain('replica.inUse');
  expect(stderr).toContain('Set http.listen');
});

test('verify beside a daemon that has a schedule for it is done by it', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox, 'schedule: { verify: "0 3 * * *" }\n');

  const { exitCode, stdout } = await runCli(['verify'], { folder: daemon.folder });

  expect(stdout).toMatch(/^verify by the daemon: done in .* s: every cell matches the origin\n/);
  expect(exitCode).toBe(0);
});

test('verify beside a daemon says which table differs', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox, 'schedule: { verify: "0 3 * * *" }\n');
  const [base] = daemon.rows(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_rowsync_base_[0-9]*'",
  ) as { name: string }[];
  daemon.execute(`INSERT INTO _rowsync_writer VALUES (1);
    UPDATE "Note" SET "Title" = 'rotten' WHERE _id = 3;
    UPDATE ${base?.name} SET "Title" = 'rotten' WHERE _id = 3;
    DELETE FROM _rowsync_writer`);

  const { stdout } = await runCli(['verify'], { folder: daemon.folder });

  expect(stdout).toContain('Note: 1 row differs from the origin although nothing changed meanwhile');
});

test('pull and push beside a daemon are done by it', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);
  sandbox.store.update('Note', 3, { Title: 'from there' });

  const pulled = await runCli(['pull'], { folder: daemon.folder });
  const rows = daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 3');
  sandbox.store.update('Note', 2, { Title: 'named' });
  const named = await runCli(['pull', 'Note'], { folder: daemon.folder });
  sandbox.store.update('Note', 1, { Title: 'not asked for' });
  const misspelt = await runCli(['pull', 'Noet'], { folder: daemon.folder });
  const unread = daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 1');
  const read = await runCli(['pull', 'Note', '--json'], { folder: daemon.folder });
  const pushed = await runCli(['push', '--json'], { folder: daemon.folder });

  expect(pulled.stderr).not.toContain('error');
  expect(pulled.stdout).toMatch(/^pull by the daemon: done in /);
  expect(rows).toEqual([{ Title: 'from there' }]);
  expect(named).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^pull of all tables by the daemon: done/) as string,
  });
  expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 2')).toEqual([{ Title: 'named' }]);
  expect(misspelt.exitCode).toBe(2);
  expect(misspelt.stderr).toContain('no table called "Noet" (did you mean Note?)');
  expect(unread).not.toEqual([{ Title: 'not asked for' }]);
  expect(JSON.parse(read.stdout)).toMatchObject({
    byDaemon: [{ work: 'pull' }],
    tables: [{ table: 'Note', state: 'steady', freshSince: expect.stringMatching(/^2/) as string }],
  });
  // A conflict waits for a decision, as after a push without a daemon.
  expect([pushed.exitCode, JSON.parse(pushed.stdout)]).toMatchObject([3, { byDaemon: [{ work: 'push' }] }]);
});

test('a failure of the daemon ends the command with its own code and exit code', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);
  sandbox.store.revokeToken(sandbox.token);

  const { exitCode, stderr } = await runCli(['pull'], { folder: daemon.folder });

  expect(stderr).toContain('origin.forbidden');
  expect(exitCode).toBe(1);
});

test.each([
  ['a refused token', 'pull', async (sandbox: TestSandbox) => sandbox.store.revokeToken(sandbox.token), 1],
  ['an origin that is down', 'push', (sandbox: TestSandbox) => sandbox[Symbol.asyncDispose](), 75],
])(
  'a daemon that waits because of %s tries at once for a person, and %s ends with what came',
  async (_why, command, fail, exit) => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startListening(sandbox);
    await fail(sandbox);
    await daemon.elapse(60);
    const before = daemon.events('circuit.opened');
    expect(before.length).toBeGreaterThan(2);

    const asking = runCli([command], { folder: daemon.folder });
    let waitCount = daemon.clock.waits.length;
    while (daemon.events('circuit.opened').length === before.length) {
      await new Promise(setImmediate);
      if (daemon.clock.waits.length === waitCount) continue;
      waitCount = daemon.clock.waits.length;
      daemon.clock.advance(10_000); // between two tries of its question
    }
    const { exitCode, stderr } = await asking;

    expect(daemon.events('circuit.opened')).toHaveLength(before.length + 1);
    expect(stderr).toContain(`the daemon waits after a failure, and tries now: `);
    expect(stderr).toContain(`error: The daemon says: `);
    expect(stderr).toContain(`It tries again in `);
    expect(exitCode).toBe(exit);
  },
);

test('what a daemon cannot be asked for is said, with its process', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startListening(sandbox);

  const named = await runCli(['push', 'Note'], daemon);
  const unscheduled = await runCli(['verify', 'Note'], daemon);
  const both = await runCli(['push', 'Note', '--confirm'], daemon);
  const discards = await runCli(['sync', 'Note', '--discard'], daemon);
  const moment = await runCli(['pull', '--moment'], daemon);
  const files = await runCli(['files', 'verify'], daemon);

  for (const { exitCode } of [named, unscheduled, both, discards, moment, files]) expect(exitCode).toBe(75);
  // A daemon never ends by itself, so nobody is told to wait for that.
  const { pid } = process;
  const stop = `or stop it first (kill ${pid}); kill -USR1 ${pid} starts a cycle. A command ends by itself.`;
  for (const { stderr } of [named, unscheduled, both, discards, moment]) expect(stderr).toContain(stop);
  const [table, tableAndFlag] = ['leave out the table', 'leave out the table and --discard'];
  expect(named.stderr).toContain(`If it is a daemon, ${table}, so that it does the work for all tables, or`);
  expect(both.stderr).toContain(`If it is a daemon, ${table}, so that it does the work for all tables, or`);
  expect(discards.stderr).toContain(`If it is a daemon, ${tableAndFlag}, so that it does the work for all tables, or`);
  expect(named.stderr).toContain(`(process ${pid})\n`);
  expect(unscheduled.stderr).toContain(
    'If it is a daemon, schedule verify in the configuration, so that it does that, or',
  );
  // Without the flag, the daemon would prove no moment.
  expect(moment.stderr).toContain('If it is a daemon, let schedule.moment say when it proves moments, or');
  expect(files.stderr).toContain('Stop it if it is a daemon, and start it again afterwards; a command ends by itself.');
  expect(both.stderr).toContain('and nothing of Note is held that could be confirmed\n');
});
