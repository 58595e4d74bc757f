/**
 * How notices reach a person: by a command or a webhook, in order, and again where one fails.
 */
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import type { LogEvent } from '../../../src/base/log-events.ts';
import { silentLogger, type LogFacts } from '../../../src/base/log.ts';
import { NoticeSender } from '../../../src/extras/notices/channels.ts';
import { NOTICES } from '../../../src/extras/notices/extra.ts';
import type { NotifySettings } from '../../../src/extras/notices/options.ts';
import { daemonFactsOf } from '../../../src/daemon/account-facts.ts';
import { accountWithAll } from '../../support/account-facts.ts';
import { testClock } from '../../support/clock.ts';
import { RESTING_STATE } from '../../support/daemon-state.ts';
import { startDaemon } from '../../support/daemon.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

test('a table that another program dropped is one notice', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  await using daemon = startDaemon(sandbox);
  await daemon.idle();
  const out = join(daemon.folder, 'told.jsonl');
  const append = `fs.appendFileSync(${JSON.stringify(out)}, fs.readFileSync(0, 'utf8').trim() + '\\n')`;
  daemon.reload(`notify: { command: ${JSON.stringify([process.execPath, '-e', append])} }\n`);
  await daemon.idle();
  const db = new Database(join(daemon.folder, 'replica.db'));
  db.exec('DROP TABLE "Note"');
  db.close();
  await daemon.elapse(125);

  await daemon.stop();

  const notices = readFileSync(out, 'utf8').trim().split('\n');
  expect(notices.map((line) => (JSON.parse(line) as { code: string }).code)).toEqual(['table.remade']);
});

test('the command gets the notice on its standard input, without the token', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  const write = "fs.writeFileSync('OUT', fs.readFileSync(0))";
  const yaml = (out: string): string =>
    `notify: { command: ${JSON.stringify([process.execPath, '-e', write.replace('OUT', out)])} }\n`;
  const daemon = startDaemon(sandbox);
  const out = join(daemon.folder, 'told.json');
  await daemon.idle();
  daemon.reload(yaml(out));
  await daemon.idle();
  expect(existsSync(out)).toBe(false);
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  await daemon.stop();

  const text = readFileSync(out, 'utf8');
  expect(JSON.parse(text)).toMatchObject({ kind: 'needsPerson', subject: 'everything', code: 'credentials.refused' });
  expect(text).not.toContain(sandbox.token);
  expect(daemon.events('notice.sent')).toMatchObject([{ reason: 'needsPerson' }]);
  await daemon[Symbol.asyncDispose]();
});

/** A sender on a clock that a test moves, and what it has logged. */
function startSender(given: Partial<NotifySettings>) {
  const clock = testClock({ sleepsAdvance: false });
  const logged: (LogFacts & { readonly event: LogEvent })[] = [];
  const note = (event: LogEvent, facts: LogFacts = {}) => void logged.push({ event, ...facts });
  const log = { ...silentLogger, info: note, warn: note, error: note };
  const settings = { repeatMinutes: 360, ...given };
  const sender = new NoticeSender({ clock, log: () => log, settings: () => settings });
  const fail = (message: string) => sender.takeEvent('identity.changed', { message });
  const failures = () => sender.word().complaints.map(({ message, since }) => ({ message, since }));
  return { clock, sender, logged, settings, fail, failures };
}

test.each([
  ['is not there', '/no/such/program'],
  ['is below a file', '/etc/passwd/program'],
  ['has too long a name', `/${'x'.repeat(300)}`],
  ['has a name that no system takes', 'a\0b'],
  ['fails', 'false'],
])('a command that %s is logged, and tried again', async (_what, program) => {
  const { clock, sender, logged, fail, failures } = startSender({ command: [program] });

  fail('backup');
  await clock.sleeper();
  await sender.close();

  const tries = logged.filter(({ event }) => event === 'notice.failed');
  expect(tries).toMatchObject([
    { way: 'command', attempt: 1 },
    { way: 'command', attempt: 2 },
  ]);
  expect(failures()).toHaveLength(1);
  expect(failures()[0]?.message).toMatch(/ notify\.command do not get through: .*; 1 notice waiting$/);
  expect(clock.waits).toEqual([26_250, 4_000]); // the second is the one of the end
});

