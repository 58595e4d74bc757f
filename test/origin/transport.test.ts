/**
 * One exchange: its time-outs and bounds, what a receiver takes, and what is known of a request that was given up. What
 * a failed exchange means is in request-errors.test.ts.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { ORIGIN_LIMITS } from '../../src/origin/limits.ts';
import { openTransport, type Receiver, type Transport, type WireRequest } from '../../src/origin/transport.ts';
import { testClock } from '../support/clock.ts';
import { http, json, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';
import { headed, PAGE, ROWS, selectAt, selectFrom } from '../support/select-page.ts';

const TEXT = JSON.stringify(ROWS);

describe('bounds', () => {
  const ONE_ATTEMPT = { attemptsMax: 1, baseWaitMs: 0, waitMsMax: 0, totalMs: 0 };

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
      http(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, bomb),
    );

    expect(bomb.length).toBeLessThan(250_000);
    expect(error).toMatchObject({ code: 'origin.tooLarge' });
    expect(counters.requestCount).toBe(1);
    // maxRSS is the process's peak in KiB.
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(120 * 1_024);
  });

  test('headers that do not come in time end the request', async () => {
    const { error } = await selectFrom('hang', { headersTimeoutMs: 50, retry: ONE_ATTEMPT });

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.timeout', exitCode: 75 });
    expect(error?.message).toMatch(/did not answer in time/);
  });

  test('a body that stops in the middle ends the request', async () => {
    const stopping = { bytes: headed('Content-Length: 500', TEXT), ending: 'hang' } as const;

    const { error } = await selectFrom(stopping, { bodyGapTimeoutMs: 50, retry: ONE_ATTEMPT });

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

    const { error } = await selectFrom(drip, { deadlineMs: 200, bodyGapTimeoutMs: 5_000, retry: ONE_ATTEMPT });

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

/** Connections to a server, and a way to send to it. */
function open(url: string): Transport & AsyncDisposable {
  const transport = openTransport(url, ORIGIN_LIMITS, 2);
  return Object.assign(transport, { [Symbol.asyncDispose]: () => transport.destroy() });
}

const GET: WireRequest = { method: 'GET', path: '/x', headers: [] };

