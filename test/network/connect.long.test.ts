/** No connection at all. Refused, unknown, and into the void, with the other family of addresses still working. */
import dns from 'node:dns';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { json, startFaultServer } from '../support/fault-server.ts';
import { CALLS, endingOf, type CallName } from '../support/network.ts';

const ALL = Object.keys(CALLS) as readonly CallName[];
const WHOLE = json([{ '@row.id': 1, Title: 'a', status: 200, id: 1 }]);
const retry = { attemptsMax: 2, baseWaitMs: 1, waitMsMax: 1, totalMs: 60_000 };

/** A port that takes no connection and refuses none: packets to it vanish. */
interface Void {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * A thread listens and sleeps for ever. Once its line of connections is full, the kernel drops whoever comes: nobody is
 * answered, as behind a firewall that says nothing.
 */
async function startVoid(host: string): Promise<Void> {
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const server = require('node:net').createServer();
    server.listen({ host: workerData, port: 0, backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    });`;
  const worker = new Worker(source, { eval: true, workerData: host });
  const [port] = (await once(worker, 'message')) as [number];
  const waiting: Socket[] = [];
  // Connections are made until one is not answered any more; the number that fit differs between kernels.
  for (let isFull = false; !isFull && waiting.length < 64;) {
    const socket = connect({ host, port });
    socket.on('error', () => undefined);
    waiting.push(socket);
    // Two waits: where this process itself stood still, an answer that is there already is read between them.
    isFull = await Promise.race([
      once(socket, 'connect').then(() => false),
      wait(250)
        .then(() => wait(250))
        .then(() => true),
    ]);
  }
  return {
    port,
    stop: async () => {
      for (const socket of waiting) socket.destroy();
      await worker.terminate();
    },
  };
}

describe('a void', () => {
  let dark: Void;
  beforeAll(async () => {
    dark = await startVoid('127.0.0.1');
  });
  afterAll(() => dark.stop());

  test.concurrent.each(ALL)('ends %s in its time, tried again because nothing was sent', async (call) => {
    const startedAt = performance.now();

    const ending = await endingOf(
      `http://127.0.0.1:${dark.port}`,
      call,
      { connectTimeoutMs: 200, retry },
      /can be reached/,
    );

    expect(ending).toBe('originDown origin.unreachable');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('ends with the deadline where that is shorter', async () => {
    const ending = await endingOf(`http://127.0.0.1:${dark.port}`, 'upsert', { deadlineMs: 100, retry });

    expect(ending).toBe('originDown origin.timeout');
  });
});

describe('refused', () => {
  test.each(ALL)('%s, by a port where nothing listens', async (call) => {
    const server = await startFaultServer(() => 'hang');
    await server.stop();

    expect(await endingOf(server.url, call, { retry }, /can be reached/)).toBe('originDown origin.unreachable');
  });
});

/** Lets a name stand for these addresses, as a name server with both families would. */
function answerNames(addresses: readonly { readonly address: string; readonly family: 4 | 6 }[]): void {
  const lookup = ((_host: string, options: { all?: boolean }, callback: (...args: unknown[]) => void) => {
    if (options.all === true) callback(null, addresses);
    else callback(null, addresses[0]?.address, addresses[0]?.family);
  }) as unknown as typeof dns.lookup;
  vi.spyOn(dns, 'lookup').mockImplementation(lookup);
}

describe('a name with addresses of both families', () => {
  test('is reached by IPv4 where IPv6 is refused', async () => {
    await using server = await startFaultServer(() => WHOLE);
    answerNames([
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]);

    const ending = await endingOf(server.url.replace('127.0.0.1', 'two.example'), 'upsert');
    vi.restoreAllMocks();

    expect(ending).toBe('done');
    expect(server.requests).toHaveLength(1);
  });

  test('is reached by IPv4 where IPv6 leads into a void, with one request', async () => {
    const dark = await startVoid('::1');
    await using server = await startFaultServer(() => WHOLE, { port: dark.port });
    answerNames([
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]);

    const ending = await endingOf(server.url.replace('127.0.0.1', 'two.example'), 'upsert');
    vi.restoreAllMocks();
    await dark.stop();

    expect(ending).toBe('done');
    expect(server.requests).toHaveLength(1);
  });
});

describe('a name', () => {
  const fails = (code: string): void => {
    const lookup = ((_host: string, _options: unknown, callback: (error: Error) => void) =>
      callback(
        Object.assign(new Error(`getaddrinfo ${code}`), { code, syscall: 'getaddrinfo' }),
      )) as unknown as typeof dns.lookup;
    vi.spyOn(dns, 'lookup').mockImplementation(lookup);
  };

  test.each([
    ['ENOTFOUND', /spelling of origin\.url.*getent hosts two\.example\)/],
    ['EAI_AGAIN', /can be reached/],
    ['EAI_FAIL', /can be reached/],
  ])('that the resolver answers with %s is no connection, and says what to look at', async (code, hint) => {
    fails(code);

    const endings = await Promise.all(ALL.map((call) => endingOf('http://two.example', call, { retry }, hint)));
    vi.restoreAllMocks();

    expect(new Set(endings)).toEqual(new Set(['originDown origin.unreachable']));
  });
});
