/** Proxies in front of the origin, and authorities of one's own, over real sockets and real TLS. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin, type OriginSettings } from '../../src/origin/client.ts';
import { makeCertificates, type Certificates } from '../support/certificates.ts';
import { testClock } from '../support/clock.ts';
import { http, startFaultServer } from '../support/fault-server.ts';
import { startTestProxy, type TestProxy } from '../support/proxy.ts';
import { startTestSandbox } from '../support/sandbox.ts';

const PASSWORD = 'proxy-password-7f3a9c';
const LOGIN = { user: 'rowsync', password: PASSWORD };
const ONCE = { retry: { attemptsMax: 1, baseWaitMs: 1, waitMsMax: 1, totalMs: 60_000 } };
const NOTE = { name: 'Note', alias: '' };
const PHOTO = {
  tables: [
    {
      name: 'Note',
      columns: [
        { name: 'Title', type: 'Text' },
        { name: 'File', type: 'Attachment' },
      ],
      rows: [{ Title: 'a' }, { Title: 'b' }],
    },
  ],
} as const;

let own: Certificates;
let stranger: Certificates;

beforeAll(() => {
  own = makeCertificates();
  stranger = makeCertificates();
});

afterAll(() => {
  own[Symbol.dispose]();
  stranger[Symbol.dispose]();
});

function open(at: { url: string; token?: string }, changes: Partial<OriginSettings>): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: at.token ?? 'a-token-of-the-origin' } as const;
  const settings = { url: at.url, database: '21995', credentials, limits: ONCE, ...changes };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

async function failureOf(work: Promise<unknown>): Promise<RowsyncError> {
  const thrown: unknown = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown instanceof RowsyncError) return thrown;
  throw new Error('the call did not fail as it must', { cause: thrown });
}

/** Everything that a person or a log may see of an error. */
function seen(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const hint = 'hint' in error ? String(error.hint) : '';
  return [error.name, error.message, error.stack, hint, seen(error.cause)].join('\n');
}

const throughOf = (proxy: TestProxy, login: typeof LOGIN | null = null) => ({ proxy: { url: proxy.url, login } });

