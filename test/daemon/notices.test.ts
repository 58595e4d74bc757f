/**
 * Notices: what is worth telling, how often, and that the command gets it.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LogEvent } from '../../src/base/log-events.ts';
import type { LogFacts } from '../../src/base/log.ts';
import { judgeNotice, NOTHING_TOLD } from '../../src/daemon/notices.ts';
import { startDaemon } from '../support/daemon.ts';
import { startTestSandbox } from '../support/sandbox.ts';

const HOUR = 3_600_000;

type Logged = readonly [number, LogEvent, LogFacts];

/** What is told of events in a row, as `kind subject`; each comes at its time in hours. */
function told(...events: readonly Logged[]): readonly string[] {
  let memory = NOTHING_TOLD;
  return events.flatMap(([hours, event, facts]) => {
    const judged = judgeNotice(event, facts, memory, { nowMs: hours * HOUR, repeatMs: 6 * HOUR });
    if (judged === null) return [];
    memory = judged.told;
    return [`${judged.notice.kind} ${judged.notice.subject}`];
  });
}

const down = (attempt: number): LogFacts => ({ reason: 'originDown', attempt });
const auth: LogFacts = { reason: 'auth', attempt: 1 };

test.each<[string, readonly Logged[], readonly string[]]>([
  [
    'a sink that keeps failing, and that follows again',
    [
      [0, 'sink.failed', { sink: 'w', code: 'sink.unreachable', attempt: 1 }],
      [0, 'sink.failed', { sink: 'w', code: 'sink.unreachable', attempt: 3 }],
      [1, 'sink.recovered', { sink: 'w' }],
    ],
    ['failing sink w', 'recovered sink w'],
  ],
  [
    'a schema that another replica wrote to, at once',
    [[0, 'sink.failed', { sink: 'w', code: 'sink.taken', attempt: 1 }]],
    ['needsPerson sink w'],
  ],
  ['refused credentials at once', [[0, 'circuit.opened', auth]], ['needsPerson everything']],
  [
    'an origin that restarts not at all',
    [
      [0, 'circuit.opened', down(1)],
      [0, 'circuit.opened', down(2)],
      [0, 'circuit.closed', {}],
    ],
    [],
  ],
  [
    'an origin that stays away, and comes back',
    [
      [0, 'circuit.opened', down(3)],
      [0, 'circuit.opened', down(4)],
      [1, 'circuit.closed', {}],
    ],
    ['failing everything', 'recovered everything'],
  ],
  [
    'the first failure of a table, and its recovery',
    [
      [0, 'table.waits', { table: 'A' }],
      [1, 'table.waits', { table: 'A' }],
      [2, 'table.recovered', { table: 'A' }],
    ],
    ['failing A', 'recovered A'],
  ],
  [
    'each table by itself',
    [
      [0, 'table.waits', { table: 'A' }],
      [0, 'table.waits', { table: 'B' }],
    ],
    ['failing A', 'failing B'],
  ],
  [
    'a guard once in six hours',
    [0, 1, 5.9, 6, 7].map((at) => [at, 'guard.waits', { table: 'A' }] as const satisfies Logged),
    ['needsPerson A', 'needsPerson A'],
  ],
  [
    'rows that wait, once in six hours, and when none does any more',
    [
      [0, 'rows.parked', { table: 'A', rowCount: 1 }],
      [1, 'rows.parked', { table: 'A', rowCount: 2 }],
      [2, 'rows.settled', { table: 'A' }],
    ],
    ['needsPerson rows of A', 'recovered rows of A'],
  ],
  ['work that failed', [[0, 'work.failed', { work: 'backup' }]], ['failing backup']],
  [
    'nothing of what goes well',
    [
      [0, 'work.finished', { work: 'pull' }],
      [0, 'table.recovered', { table: 'A' }],
    ],
    [],
  ],
])('tells %s', (_what, events, expected) => {
  expect(told(...events)).toEqual(expected);
});

test('a notice of what is no error has the name of its event as code', () => {
  const options = { nowMs: 0, repeatMs: HOUR };

  const parked = judgeNotice('rows.parked', { table: 'A', rowCount: 1 }, NOTHING_TOLD, options);
  const guard = judgeNotice('guard.waits', { table: 'A', code: 'guard.deletes' }, NOTHING_TOLD, options);

  expect([parked?.notice.code, guard?.notice.code]).toEqual(['rows.parked', 'guard.deletes']);
});

test('tells at most twelve things in an hour, and goes on in the next', () => {
  const storm = (at: number) =>
    Array.from({ length: 40 }, (_, index) => [at, 'table.waits', { table: `T${at}.${index}` }] as const);

  expect(told(...storm(0), ...storm(0.5), ...storm(1.1))).toHaveLength(24);
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
  expect(JSON.parse(text)).toMatchObject({ kind: 'needsPerson', subject: 'everything', code: 'origin.forbidden' });
  expect(text).not.toContain(sandbox.token);
  expect(daemon.events('notice.sent')).toMatchObject([{ reason: 'needsPerson' }]);
  await daemon[Symbol.asyncDispose]();
});

test('a command that cannot be run is logged, and changes nothing else', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Note', columns: [], rows: [{}] }] });
  await using daemon = startDaemon(sandbox, 'notify: { command: [/no/such/program] }\n');
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  await daemon.stop();

  expect(daemon.events('notice.failed')).toHaveLength(1);
});

/** A chat service: what it was posted, and what it answers. */
async function startHook(status = 200) {
  const posted: unknown[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      posted.push(JSON.parse(text));
      response.writeHead(status, { Location: '/elsewhere' }).end();
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

  expect(hook.posted).toMatchObject([{ kind: 'needsPerson', subject: 'everything', code: 'origin.forbidden' }]);
  expect(JSON.stringify(hook.posted)).toContain('rowsync: everything needs a person. ');
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

    expect(hook.posted).toHaveLength(1);
    expect(daemon.events('notice.failed')).toMatchObject([{ reason: `the webhook answered ${status}` }]);
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

  expect(daemon.events('notice.failed')).toHaveLength(1);
  expect(JSON.stringify(daemon.events())).not.toContain('secret-path');
});