/** A server that answers only when it is told to. */
async function startSlowServer() {
  const arrived = Promise.withResolvers<Socket>();
  const server = await startFaultServer(() => (socket) => arrived.resolve(socket));
  return {
    url: server.url,
    /** The connection of the first request, once that has arrived. */
    arrived: arrived.promise,
    answer: async () => void (await arrived.promise).write(json(ROWS)),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

describe('a request that is given up', () => {
  test('before it is sent was certainly not sent', async () => {
    await using server = await startFaultServer(() => json(ROWS));
    await using transport = open(server.url);

    const result = await transport.send({ ...GET, signal: AbortSignal.abort() });

    expect(result).toMatchObject({ kind: 'fault', reason: 'stopped', isSent: false, isAnswered: false });
    expect(server.requests).toEqual([]);
  });

  test('after it was sent may have arrived, and its connection is closed', async () => {
    await using server = await startSlowServer();
    await using transport = open(server.url);
    const stopping = new AbortController();
    const sending = transport.send({ ...GET, signal: stopping.signal });
    const socket = await server.arrived;

    stopping.abort();

    expect(await sending).toMatchObject({ kind: 'fault', reason: 'stopped', isSent: true, isAnswered: false });
    await once(socket, 'close');
  });

  test('is waited for where that is wanted, and its answer is taken', async () => {
    await using server = await startSlowServer();
    await using transport = open(server.url);
    const stopping = new AbortController();
    const sending = transport.send({ ...GET, signal: stopping.signal, stopGraceMs: 60_000 });
    await server.arrived;

    stopping.abort();
    await server.answer();

    expect(await sending).toMatchObject({ kind: 'answer', status: 200 });
  });

  test('is not waited for longer than that', async () => {
    await using server = await startSlowServer();
    await using transport = open(server.url);
    const stopping = new AbortController();
    const sending = transport.send({ ...GET, signal: stopping.signal, stopGraceMs: 20 });
    await server.arrived;

    stopping.abort();

    expect(await sending).toMatchObject({ kind: 'fault', reason: 'stopped', isSent: true });
  });

  test('by closing all connections has a cause', async () => {
    await using server = await startSlowServer();
    const transport = open(server.url);
    const sending = transport.send(GET);
    await server.arrived;

    await transport.destroy();

    expect(await sending).toMatchObject({
      kind: 'fault',
      reason: 'failed',
      isSent: true,
      cause: expect.any(Error) as Error,
    });
  });
});

test('a request whose connection could not be made was certainly not sent', async () => {
  const server = await startFaultServer(() => 'hang');
  await server.stop();
  await using transport = open(server.url);

  expect(await transport.send(GET)).toMatchObject({
    kind: 'fault',
    reason: 'failed',
    isSent: false,
    isAnswered: false,
  });
});

test.each<[string, FaultAnswer, { isAnswered: boolean; receivedBytes: number }]>([
  ['before its answer', 'reset', { isAnswered: false, receivedBytes: 0 }],
  [
    'in the middle of its answer',
    { bytes: headed('Content-Length: 500', TEXT), ending: 'reset' },
    { isAnswered: true, receivedBytes: TEXT.length },
  ],
])('a request that is cut %s may have arrived', async (_when, answer, expected) => {
  await using server = await startFaultServer(() => answer);
  await using transport = open(server.url);

  const result = await transport.send(GET);

  expect(result).toMatchObject({ kind: 'fault', reason: 'failed', isSent: true, isAnswered: expected.isAnswered });
  expect(server.requests).toHaveLength(1);
});

describe('a receiver', () => {
  const receiving = (changes: Partial<Receiver> = {}) => {
    const pieces: string[] = [];
    const receiver: Receiver = {
      bytesMax: 1_000,
      accepts: (status) => status === 200,
      write: (chunk) => void pieces.push(Buffer.from(chunk).toString()),
      ...changes,
    };
    return { pieces, receiver };
  };

  test('takes the body piece by piece, and nothing is kept in memory', async () => {
    await using server = await startFaultServer(() => http(200, {}, 'a file'));
    await using transport = open(server.url);
    const { pieces, receiver } = receiving();

    const result = await transport.send({ ...GET, receiver });

    expect(pieces.join('')).toBe('a file');
    expect(result).toMatchObject({ kind: 'answer', status: 200, receivedBytes: 6 });
    expect(result.kind === 'answer' && result.body.length).toBe(0);
  });

  test('that does not want an answer leaves its body to the caller', async () => {
    await using server = await startFaultServer(() => http(404, {}, 'no such file'));
    await using transport = open(server.url);
    const { pieces, receiver } = receiving();

    const result = await transport.send({ ...GET, receiver });

    expect(pieces).toEqual([]);
    expect(result.kind === 'answer' && result.body.toString()).toBe('no such file');
  });

  test('is given no more than its bound', async () => {
    const unannounced = Buffer.from(`HTTP/1.1 200 X\r\nConnection: close\r\n\r\n${'x'.repeat(1_001)}`);
    await using server = await startFaultServer(() => ({ bytes: unannounced, ending: 'end' }));
    await using transport = open(server.url);

    expect(await transport.send({ ...GET, ...receiving() })).toMatchObject({ kind: 'fault', reason: 'tooLarge' });
  });

  test('that fails ends the exchange with its own error', async () => {
    await using server = await startFaultServer(() => http(200, {}, 'a file'));
    await using transport = open(server.url);
    const full = new Error('the disk is full');
    const { receiver } = receiving({ write: () => Promise.reject(full) });

    const result = await transport.send({ ...GET, receiver });

    expect(result).toMatchObject({ kind: 'fault', reason: 'receiver', isAnswered: true });
    expect(result.kind === 'fault' && result.cause).toBe(full);
  });
});

describe('a body that is read while it is sent', () => {
  const post = (read: () => AsyncGenerator<Uint8Array>): WireRequest => {
    return { method: 'POST', path: '/x', headers: [], body: { length: 6, read } };
  };

  test('arrives with its length announced', async () => {
    await using server = await startFaultServer(() => json(ROWS));
    await using transport = open(server.url);

    const result = await transport.send(
      post(async function* read() {
        yield Buffer.from('abc');
        yield Buffer.from('def');
      }),
    );

    expect(result).toMatchObject({ kind: 'answer', status: 200 });
    expect(server.requests.map(({ headers, body }) => [headers['content-length'], body.toString()])).toEqual([
      ['6', 'abcdef'],
    ]);
  });

  test('and breaks off never reached the other side as a whole', async () => {
    await using server = await startFaultServer(() => json(ROWS));
    await using transport = open(server.url);
    const gone = new Error('the file is gone');

    const result = await transport.send(
      post(async function* read() {
        yield Buffer.from('abc');
        throw gone;
      }),
    );

    expect(result).toMatchObject({ kind: 'fault', reason: 'cutShort', isSent: false });
    expect(server.requests).toEqual([]);
  });
});