test('a notice that is under way when the daemon ends is tried once more', async () => {
  const { sender, logged, fail } = startSender({ command: ['false'] });

  fail('backup');
  await sender.close();

  expect(logged).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
});

test('a command that hangs does not outlive the daemon, and is not begun again', async () => {
  using folder = temporaryFolder();
  const out = join(folder.path, 'pid');
  const hang = `fs.appendFileSync(${JSON.stringify(out)}, process.pid + '\\n'); setTimeout(() => {}, 60_000)`;
  const { clock, sender, logged, fail } = startSender({ command: [process.execPath, '-e', hang] });
  fail('backup');
  await vi.waitUntil(() => existsSync(out) && readFileSync(out, 'utf8') !== '', { timeout: 20_000 });

  const closed = sender.close();
  clock.advance(4_000);
  await closed;

  const [pid = '', ...others] = readFileSync(out, 'utf8').trim().split('\n');
  await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH'));
  expect(others).toEqual([]);
  expect(logged).toMatchObject([{ event: 'notice.failed', attempt: 1 }]);
});

test('without a free descriptor the command fails, and nothing is thrown', async () => {
  const { sender, fail, failures } = startSender({ command: ['true'] });
  const files: number[] = [];
  try {
    for (;;) files.push(openSync('/dev/null', 'r'));
  } catch {
    fail('backup');
    await sender.close();
  } finally {
    for (const file of files) closeSync(file);
  }

  expect(failures()[0]?.message).toContain('EMFILE');
});

test('a webhook that was down gets every notice in order once it is back', async () => {
  await using hook = await startHook(503);
  const { clock, sender, logged, fail, failures } = startSender({ webhook: hook.url });
  fail('backup');
  await clock.sleeper();
  fail('verify');
  const blocked = failures();
  hook.posted.length = 0;
  hook.answerWith(200);

  clock.advance(clock.waits[0] ?? 0);
  await sender.close();

  expect(blocked).toEqual([
    {
      message: 'Notices by notify.webhook do not get through: the webhook answered 503; 2 notices waiting',
      since: '2026-01-01T00:00:00Z',
    },
  ]);
  expect(hook.posted).toMatchObject([{ message: 'backup' }, { message: 'verify' }]);
  expect(logged.filter(({ event }) => event === 'notice.sent')).toHaveLength(2);
  expect(failures()).toEqual([]);
});

test('a notice that comes just as the last one was sent is sent too', async () => {
  await using hook = await startHook();
  const { sender, logged, fail } = startSender({ webhook: hook.url });
  let isNext = true;
  const push = logged.push.bind(logged);
  logged.push = (...lines) => {
    if (isNext) queueMicrotask(() => fail('verify'));
    isNext = false;
    return push(...lines);
  };

  fail('backup');
  await sender.close();
  await sender.close();

  expect(hook.posted).toMatchObject([{ message: 'backup' }, { message: 'verify' }]);
});

test('a channel that the configuration wants no more is not reported, and gets nothing', async () => {
  await using hook = await startHook(503);
  const { clock, sender, settings, fail, failures } = startSender({ webhook: hook.url });
  fail('backup');
  await clock.sleeper();

  delete settings.webhook;
  const blocked = failures();
  fail('verify');
  await sender.close();

  expect(blocked).toEqual([]);
  expect(hook.posted).toHaveLength(1);
});

test('one way that fails keeps nothing from the other', async () => {
  await using hook = await startHook();
  const { sender, fail, failures } = startSender({ command: ['false'], webhook: hook.url });

  fail('backup');
  await sender.close();

  expect(hook.posted).toHaveLength(1);
  expect(failures()).toMatchObject([{ message: expect.stringContaining('notify.command') as string }]);
});

