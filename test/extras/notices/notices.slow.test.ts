/**
 * Notices: which problems cause one, how often, and that the command receives it.
 */
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { LogEvent } from '../../../src/base/log-events.ts';
import { silentLogger, type LogFacts } from '../../../src/base/log.ts';
import { NoticeSender } from '../../../src/extras/notices/channels.ts';
import { NOTICES } from '../../../src/extras/notices/extra.ts';
import { judgeNotices, noticeOfEvent, NO_NOTICES_SENT, UNTOLD } from '../../../src/extras/notices/notices.ts';
import type { NotifySettings } from '../../../src/extras/notices/options.ts';
import { daemonFactsOf } from '../../../src/daemon/account-facts.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import { accountWithAll, ALL_PROBLEMS } from '../../support/account-facts.ts';
import { testClock } from '../../support/clock.ts';
import { RESTING_STATE } from '../../support/daemon-state.ts';
import { startDaemon } from '../../support/daemon.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

const HOUR = 3_600_000;

test('people are sent notices, but not of what they need not act on', () => {
  const areTold = (...codes: readonly Problem['code'][]) => codes.map((code) => !UNTOLD.has(code));

  expect(areTold('rows.refused', 'run.failed', 'table.late')).toEqual([true, true, true]);
  expect(areTold('notices.failed', 'tables.loading')).toEqual([false, false]);
});

/** A problem, as `severity code table count`. */
function problemOf(text: string): Problem {
  const [severity, code, table = null, count = 1] = text.split(' ');
  const known = ALL_PROBLEMS.find((entry) => entry.code === code && entry.severity === severity);
  if (known === undefined) throw new Error(`no such problem: ${text}`);
  return {
    code: known.code,
    severity: known.severity,
    table,
    count: Number(count),
    since: null,
    sentence: 's',
    hint: 't',
  };
}

/** What is told of accounts in a row, as `kind subject`; each is taken at its time in hours. */
function sent(...accounts: readonly (readonly [number, ...string[]])[]): readonly string[] {
  let memory = NO_NOTICES_SENT;
  return accounts.flatMap(([hours, ...problems]) => {
    const judged = judgeNotices(problems.map(problemOf), memory, { nowMs: hours * HOUR, repeatMs: 6 * HOUR });
    memory = judged.sent;
    return judged.notices.map(({ kind, subject }) => `${kind} ${subject}`);
  });
}

test.each<[string, readonly (readonly [number, ...string[]])[], readonly string[]]>([
  ['refused credentials at once', [[0, 'person credentials.refused']], ['needsPerson everything']],
  ['a damaged replica at once', [[0, 'damaged replica.damaged']], ['needsPerson everything']],
  ['an origin that restarts not at all', [[0, 'late run.late'], [0.02, 'late run.late'], [0.04]], []],
  [
    'an origin that stays away, and comes back',
    [[0, 'late run.late'], [0.06, 'late run.late'], [0.1, 'late run.late'], [1]],
    ['failing everything', 'recovered everything'],
  ],
  [
    'each table by itself, and its end',
    [
      [0, 'person table.failed A', 'person table.failed B'],
      [1, 'person table.failed B'],
    ],
    ['needsPerson A', 'needsPerson B', 'recovered A'],
  ],
  [
    'two sinks apart',
    [
      [0, 'person sink.failed'],
      [1, 'person sink.failed', 'person sink.failed'],
    ],
    ['needsPerson everything', 'needsPerson everything'],
  ],
  [
    'a guard once in six hours',
    [0, 1, 5.9, 6, 7].map((at) => [at, 'person table.held A'] as const),
    ['needsPerson A', 'needsPerson A'],
  ],
  [
    'rows that wait, once in six hours, and when none does any more',
    [[0, 'person rows.refused A'], [1, 'person rows.refused A'], [2]],
    ['needsPerson A', 'recovered A'],
  ],
  [
    'that there are more conflicts, half an hour after the last notice of them at the earliest',
    [
      [0, 'person rows.conflicts A 1'],
      [0.1, 'person rows.conflicts A 2'],
      [0.6, 'person rows.conflicts A 3'],
      [1.5, 'person rows.conflicts A 3'],
      [1.6, 'person rows.conflicts A 2'],
      [1.7, 'person rows.conflicts A 3'],
    ],
    ['needsPerson A', 'needsPerson A', 'needsPerson A'],
  ],
  [
    'that more is late only as often as that it is',
    [0, 0.1, 1, 2].map((at) => [at, `late tables.late - ${1 + at * 10}`] as const),
    ['failing -'],
  ],
  [
    'nothing of what nobody can hasten',
    [
      [0, 'late tables.loading'],
      [9, 'late tables.loading'],
    ],
    [],
  ],
  [
    'nothing of what is good to know',
    [
      [0, 'notice replica.older'],
      [9, 'notice replica.older'],
    ],
    [],
  ],
  [
    'what was lost once, and again when more was, but not its end',
    [[0, 'notice rows.lost A 2'], [9, 'notice rows.lost A 2'], [10, 'notice rows.lost A 3'], [11]],
    ['toKnow A', 'toKnow A'],
  ],
  [
    'a table that was dropped here once',
    [[0, 'notice table.remade A'], [9, 'notice table.remade A'], [10]],
    ['toKnow A'],
  ],
])('tells %s', (_what, accounts, expected) => {
  expect(sent(...accounts)).toEqual(expected);
});

test('tells at most twelve things in an hour, and goes on in the next', () => {
  const storm = (at: number): readonly [number, ...string[]] => [
    at,
    ...Array.from({ length: 40 }, (_, index) => `person table.failed T${index}`),
  ];

  expect(sent(storm(0), storm(0.5), storm(1.1))).toHaveLength(24);
});

test('a notice has the code, the sentence and what to do of its problem', () => {
  const { notices } = judgeNotices([problemOf('person rows.refused A')], NO_NOTICES_SENT, { nowMs: 0, repeatMs: HOUR });

  expect(notices).toEqual([{ kind: 'needsPerson', subject: 'A', code: 'rows.refused', message: 's', hint: 't' }]);
});

test('an event that no account has is told as it happens', () => {
  expect(noticeOfEvent('identity.changed', { message: 'm', hint: 'h' })).toMatchObject({ code: 'identity.changed' });
  expect(noticeOfEvent('schema.changed', { message: 'm' })).toMatchObject({ kind: 'changed', message: 'm' });
  expect(noticeOfEvent('work.started', { work: 'pull' })).toBeNull();
});

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
  expect(clock.waits).toEqual([26_250]);
});

test('a notice that is under way when the daemon ends is tried once more', async () => {
  const { sender, logged, fail } = startSender({ command: ['false'] });

  fail('backup');
  await sender.close();

  expect(logged).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
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
