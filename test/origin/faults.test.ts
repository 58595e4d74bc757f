/**
 * Failures below HTTP, and time-outs: cut and endless bodies, resets, silence, redirects, bombs. Complete answers are in
 * answers.test.ts.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { faultFailure } from '../../src/origin/request-errors.ts';
import { openOrigin, type OriginSettings } from '../../src/origin/client.ts';
import type { OriginLimits } from '../../src/origin/limits.ts';
import { testClock, type TestClock } from '../support/clock.ts';
import { http, json, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';

const PAGE = {
  table: { name: 'Customer', alias: 't_7' },
  columns: [{ name: 'Name', type: 'Text' }],
  query: { columns: ['*'], sort: [] },
} as const;
const ROWS = [{ '@row.id': 1, Name: 'a' }];

interface Outcome {
  readonly error: RowsyncError | undefined;
  readonly counters: { requestCount: number; retryCount: number };
  readonly clock: TestClock;
}

/** Selects one page at `url` and closes the origin again. */
async function selectAt(
  url: string,
  settings: { limits?: Partial<OriginLimits>; clock?: TestClock } & Partial<OriginSettings> = {},
): Promise<Outcome> {
  const { clock = testClock(), ...rest } = settings;
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const origin = openOrigin({ url, database: '21995', credentials, ...rest }, { clock, log: silentLogger });
  try {
    const answer = await origin.select(PAGE);
    expect(answer).toMatchObject({ kind: 'ok', value: { ids: [1] } });
    return { error: undefined, counters: origin.counters(), clock };
  } catch (error) {
    return { error: error as RowsyncError, counters: origin.counters(), clock };
  } finally {
    await origin.close();
  }
}

/** Selects one page from a server that answers so every time. */
async function selectFrom(answer: FaultAnswer, limits: Partial<OriginLimits> = {}): Promise<Outcome> {
  await using server = await startFaultServer(() => answer);
  return await selectAt(server.url, { limits });
}