test('the account says that notices do not get through', async () => {
  await using hook = await startHook(503);
  const { sender, fail } = startSender({ webhook: hook.url });
  fail('backup');
  fail('verify');
  await sender.close();

  const word = daemonFactsOf({ ...RESTING_STATE, ...sender.word() }, [NOTICES]);

  expect(
    accountWithAll({
      ...word,
      nowMs: 0,
      replica: 'here',
      tables: [],
      misnamed: [],
      remade: [],
      putBack: null,
      lastRunAt: null,
    }),
  ).toMatchObject([
    {
      code: 'notices.failed',
      severity: 'person',
      sentence: 'Notices by notify.webhook do not get through: the webhook answered 503; 2 notices waiting',
    },
  ]);
});

test('a command that cannot be run changes nothing else of the daemon', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  await using daemon = startDaemon(sandbox, 'notify: { command: [/etc/passwd/program] }\n');
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  await daemon.stop();

  expect(daemon.events('notice.failed').length).toBeGreaterThan(0);
  expect(daemon.events('daemon.stopped')).toHaveLength(1);
});

/** A chat service: what it was posted, and what it answers. */
async function startHook(status = 200) {
  let answer = status;
  const posted: unknown[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      posted.push(JSON.parse(text));
      response.writeHead(answer, { Location: '/elsewhere' }).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    posted,
    authorizations,
    url: `http://127.0.0.1:${port}/hooks/secret-path`,
    answerWith: (next: number) => (answer = next),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('the webhook gets the notice with a text, as often as the command would', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  await using hook = await startHook();
  await using daemon = startDaemon(sandbox, `notify: { webhook: "${hook.url}" }\n`);
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(60);

  await daemon.stop();

  expect(hook.posted).toMatchObject([{ kind: 'needsPerson', subject: 'everything', code: 'credentials.refused' }]);
  expect(JSON.stringify(hook.posted)).toContain('"rowsync needs a person. ');
  expect(JSON.stringify([hook.posted, daemon.events()])).not.toContain(sandbox.token);
});

test('a user and a password in the address of a webhook go as Basic authorization', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  await using hook = await startHook();
  const address = hook.url.replace('http://', 'http://wanda:p%40ss@');
  await using daemon = startDaemon(sandbox, `notify: { webhook: "${address}" }\n`);
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(60);

  await daemon.stop();

  expect(hook.posted).toMatchObject([{ kind: 'needsPerson' }]);
  expect(hook.authorizations).toEqual([`Basic ${Buffer.from('wanda:p@ss').toString('base64')}`]);
  expect(daemon.events('notice.failed')).toEqual([]);
});

test.each([500, 302])(
  'a webhook that answers %i is logged without its address, and changes nothing else',
  async (status) => {
    await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
    await using hook = await startHook(status);
    await using daemon = startDaemon(sandbox, `notify: { webhook: "${hook.url}" }\n`);
    await daemon.idle();
    sandbox.store.revokeToken(sandbox.token);
    await daemon.elapse(5);

    await daemon.stop();

    expect(daemon.events('notice.failed').length).toBeGreaterThan(0);
    expect(hook.posted).toHaveLength(daemon.events('notice.failed').length);
    expect(daemon.events('notice.failed')[0]).toMatchObject({ reason: `the webhook answered ${status}` });
    expect(JSON.stringify(daemon.events())).not.toContain('secret-path');
  },
);

test('a webhook that nobody answers is logged with the reason alone', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  await using daemon = startDaemon(sandbox, 'notify: { webhook: "http://127.0.0.1:1/hooks/secret-path" }\n');
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  await daemon.stop();

  expect(daemon.events('notice.failed').length).toBeGreaterThan(0);
  expect(JSON.stringify(daemon.events())).not.toContain('secret-path');
});
