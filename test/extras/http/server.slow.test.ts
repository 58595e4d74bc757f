/**
 * The HTTP server of a running daemon: who may ask, what is answered, and that no secret and no row value is.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { copyFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { LoopDelay } from '../../../src/extras/http/loop-delay.ts';
import { isOwnHost } from '../../../src/extras/http/server.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { ask, portOf } from '../../support/http.ts';
import { keyOf, signIn } from '../../support/page.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';

const CANARY = 'canary-value-in-a-row';

function notes(token?: string): Promise<TestSandbox> {
  const spec = { name: 'Note "x"', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: CANARY }] };
  return startTestSandbox({ tables: [spec], ...(token === undefined ? {} : { token }) });
}

/** The headers of a program that may read the replica, and so the key of the page. */
function asReader(daemon: TestDaemon): { readonly headers: Record<string, string> } {
  return { headers: { Authorization: `Bearer ${keyOf(daemon)}` } };
}

test('tells those without the key one sentence, and nothing of the replica, the user or the origin', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const where = { port: portOf(daemon) };
  const answers = async (): Promise<readonly string[]> =>
    (await Promise.all(['/', '/status', '/browse/Note'].map((path) => ask(where, path)))).map(({ body }) => body);

  const well = await answers();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);
  await daemon.elapse(60);
  const failed = await answers();

  expect(well[0]).toContain('<h1>Syncing works.</h1>');
  expect(JSON.parse(well[1] ?? '')).toEqual({ state: 'works', since: null });
  expect(failed[0]).toMatch(/<h1>Syncing is failing, and has been for [\w ]+\.<\/h1>/);
  expect(JSON.parse(failed[1] ?? '')).toEqual({ state: 'failed', since: expect.any(String) as string });
  const { user, database } = sandbox;
  for (const hidden of [daemon.folder, user.email, database, '127.0.0.1', 'Note &quot;', 'token']) {
    for (const body of [...well, ...failed]) expect(body).not.toContain(hidden);
  }
});

test('refuses a wrong key at /status, and answers without one', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const where = { port: portOf(daemon) };

  const wrong = await ask(where, '/status', { headers: { Authorization: 'Bearer nothing' } });

  expect(wrong).toMatchObject({ status: 403, body: 'wrong key\n' });
  expect((await ask(where, '/status')).status).toBe(200);
});

test('answers on a loopback port how it stands', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const where = { port: portOf(daemon) };

  expect(await ask(where, '/livez')).toMatchObject({ status: 200, body: 'ok\n' });
  expect(await ask(where, '/readyz')).toMatchObject({ status: 200, body: 'ok\n' });
  expect((await ask(where, '/nowhere')).status).toBe(404);
  const status = JSON.parse((await ask(where, '/status', asReader(daemon))).body) as Record<string, unknown>;
  expect(status).toMatchObject({
    status: 'ok; last pull done 2026-06-01T12:01:00Z',
    working: null,
    failure: null,
    jobs: [
      { job: 'pull', nextAt: '2026-06-01T12:05:00Z', isDue: false },
      { job: 'follow', nextAt: '2026-06-01T12:02:00Z', isDue: false },
    ],
    tables: [{ table: 'Note "x"', state: 'steady', rowCount: 1 }],
  });
});

test('gives metrics that Prometheus can read', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();

  const { body, headers } = await ask({ port: portOf(daemon) }, '/metrics');

  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(
    body
      .split('\n')
      .filter((line) => !/^(?:# (?:HELP|TYPE) rowsync_\w+ .+|rowsync_\w+(?:\{[^}]+\})? [-\d.e+]+|)$/.test(line)),
  ).toEqual([]);
  expect(body).toContain('rowsync_rows{table="Note \\"x\\""} 1\n');
  expect(body).toContain('rowsync_work_total{kind="pull",outcome="done"} 1\n');
  expect(body).toContain('rowsync_lockout{reason="none"} 0\n');
});

test.each<[string, { method?: string; headers?: Record<string, string> }, number]>([
  ['its own name', {}, 200],
  ['localhost', { headers: { Host: 'localhost:PORT' } }, 200],
  ['another host', { headers: { Host: 'evil.example' } }, 421],
  ['another host on its port', { headers: { Host: 'evil.example:PORT' } }, 421],
  ['its name on another port', { headers: { Host: '127.0.0.1:1' } }, 421],
  ['its own origin', { headers: { Host: 'localhost:PORT', Origin: 'http://localhost:PORT' } }, 200],
  ['another origin', { headers: { Origin: 'https://evil.example' } }, 403],
  ['an opaque origin', { headers: { Origin: 'null' } }, 403],
  ['a HEAD', { method: 'HEAD' }, 200],
  ['a POST', { method: 'POST' }, 405],
  ['a DELETE', { method: 'DELETE' }, 405],
  ['its name behind a user', { headers: { Host: 'evil@localhost:PORT' } }, 421],
])('answers %s as it should', async (_what, options, expected) => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const port = portOf(daemon);
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name, value.replace('PORT', String(port))]),
  );

  const answer = await ask({ port }, '/livez', { ...options, headers });

  expect(answer.status).toBe(expected);
  expect(answer.headers['access-control-allow-origin']).toBeUndefined();
});