describe('a proxy', () => {
  test.each(['http', 'https'] as const)('of %s is gone through to an origin that speaks https', async (scheme) => {
    await using sandbox = await startTestSandbox({ ...PHOTO, tls: own });
    await using proxy = await startTestProxy({ login: LOGIN, ...(scheme === 'https' ? { tls: own } : {}) });
    await using origin = open(sandbox, {
      database: sandbox.database,
      authorities: own.ca,
      ...throughOf(proxy, LOGIN),
    });

    const user = await origin.user();

    expect(user).toMatchObject({ kind: 'ok', value: { email: sandbox.user.email } });
    expect(proxy.asked).toEqual([`CONNECT ${new URL(sandbox.url).host}`]);
    expect(proxy.sent.length).toBeGreaterThan(100);
    expect(proxy.sent.includes(sandbox.token)).toBe(false);
    expect(JSON.stringify(proxy.headers)).not.toContain(sandbox.token);
  });

  test('is asked for a way to an origin that speaks http, too', async () => {
    await using sandbox = await startTestSandbox(PHOTO);
    await using proxy = await startTestProxy();
    await using origin = open(sandbox, { database: sandbox.database, ...throughOf(proxy) });

    expect(await origin.user()).toMatchObject({ kind: 'ok' });

    expect(proxy.asked).toEqual([`CONNECT ${new URL(sandbox.url).host}`]);
  });

  test('carries attached files up and down', async () => {
    await using sandbox = await startTestSandbox({ ...PHOTO, tls: own });
    await using proxy = await startTestProxy();
    await using origin = open(sandbox, { database: sandbox.database, authorities: own.ca, ...throughOf(proxy) });
    const id = sandbox.store.rows('Note')[0]?.id ?? 0;
    const bytes = Buffer.alloc(300_000, 'file');
    const file = { contentId: 'f1', name: 'a.bin', type: 'application/octet-stream', bytes };
    const rows = [{ id, cells: [{ name: 'File', type: 'Attachment', value: 'cid:f1' }] }] as const;

    await origin.update({ table: NOTE, rows, zone: 'UTC', files: [file] });
    const chunks: Uint8Array[] = [];
    const asked = { table: NOTE, column: { name: 'File', alias: '' }, record: { id } };
    await origin.attachment(asked, (chunk) => void chunks.push(chunk));

    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${new URL(sandbox.url).host}`]));
  });

  test('that wants a login and gets none, or a wrong one, is named with what it answered', async () => {
    await using sandbox = await startTestSandbox(PHOTO);
    await using proxy = await startTestProxy({ login: LOGIN });
    for (const login of [null, { user: 'rowsync', password: `${PASSWORD}-old` }]) {
      await using origin = open(sandbox, throughOf(proxy, login));

      const error = await failureOf(origin.user());

      expect(error).toMatchObject({ kind: 'auth', code: 'origin.proxy' });
      expect(error.message).toContain(`the proxy ${proxy.host} answered 407`);
      expect(error.hint).toMatch(/user and passwordFile under origin\.proxy/);
      expect(seen(error)).not.toContain(PASSWORD);
      expect(seen(error)).not.toContain(btoa(`rowsync:${PASSWORD}-old`));
    }
    expect(sandbox.requests.all).toEqual([]);
  });

  test.each([
    [403, /allow CONNECT to/, 1],
    [502, /cannot reach/, 2],
    [504, /cannot reach/, 2],
  ] as const)('that answers %i with a page is named, and no row is touched', async (status, hint, askedCount) => {
    await using sandbox = await startTestSandbox(PHOTO);
    const page = '<html><body>Blocked by the firewall';
    const answer = http(status, { 'Content-Type': 'text/html' }, page).toString('latin1');
    await using proxy = await startTestProxy({ answer });
    const retry = { attemptsMax: 2, baseWaitMs: 1, waitMsMax: 1, totalMs: 60_000 };
    await using origin = open(sandbox, { ...throughOf(proxy), limits: { retry } });
    const rows = [{ id: null, cells: [{ name: 'Title', type: 'Text', value: 'new' }] }] as const;

    const error = await failureOf(origin.create({ table: NOTE, rows, zone: 'UTC' }));

    // Certain that nothing happened: never of an unknown outcome.
    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.proxy' });
    expect(error.message).toContain(`the proxy ${proxy.host} answered ${status}`);
    expect(error.hint).toMatch(hint);
    expect(proxy.asked).toHaveLength(askedCount);
    expect(sandbox.requests.all).toEqual([]);
  });

  test.each([
    ['is not there', null, /no connection to the proxy 127\.0\.0\.1:\d+ \(refused/],
    ['cuts the line', 'reset', /no connection to the proxy .* \(closed by the other side\)/],
    ['never answers', 'hang', /no connection to the proxy .* \(no reply in time\)/],
    ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', /no connection to the proxy/],
  ] as const)('that %s is named, not the origin', async (_title, answer, message) => {
    const proxy = await startTestProxy(answer === null ? {} : { answer });
    if (answer === null) await proxy[Symbol.asyncDispose]();
    await using origin = open(
      { url: 'https://origin.invalid' },
      { ...throughOf(proxy), limits: { ...ONCE, connectTimeoutMs: 300, deadlineMs: 5_000 } },
    );

    const error = await failureOf(origin.user());
    if (answer !== null) await proxy[Symbol.asyncDispose]();

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.proxy' });
    expect(error.message).toMatch(message);
  });

  test('of https whose certificate does not hold is sent no login', async () => {
    await using proxy = await startTestProxy({ login: LOGIN, tls: stranger });
    await using origin = open({ url: 'https://origin.invalid' }, { authorities: own.ca, ...throughOf(proxy, LOGIN) });

    const error = await failureOf(origin.user());

    expect(error).toMatchObject({ kind: 'originRefused', code: 'origin.tls' });
    expect(error.message).toContain(`the TLS handshake with the proxy ${proxy.host} failed`);
    expect(proxy.asked).toEqual([]);
  });

  test('does not keep the certificate of the origin from being checked', async () => {
    await using server = await startFaultServer(() => http(200, {}, '{}'), { tls: stranger });
    await using proxy = await startTestProxy();
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    await using origin = open(server, { authorities: own.ca, ...throughOf(proxy) });

    const error = await failureOf(origin.user());
    vi.unstubAllEnvs();

    expect(error).toMatchObject({ kind: 'originRefused', code: 'origin.tls' });
    expect(error.message).toContain(`the TLS handshake with ${server.host} failed`);
    expect(error.hint).toMatch(/origin\.caFile/);
    expect(server.requests).toEqual([]);
  });

  test('that goes away in the middle of an answer leaves a change of unknown outcome', async () => {
    await using proxy = await startTestProxy();
    await using server = await startFaultServer(() => 'reset');
    await using origin = open(server, throughOf(proxy));
    const rows = [{ id: null, cells: [{ name: 'Title', type: 'Text', value: 'new' }] }] as const;

    const error = await failureOf(origin.create({ table: NOTE, rows, zone: 'UTC' }));

    expect(error.code).toBe('origin.unknownOutcome');
    expect(server.requests).toHaveLength(1);
  });

  test('leaves the time-outs and the number of connections as they are', async () => {
    await using server = await startFaultServer(() => 'hang');
    await using proxy = await startTestProxy();
    await using origin = open(server, {
      ...throughOf(proxy),
      concurrency: 2,
      limits: { ...ONCE, headersTimeoutMs: 500 },
    });

    const errors = await Promise.all([1, 2, 3, 4].map(() => failureOf(origin.user())));

    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['origin.timeout']));
    expect(server.connectionCount).toBeLessThanOrEqual(4); // a connection that hung is not used again
  });

  test('is left with the connections when the origin is closed', async () => {
    await using sandbox = await startTestSandbox(PHOTO);
    await using proxy = await startTestProxy({ answer: 'hang' });
    const origin = open(sandbox, throughOf(proxy));
    const asked = failureOf(origin.user());
    await vi.waitFor(() => expect(proxy.asked).toHaveLength(1));

    await origin.close();

    expect((await asked).code).toBe('origin.stopped');
  });
});

describe("an authority of one's own", () => {
  test('is trusted beside the usual ones', async () => {
    await using sandbox = await startTestSandbox({ ...PHOTO, tls: own });
    await using origin = open(sandbox, { database: sandbox.database, authorities: own.ca });

    expect(await origin.user()).toMatchObject({ kind: 'ok' });
  });

  test('vouches for nobody else', async () => {
    await using server = await startFaultServer(() => http(200, {}, '{}'), { tls: stranger });
    await using origin = open(server, { authorities: own.ca });

    expect(await failureOf(origin.user())).toMatchObject({ code: 'origin.tls' });

    expect(server.requests).toEqual([]);
  });
});