function headed(headers: string, body: string): Buffer {
  return Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`);
}

const JSON_TYPE = 'application/json';
const TEXT = JSON.stringify(ROWS);

test('something that is not HTTP is no answer of the API', async () => {
  const { error, counters } = await selectFrom(Buffer.from('220 mail.example.org ESMTP\r\n'));

  expect(error).toMatchObject({ kind: 'wireFormat', code: 'origin.notApi' });
  expect(error?.message).toMatch(/^select of "Customer": .*not HTTP/);
  expect(counters).toMatchObject({ requestCount: 1, retryCount: 0 });
});

describe('redirects', () => {
  test.each([301, 302, 303, 307, 308])('with %i are never followed: the other server sees nothing', async (status) => {
    await using other = await startFaultServer(() => json(ROWS));
    await using server = await startFaultServer(() => http(status, { Location: `${other.url}/secure/x?token=abc` }));

    const { error, counters } = await selectAt(server.url);

    expect(error).toMatchObject({ kind: 'originRefused', code: 'origin.redirect' });
    expect(error?.message).toContain(`a redirect to ${other.host}`);
    expect(error?.message).not.toContain('abc');
    expect(counters.requestCount).toBe(1);
    expect(other.connectionCount).toBe(0);
  });

  test.each([
    ['the same host', '/login'],
    ['nowhere', null],
    ['what is no URL', 'http://['],
  ])('to %s are errors too', async (_title, location) => {
    const { error } = await selectFrom(http(302, { Location: location }));

    expect(error).toMatchObject({ code: 'origin.redirect' });
    expect(error?.message).toContain('another of its own addresses');
  });
});

describe('failures that pass: asked again', () => {
  test.each<[string, FaultAnswer]>([
    ['a reset before the answer', 'reset'],
    ['an end before the answer', { bytes: Buffer.alloc(0), ending: 'end' }],
    ['a reset in the headers', { bytes: Buffer.from('HTTP/1.1 200 OK\r\nConte'), ending: 'reset' }],
    ['a reset in the body', { bytes: headed('Content-Length: 500', TEXT), ending: 'reset' }],
    ['a body that ends early', { bytes: headed('Content-Length: 500', TEXT), ending: 'end' }],
    [
      'a chunked body without its end',
      { bytes: headed('Transfer-Encoding: chunked', '5\r\n[{"@r\r\n'), ending: 'end' },
    ],
    ['a Content-Length that cuts the body', { bytes: headed('Content-Length: 9', TEXT), ending: 'end' }],
    ['a chunk without a size', headed('Transfer-Encoding: chunked', 'zz\r\n[]')],
    ['two lengths', headed('Content-Length: 2\r\nContent-Length: 3', '[] ')],
  ])('%s, then the page', async (_title, fault) => {
    await using server = await startFaultServer((nth) => (nth === 1 ? fault : json(ROWS)));

    const { error, counters, clock } = await selectAt(server.url);

    expect(error).toBeUndefined();
    expect(server.requests).toHaveLength(2);
    expect(counters).toMatchObject({ requestCount: 2, retryCount: 1 });
    // Half of the first ceiling: the clock draws 0.5.
    expect(clock.waits).toEqual([250]);
  });

  test('six times in all, with waits that double, and the error says so', async () => {
    const { error, counters, clock } = await selectFrom(http(503, {}));

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.busy', exitCode: 75 });
    expect(error?.message).toBe('select of "Customer": the origin answered 503 without a body (after 6 attempts)');
    expect(counters).toMatchObject({ requestCount: 6, retryCount: 5 });
    expect(clock.waits).toEqual([250, 500, 1_000, 2_000, 4_000]);
  });

  test('with the code of the last failure', async () => {
    await using server = await startFaultServer((nth) => (nth < 6 ? http(503, {}) : 'reset'));

    const { error } = await selectAt(server.url);

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.unreachable' });
    expect(error?.message).toMatch(/closed by the other side\) \(after 6 attempts\)$/);
  });

  test('not beyond a failure that does not pass', async () => {
    await using server = await startFaultServer((nth) => (nth === 1 ? http(503, {}) : http(401, {})));

    const { error } = await selectAt(server.url);

    expect(error).toMatchObject({ code: 'origin.unauthorized' });
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    ['seconds', '7', [7_250]],
    ['a date', 'Thu, 01 Jan 2026 00:01:00 GMT', [60_250]],
    ['a date in the past', 'Thu, 01 Jan 2015 00:00:00 GMT', [250]],
    ['what makes no sense', 'soon', [250]],
  ])('after the time the origin asks for in %s', async (_title, retryAfter, waits) => {
    await using server = await startFaultServer((nth) =>
      nth === 1 ? http(429, { 'Retry-After': retryAfter }) : json(ROWS),
    );

    const { error, clock } = await selectAt(server.url);

    expect(error).toBeUndefined();
    expect(clock.waits).toEqual(waits);
  });

  test('no more when the origin asks for more time than a call has', async () => {
    const { error, counters, clock } = await selectFrom(http(503, { 'Retry-After': '3600' }));

    expect(error?.message).toBe('select of "Customer": the origin answered 503 without a body; it asks to wait 3600 s');
    expect(counters.requestCount).toBe(1);
    expect(clock.waits).toEqual([]);
  });

  test('by all callers only when the quiet time of one is over', async () => {
    const clock = testClock({ sleepsAdvance: false });
    await using server = await startFaultServer((nth) => (nth === 1 ? http(429, { 'Retry-After': '5' }) : json(ROWS)));
    const credentials = { kind: 'bearer', token: 'a-token' } as const;
    const origin = openOrigin({ url: server.url, database: '1', credentials }, { clock, log: silentLogger });

    const first = origin.select(PAGE);
    await clock.sleeper();
    const others = [origin.select(PAGE), origin.select(PAGE)];
    await Promise.resolve();
    const waits = [...clock.waits];
    clock.advance(5_250);
    await Promise.all([first, ...others]);
    await origin.close();

    // The first waits with its own jitter on top; the others wait for the rest of the quiet time.
    expect(waits).toEqual([5_250, 5_000, 5_000]);
    expect(server.requests).toHaveLength(4);
  });

  test('no more once the time of the call is used up, counted from its first attempt', async () => {
    const clock = testClock();
    await using server = await startFaultServer(() => {
      clock.advance(400);
      return http(503, {});
    });
    const retry = { attemptsMax: 10, baseWaitMs: 200, waitMsMax: 200, totalMs: 1_000 };

    const { error, counters } = await selectAt(server.url, { clock, limits: { retry } });

    // 400, wait 100, 400, wait 100: the third attempt starts at 1,000 and is the last.
    expect(error).toMatchObject({ code: 'origin.busy' });
    expect(counters.requestCount).toBe(3);
  });

  test('while other calls go on: a wait holds no place in the queue', async () => {
    const clock = testClock({ sleepsAdvance: false });
    await using server = await startFaultServer((nth) => (nth === 1 ? http(500, {}) : json(ROWS)));
    const credentials = { kind: 'bearer', token: 'a-token' } as const;
    const settings = { url: server.url, database: '1', credentials, concurrency: 1 };
    const origin = openOrigin(settings, { clock, log: silentLogger });

    const first = origin.select(PAGE);
    await clock.sleeper();
    const second = await origin.select(PAGE);
    clock.advance(1_000);

    expect(second.kind).toBe('ok');
    expect((await first).kind).toBe('ok');
    await origin.close();
  });
});

describe('bounds', () => {
  const once = { attemptsMax: 1, baseWaitMs: 0, waitMsMax: 0, totalMs: 0 };

  test('a body that announces more than the bound is not read', async () => {
    const { error, counters } = await selectFrom({ bytes: headed('Content-Length: 8388609', '['), ending: 'hang' });

    expect(error).toMatchObject({ kind: 'wireFormat', code: 'origin.tooLarge' });
    expect(counters.requestCount).toBe(1);
  });

  test('a body that grows beyond the bound is cut off', async () => {
    let sentBytes = 0;
    const piece = Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`);
    const endless: FaultAnswer = (socket) => {
      socket.write(headed('Transfer-Encoding: chunked', ''));
      const send = (): void => {
        if (socket.destroyed) return;
        sentBytes += piece.length;
        socket.write(piece, send);
      };
      send();
    };

    const { error } = await selectFrom(endless, { wireBytesMax: 1_000_000 });

    expect(error).toMatchObject({ code: 'origin.tooLarge' });
    // What the sockets' buffers hold comes on top of the bound.
    expect(sentBytes).toBeLessThan(20_000_000);
  });

  test('a body of exactly the bound is taken', async () => {
    const { error } = await selectFrom(json(ROWS), { wireBytesMax: TEXT.length, decodedBytesMax: TEXT.length });

    expect(error).toBeUndefined();
  });

  test('200 KB that unpack to 200 MB are refused for less than 120 MB of memory', async () => {
    const bomb = Buffer.concat(Array.from<Buffer>({ length: 200 }).fill(gzipSync(Buffer.alloc(1_000_000, ' '))));
    const before = process.resourceUsage().maxRSS;

    const { error, counters } = await selectFrom(
      http(200, { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' }, bomb),
    );

    expect(bomb.length).toBeLessThan(250_000);
    expect(error).toMatchObject({ code: 'origin.tooLarge' });
    expect(counters.requestCount).toBe(1);
    // maxRSS is the process's peak in KiB.
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(120 * 1_024);
  });

  test('headers that do not come in time end the request', async () => {
    const { error } = await selectFrom('hang', { headersTimeoutMs: 50, retry: once });

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.timeout', exitCode: 75 });
    expect(error?.message).toMatch(/did not answer in time/);
  });

  test('a body that stops in the middle ends the request', async () => {
    const stopping = { bytes: headed('Content-Length: 500', TEXT), ending: 'hang' } as const;

    const { error } = await selectFrom(stopping, { bodyGapTimeoutMs: 50, retry: once });

    expect(error).toMatchObject({ code: 'origin.timeout' });
    expect(error?.message).toMatch(/did not finish its answer in time/);
  });

  test('a body that drips for ever ends with the deadline, although no gap is long', async () => {
    let dripCount = 0;
    const drip: FaultAnswer = (socket) => {
      socket.write(headed('Content-Length: 100000', ''));
      const timer = setInterval(() => {
        dripCount += 1;
        socket.write(' ');
      }, 5);
      socket.on('close', () => clearInterval(timer));
    };

    const { error } = await selectFrom(drip, { deadlineMs: 200, bodyGapTimeoutMs: 5_000, retry: once });

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.timeout' });
    expect(error?.message).toMatch(/within the time allowed \(\d+ bytes had come\)/);
    expect(dripCount).toBeGreaterThan(0);
  });

  test('time-outs are tried again', async () => {
    await using server = await startFaultServer((nth) => (nth === 1 ? 'hang' : json(ROWS)));

    const { error, counters } = await selectAt(server.url, { limits: { deadlineMs: 300 } });

    expect(error).toBeUndefined();
    expect(counters.retryCount).toBeGreaterThan(0);
  });

  test('headers of 100 KB are not an answer of the API', async () => {
    const { error } = await selectFrom(json(ROWS, { 'X-Much': 'x'.repeat(100_000) }));

    expect(error).toMatchObject({ code: 'origin.notApi' });
  });

  test('an interim answer is not taken for the real one', async () => {
    const early = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n');

    const { error } = await selectFrom(Buffer.concat([early, json(ROWS)]));

    expect(error).toBeUndefined();
  });

  test('bytes behind an answer are not taken for the next one', async () => {
    const stray = json([{ '@row.id': 666, Name: 'stray' }]);
    await using server = await startFaultServer((nth) => (nth === 1 ? Buffer.concat([json(ROWS), stray]) : json(ROWS)));
    const credentials = { kind: 'bearer', token: 'a-token' } as const;
    const settings = { url: server.url, database: '1', credentials, concurrency: 1 };
    const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });

    const answers = [await origin.select(PAGE), await origin.select(PAGE), await origin.select(PAGE)];
    await origin.close();

    expect(answers.map((answer) => answer.kind === 'ok' && answer.value.ids)).toEqual([[1], [1], [1]]);
  });
});