test.each(['/status', '/metrics'])('%s answers no page of another site', async (path) => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const statusFor = async (headers: Record<string, string>): Promise<number> =>
    (await ask({ port: portOf(daemon) }, path, { headers })).status;

  expect(await statusFor({ 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
  expect(await statusFor({ 'Sec-Fetch-Site': 'same-site' })).toBe(403);
  expect(await statusFor({ 'Sec-Fetch-Site': 'none' })).toBe(200);
  expect(await statusFor({})).toBe(200);
});

test('a probe is answered although others hold connections on which they ask nothing', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const port = portOf(daemon);
  const silent = Array.from({ length: 40 }, () => connect(port, '127.0.0.1'));
  try {
    for (const socket of silent) socket.on('error', () => undefined);
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    for (const socket of silent) socket.write('GET /livez HTTP/1.1\r\nHost: ');

    expect(await ask({ port }, '/livez')).toMatchObject({ status: 200 });
  } finally {
    for (const socket of silent) socket.destroy();
  }
});

test('a socket that was removed is made again at the next reload', async () => {
  await using sandbox = await notes();
  using folder = temporaryFolder();
  const socketPath = join(folder.path, 'rowsync.sock');
  await using daemon = startDaemon(sandbox, `http: { listen: "${socketPath}" }\n`);
  await daemon.idle();
  rmSync(socketPath);

  daemon.reload();
  await daemon.elapse(1);

  expect((await ask({ socketPath }, '/livez')).status).toBe(200);
  expect(daemon.events('http.listening')).toHaveLength(2);
  daemon.reload();
  await daemon.elapse(1);
  expect((await ask({ socketPath }, '/livez')).status).toBe(200);
  expect(daemon.events('http.listening')).toHaveLength(2);
});

test('answers on a unix socket that its group may use, also after a crash left one behind', async () => {
  using folder = temporaryFolder();
  const socketPath = join(folder.path, 'rowsync.sock');
  const abandoned = createServer().listen(socketPath);
  await new Promise((resolve) => abandoned.once('listening', resolve));
  await using sandbox = await notes();
  {
    await using daemon = startDaemon(sandbox, `http: { listen: "${socketPath}" }\n`);
    await daemon.idle();

    expect((await ask({ socketPath }, '/livez')).status).toBe(200);
    expect(statSync(socketPath).mode & 0o777).toBe(0o660);
    // Through a tunnel, a browser comes with the name and the port of the tunnel's end.
    expect((await ask({ socketPath }, '/', { headers: { Host: 'localhost:9000' } })).status).toBe(200);
    expect((await ask({ socketPath }, '/', { headers: { Host: 'evil.example:9000' } })).status).toBe(421);
  }
  expect(existsSync(socketPath)).toBe(false);
  abandoned.close();
});

test('is not ready while the credentials are refused, and says why', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  const stranger = await ask({ port: portOf(daemon) }, '/readyz');
  const reader = await ask({ port: portOf(daemon) }, '/readyz', asReader(daemon));

  expect(stranger).toMatchObject({ status: 503, body: 'person credentials.refused\n' });
  expect(reader).toMatchObject({ status: 503, body: expect.stringContaining('403') as string });
});

test('a changed configuration that is refused is a problem on every surface, until one is taken', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const where = { port: portOf(daemon) };

  daemon.reload('schedule: { pull: never }\n');
  await daemon.idle();

  expect(JSON.parse((await ask(where, '/status', asReader(daemon))).body)).toMatchObject({
    status: expect.stringContaining('next restart would fail') as string,
    problems: [{ code: 'config.refused', severity: 'person', since: '2026-06-01T12:01:00Z' }],
  });
  expect(await ask(where, '/readyz', asReader(daemon))).toMatchObject({
    status: 200,
    body: expect.stringMatching(/^ok\nperson config.refused The changed configuration is not in use/) as string,
  });
  expect((await ask(where, '/metrics')).body).toContain('rowsync_problems{code="config.refused",severity="person"} 1');
  const { cookie } = await signIn(daemon);
  expect((await ask(where, '/', { headers: { Cookie: cookie, Host: `127.0.0.1:${where.port}` } })).body).toContain(
    '1 thing needs attention',
  );
  daemon.reload('http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  expect(daemon.events('problem.solved')).toMatchObject([{ code: 'config.refused' }]);
});