describe('no connection', () => {
  test('for want of a descriptor asks for more of them, and does not blame the address', () => {
    const attempted = { what: 'user', host: 'db.example', isChange: false, scrub: (text: string) => text };
    const cause = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });

    const { error, isTransient } = faultFailure(attempted, {
      kind: 'fault',
      reason: 'failed',
      cause,
      isSent: false,
      isAnswered: false,
      receivedBytes: 0,
    });

    expect(error).toMatchObject({
      code: 'origin.unreachable',
      hint: expect.stringContaining('LimitNOFILE=') as string,
    });
    expect(isTransient).toBe(true);
  });

  test('a port where nothing listens is tried six times and named', async () => {
    const server = await startFaultServer(() => 'hang');
    await server.stop();

    const { error, counters } = await selectAt(server.url);

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.unreachable', exitCode: 75 });
    expect(error?.message).toBe(
      `select of "Customer": no connection to ${server.host} (refused: nothing listens there) (after 6 attempts)`,
    );
    expect(error?.hint).toContain(server.host);
    expect(counters.requestCount).toBe(6);
  });

  test('a server that comes back is found again', async () => {
    const first = await startFaultServer(() => json(ROWS));
    const clock = testClock();
    const port = Number(new URL(first.url).port);
    await first.stop();
    let second: Awaited<ReturnType<typeof startFaultServer>> | undefined;
    const waking: TestClock = {
      ...clock,
      sleep: async (ms, signal) => {
        second ??= await startFaultServer(() => json(ROWS), { port });
        await clock.sleep(ms, signal);
      },
    };

    const { error, counters } = await selectAt(first.url, { clock: waking });
    await second?.stop();

    expect(error).toBeUndefined();
    expect(counters.retryCount).toBe(1);
  });

  // The name is reserved for this (RFC 6761): no resolver may know it.
  test('a host name that does not exist is not tried again, and named', async () => {
    const { error } = await selectAt('http://rowsync.invalid', { limits: { connectTimeoutMs: 3_000 } });

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.unreachable' });
    expect(error?.message).toContain('rowsync.invalid');
  });
});

describe('TLS', () => {
  let folder = '';
  let tls = { key: '', cert: '' };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rowsync-tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], { stdio: 'pipe' });
    tls = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('a certificate that nobody signed is refused before anything is sent, and not tried again', async () => {
    await using server = await startFaultServer(() => json(ROWS), { tls });

    const { error, counters } = await selectAt(server.url);

    expect(error).toMatchObject({ kind: 'originRefused', code: 'origin.tls', exitCode: 1 });
    expect(error?.message).toMatch(/TLS handshake with 127\.0\.0\.1:\d+ failed \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/);
    expect(error?.hint).toContain('origin.caFile');
    expect(counters.requestCount).toBe(1);
    expect(server.requests).toHaveLength(0);
  });

  test('https to a port that speaks http is a failed handshake with a hint at the scheme', async () => {
    await using server = await startFaultServer(() => json(ROWS), { answersAnything: true });

    const { error } = await selectAt(server.url.replace('http:', 'https:'));

    expect(error).toMatchObject({ code: 'origin.tls' });
    expect(error?.hint).toContain('http://');
  });

  test('http to a port that speaks TLS is no answer', async () => {
    await using server = await startFaultServer(() => json(ROWS), { tls });

    const { error } = await selectAt(server.url.replace('https:', 'http:'));

    expect(error?.code).toMatch(/^origin\.(?:notApi|unreachable)$/);
    expect(server.requests).toHaveLength(0);
  });
});