test.each(['moved away', 'exchanged'])(
  'writes nothing to a replica that was %s, and is not ready meanwhile',
  async (how) => {
    await using sandbox = await notes();
    await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
    await daemon.idle();
    const [path, moved] = [join(daemon.folder, 'replica.db'), join(daemon.folder, 'moved.db')];
    renameSync(path, moved);
    if (how === 'exchanged') copyFileSync(moved, path);

    daemon.cycle();
    await daemon.seconds(1);

    const { status, body } = await ask({ port: portOf(daemon) }, '/readyz', asReader(daemon));
    expect(status).toBe(503);
    expect(body).toContain('was moved, deleted or exchanged');
    expect(daemon.events('circuit.opened')).toMatchObject([{ code: 'replica.path', reason: 'replica' }]);
    renameSync(moved, path);
    daemon.cycle();
    await daemon.seconds(1);
    expect((await ask({ port: portOf(daemon) }, '/readyz')).status).toBe(200);
    expect(daemon.events('work.finished').map(({ work, outcome }) => [work, outcome])).toEqual([
      ['pull', 'done'],
      ['pull', 'failed'],
      ['pull', 'done'],
    ]);
  },
);

test('says in its status what failed and what to do, in words that commands can show', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  const { body } = await ask({ port: portOf(daemon) }, '/status', asReader(daemon));

  expect(JSON.parse(body)).toMatchObject({
    status: expect.stringMatching(/^asking who is calling: the origin answered 403/) as string,
    failure: {
      code: 'origin.forbidden',
      message: expect.stringContaining('403') as string,
      hint: expect.stringContaining('token') as string,
      cause: 'auth',
      count: 1,
    },
  });
});

test('no answer has the token or the value of a row', async () => {
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const where = { port: portOf(daemon) };
  const answers = async (): Promise<string> => {
    const all = await Promise.all(
      ['/livez', '/readyz', '/status', '/metrics', '/'].map((path) => ask(where, path, asReader(daemon))),
    );
    return JSON.stringify(all) + JSON.stringify(daemon.events());
  };

  const well = await answers();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);
  const refused = await answers();

  expect(well).toContain('steady');
  expect(refused).toContain('origin.forbidden');
  for (const secret of [sandbox.token, CANARY]) expect(`${well}${refused}`).not.toContain(secret);
});

test('moves to another address on reload, and stays where it is when that is taken', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const bound = taken.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  await using sandbox = await notes();
  await using daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  const first = portOf(daemon);
  const stopDelay = vi.spyOn(LoopDelay.prototype, 'stop');

  daemon.reload(`http: { listen: "127.0.0.1:${port}" }\n`);
  await daemon.elapse(1);
  expect(stopDelay).toHaveBeenCalledTimes(1);
  expect(daemon.events('config.refused')).toMatchObject([{ code: 'daemon.listen' }]);
  expect((await ask({ port: first }, '/livez')).status).toBe(200);

  daemon.reload('http: { listen: false }\n');
  await daemon.elapse(1);
  expect(daemon.events('config.reloaded')).toHaveLength(1);
  await expect(ask({ port: first }, '/livez')).rejects.toThrow('ECONNREFUSED');
  taken.close();
});

test('an address that is taken ends the start with a sentence', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'no socket');
  writeFileSync(path, 'somebody else’s');
  await using sandbox = await notes();

  const daemon = startDaemon(sandbox, `http: { listen: "${path}" }\n`);

  await expect(daemon.stop()).rejects.toMatchObject({ code: 'daemon.listen' });
});

test.each([
  ['127.0.0.1', '127.0.0.1:80', true],
  ['[::1]', '[::1]:80', true],
  ['127.0.0.1:80', '127.0.0.1:80', true],
  ['127.0.0.1', '127.0.0.1:8787', false],
  ['127.0.0.1:8787', '127.0.0.1:80', false],
  ['evil.example', '127.0.0.1:80', false],
])('the host %s means a server at %s: %s', (host, name, expected) => {
  expect(isOwnHost(host, [name])).toBe(expected);
});
