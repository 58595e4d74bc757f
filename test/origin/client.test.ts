import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import { describe, expect, onTestFinished, test, vi } from 'vitest';

import { RowsyncError } from '../../src/base/errors.ts';
import { createLogger, silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin, type OriginSettings } from '../../src/origin/client.ts';
import { authorizationOf } from '../../src/origin/credentials.ts';
import { testClock, type TestClock } from '../support/clock.ts';
import { http, json, startFaultServer } from '../support/fault-server.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const CUSTOMER = { name: 'Customer', alias: 't_7' };
const COLUMNS = [{ name: 'Name', type: 'Text' }] as const;
const PAGE = { table: CUSTOMER, columns: COLUMNS, query: { columns: ['*'], sort: [{ column: 'Id' }] } };

/** An origin at `url` that is closed at the end of the test. */
function open(
  url: string,
  changes: Partial<OriginSettings> = {},
  clock: TestClock = testClock(),
): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: TOKEN } as const;
  const origin = openOrigin({ url, database: '21995', credentials, ...changes }, { clock, log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

/** Lets the event loop turn, so that what is on its way can arrive. */
async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await new Promise((resolve) => setImmediate(resolve));
}

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/wire/${name}`, import.meta.url), 'utf8');
}

function jsonText(text: string): Buffer {
  return http(200, { 'Content-Type': 'application/json;charset=utf-8', ETag: '"e1"' }, text);
}

describe('methods', () => {
  // Specification, client: 2.1-2, 4-1, 4.1-1, 4.2-1, 4.3-1, 9-1
  test.each([
    [
      'describeDatabase',
      '/secure/api/v2/21995/describe.json',
      'database.json',
      (origin: Origin) => origin.describeDatabase(),
    ],
    [
      'describeTable',
      '/secure/api/v2/21995/t_7/describe.json',
      'table.json',
      (origin: Origin) => origin.describeTable(CUSTOMER),
    ],
    ['user', '/secure/api/v2/21995/user.json', 'user.json', (origin: Origin) => origin.user()],
  ])('%s asks once and reads the answer of the specification', async (_method, path, name, ask) => {
    await using server = await startFaultServer(() => jsonText(fixture(name)));
    await using origin = open(server.url);

    const answer = await ask(origin);

    expect(server.requests.map((request) => `${request.method} ${request.path}`)).toEqual([`GET ${path}`]);
    expect(answer).toMatchObject({ kind: 'ok', etag: '"e1"', receivedBytes: Buffer.byteLength(fixture(name)) });
    expect(answer.kind === 'ok' && 'id' in answer.value && answer.value.id).toBeTruthy();
  });

  // Specification, client: 2.1-3, 2.5-1, 2.5-3, 4-2, 4.4-1, 4.4-4, 4.4-10, 4.4-12, 4.4-14, 4.4-15
  test('select asks for a page and reads its rows in the order of the columns', async () => {
    await using server = await startFaultServer(() =>
      json([
        { '@row.id': 2, '@row.allow': 'Edit,Delete', Id: '2', Name: 'Zoë' },
        { '@row.id': 1, Id: '1', Name: null },
      ]),
    );
    await using origin = open(server.url);
    const query = { columns: ['*', 'Date Created'], sort: [{ column: 'Id', descending: true }], top: 2, skip: 4 };

    const answer = await origin.select({ table: CUSTOMER, columns: COLUMNS, query });

    expect(server.requests[0]?.path).toBe(
      '/secure/api/v2/21995/t_7/select.json?column=*&column=Date%20Created&sort=Id%2F%2FDESC&top=2&skip=4',
    );
    expect(answer).toMatchObject({
      kind: 'ok',
      value: {
        ids: [2, 1],
        unreadable: [],
        rows: [
          { id: 2, allow: 'Edit,Delete', values: ['Zoë'] },
          { id: 1, allow: null, values: [null] },
        ],
      },
    });
  });

  test('retrieve asks by id', async () => {
    await using server = await startFaultServer(() => json([{ '@row.id': 5, Name: 'x' }]));
    await using origin = open(server.url);

    const answer = await origin.retrieve({ table: CUSTOMER, columns: COLUMNS, names: ['Name'], ids: [9, 5] });

    expect(server.requests[0]?.path).toBe('/secure/api/v2/21995/t_7/retrieve.json?column=Name&id=9&id=5');
    expect(answer).toMatchObject({ kind: 'ok', value: { ids: [5] } });
  });

  test('selectUrl is the URL that select asks for', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url);

    await origin.select(PAGE);

    expect(origin.selectUrl(CUSTOMER, PAGE.query)).toBe(server.url + server.requests[0]?.path);
    expect(origin.selectUrl(CUSTOMER, PAGE.query)).not.toContain(TOKEN);
  });

  test('a 64-bit integer arrives with every digit', async () => {
    await using server = await startFaultServer(() => jsonText('[{"@row.id":1,"N":9223372036854775807}]'));
    await using origin = open(server.url);

    const answer = await origin.select({ ...PAGE, columns: [{ name: 'N', type: 'Numeric' }] });

    expect(answer).toMatchObject({ kind: 'ok', value: { rows: [{ values: [9_223_372_036_854_775_807n] }] } });
  });
});

describe('what is sent', () => {
  // Specification, client: 5-1, 5-2
  test('a bearer token, the type and the one encoding that is understood', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url);

    await origin.select(PAGE);

    expect(server.requests[0]?.headers).toEqual({
      host: server.host,
      connection: 'keep-alive',
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'rowsync',
      authorization: `Bearer ${TOKEN}`,
    });
  });

  test('a Basic header for user and password', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, {
      credentials: { kind: 'basic', user: 'anna@example.org', password: 'pa:ss wörd' },
    });

    await origin.select(PAGE);

    const sent = server.requests[0]?.headers['authorization'] ?? '';
    expect(Buffer.from(sent.replace('Basic ', ''), 'base64').toString()).toBe('anna@example.org:pa:ss wörd');
  });

  test('no wish for gzip where compression is off', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, { compress: false });

    await origin.select(PAGE);

    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  test('one connection for requests one after the other', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, { concurrency: 1 });

    for (let at = 0; at < 5; at += 1) await origin.select(PAGE);

    expect(server.connectionCount).toBe(1);
    expect(server.requests).toHaveLength(5);
  });

  // Specification, client: 5-3
  test('a token in the path, and in no key of a page', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, { credentials: { kind: 'urlToken', token: TOKEN } });

    await origin.select(PAGE);

    expect(server.requests[0]?.path).toBe(`/secure/api/v2/21995/${TOKEN}/t_7/select.json?column=*&sort=Id`);
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(origin.selectUrl(CUSTOMER, PAGE.query)).toBe(
      `${server.url}/secure/api/v2/21995/t_7/select.json?column=*&sort=Id`,
    );
    expect(JSON.stringify(origin)).not.toContain(TOKEN);
  });

  // Specification, client: 5-5
  test('the cookies of a session, with a minus in the path', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, { credentials: { kind: 'session', cookie: `lang=en; td=${TOKEN}` } });

    await origin.select(PAGE);

    expect(server.requests[0]?.path).toBe('/secure/api/v2/21995/-/t_7/select.json?column=*&sort=Id');
    expect(server.requests[0]?.headers['cookie']).toBe(`lang=en; td=${TOKEN}`);
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test.each([
    ['a path', 'a/../b'],
    ['dots', '..'],
    ['a minus', '-'],
    ['an escape', 'a%2Fb'],
    ['a query', 'a?b'],
    ['nothing', ''],
  ])('no token in the path that is %s', (_title, token) => {
    expect(() => open('http://127.0.0.1:9', { credentials: { kind: 'urlToken', token } })).toThrow(/The token/);
  });

  test.each([['no pair'], ['a=b\r\nX-A: 1'], ['é=b'], ['']])('no cookie that is %j', (cookie) => {
    expect(() => open('http://127.0.0.1:9', { credentials: { kind: 'session', cookie } })).toThrow(/The cookie/);
  });

  test.each([
    ['an empty token', { kind: 'bearer', token: '' }],
    ['a token with a line break', { kind: 'bearer', token: `${TOKEN}\n` }],
    ['a token that would add a header', { kind: 'bearer', token: `${TOKEN}\r\nX-A: 1` }],
    ['a token outside of ASCII', { kind: 'bearer', token: `${TOKEN}é` }],
    ['a user with a colon', { kind: 'basic', user: 'a:b', password: TOKEN }],
  ] as const)('refuses %s before anything is sent, and does not repeat it', (_title, credentials) => {
    let error: unknown;
    try {
      open('http://127.0.0.1:9', { credentials });
    } catch (thrown) {
      error = thrown;
    }

    expect(error).toMatchObject({ kind: 'config', code: 'config.secret' });
    expect((error as RowsyncError).message).not.toContain(TOKEN);
  });
});

describe('conditional requests', () => {
  test('send the ETag and take 304 for not modified', async () => {
    await using server = await startFaultServer(() => http(304, { ETag: '"e1"' }));
    await using origin = open(server.url);

    const answer = await origin.select(PAGE, { etag: '"e1"' });

    expect(server.requests[0]?.headers['if-none-match']).toBe('"e1"');
    expect(answer).toEqual({ kind: 'notModified' });
    expect(origin.counters()).toEqual({
      requestCount: 1,
      notModifiedCount: 1,
      retryCount: 0,
      receivedBytes: 0,
      countByClass: { '2xx': 0, '3xx': 1, '4xx': 0, '5xx': 0, none: 0 },
      quietMs: 0,
      clockAheadMs: null,
    });
  });

  test.each([
    ['no ETag', undefined],
    ['null', null],
    ['what is no ETag', 'abc\r\nX-A: 1'],
  ])('are not made with %s, and a 304 to them is an error', async (_title, etag) => {
    await using server = await startFaultServer(() => http(304, {}));
    await using origin = open(server.url);

    await expect(origin.select(PAGE, { etag })).rejects.toMatchObject({
      kind: 'wireFormat',
      code: 'origin.unexpected',
    });
    expect(server.requests[0]?.headers).not.toHaveProperty('if-none-match');
    expect(server.requests).toHaveLength(1);
  });

  // Specification, client: 4.10-3, 4.10-4
  test.each([
    ['a weak ETag', { ETag: 'W/"e2"' }, 'W/"e2"'],
    ['no ETag', { ETag: null }, null],
    ['an ETag that is none', { ETag: 'e2' }, null],
    ['two ETags', { ETag: ['"a"', '"b"'] }, null],
    ['the cache policy of the specification', { 'Cache-Control': 'private, must-revalidate, max-age=0' }, '"e1"'],
    ['a cache policy that forbids it', { 'Cache-Control': 'no-cache' }, null],
  ])('keep %s', async (_title, headers, etag) => {
    await using server = await startFaultServer(() => json([], headers));
    await using origin = open(server.url);

    expect(await origin.select(PAGE)).toMatchObject({ kind: 'ok', etag });
  });
});

describe('compression', () => {
  test('a gzip answer is read; what is counted came over the wire', async () => {
    const rows = Array.from({ length: 500 }, (_, index) => ({ '@row.id': index + 1, Name: `Name ${index}` }));
    const body = gzipSync(JSON.stringify(rows));
    await using server = await startFaultServer(() =>
      http(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, body),
    );
    await using origin = open(server.url);

    const answer = await origin.select(PAGE);

    expect(answer).toMatchObject({ kind: 'ok', receivedBytes: body.length });
    expect(answer.kind === 'ok' && answer.value.rows.length).toBe(500);
    expect(origin.counters().receivedBytes).toBe(body.length);
  });

  test('the origin’s words are read from a gzip answer with an error status', async () => {
    const body = gzipSync(JSON.stringify({ error: 400, code: 3100, message: 'Column does not exist', source: 'Nmae' }));
    await using server = await startFaultServer(() =>
      http(400, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, body),
    );
    await using origin = open(server.url);

    await expect(origin.select(PAGE)).rejects.toThrow(
      'select of "Customer": the origin answered 400 (code 3100), at "Nmae": Column does not exist',
    );
  });
});

describe('concurrency and rate', () => {
  test.each([1, 3, 10])('has %i requests in flight, and never more', async (concurrency) => {
    const callCount = concurrency * 4;
    const held: Socket[] = [];
    const heldCounts: number[] = [];
    const answerHeld = async (): Promise<void> => {
      await turns(3);
      heldCounts.push(held.length);
      for (const each of held.splice(0)) each.write(json([]));
    };
    await using server = await startFaultServer(() => (socket) => {
      held.push(socket);
      if (held.length < concurrency) return;
      // All are answered together once the loop has had turns in which one request too many would have arrived.
      void answerHeld();
    });
    await using origin = open(server.url, { concurrency });

    await Promise.all(Array.from({ length: callCount }, () => origin.select(PAGE)));

    expect(heldCounts).toEqual([concurrency, concurrency, concurrency, concurrency]);
    expect(server.connectionCount).toBe(concurrency);
  });

  test('starts one request in each interval that the rate gives', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, { requestsPerSecond: 4, concurrency: 10 });

    const calls = Array.from({ length: 4 }, () => origin.select(PAGE));
    const startedCounts: number[] = [];
    for (const ms of [0, 249, 1, 249, 1, 250]) {
      await vi.advanceTimersByTimeAsync(ms);
      startedCounts.push(origin.counters().requestCount);
    }
    await Promise.all(calls);

    expect(startedCounts).toEqual([1, 1, 2, 2, 3, 4]);
  });
});

describe('stopping', () => {
  test('an abort ends a request that waits for its answer, and closes its connection', async () => {
    const closed = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    await using server = await startFaultServer(() => (socket) => {
      socket.on('close', () => closed.resolve());
      arrived.resolve();
    });
    await using origin = open(server.url);
    const stopping = new AbortController();

    const call = origin.select(PAGE, { signal: stopping.signal });
    await arrived.promise;
    stopping.abort();

    await expect(call).rejects.toMatchObject({ code: 'origin.stopped', exitCode: 75 });
    await closed.promise;
  });

  test('an abort ends a request in the middle of its body', async () => {
    const arrived = Promise.withResolvers<void>();
    await using server = await startFaultServer(() => (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[', () =>
        arrived.resolve(),
      );
    });
    await using origin = open(server.url);
    const stopping = new AbortController();

    const call = origin.select(PAGE, { signal: stopping.signal });
    await arrived.promise;
    stopping.abort();

    await expect(call).rejects.toMatchObject({ code: 'origin.stopped' });
  });

  test('an abort ends what waits in the queue; it is never sent', async () => {
    await using server = await startFaultServer(() => 'hang');
    await using origin = open(server.url, { concurrency: 1 });
    const stopping = new AbortController();

    const calls = [1, 2, 3].map(() => origin.select(PAGE, { signal: stopping.signal }));
    stopping.abort();
    const results = await Promise.allSettled(calls);

    expect(results.map((result) => result.status === 'rejected' && (result.reason as RowsyncError).code)).toEqual(
      Array.from({ length: 3 }).fill('origin.stopped'),
    );
    expect(server.requests.length).toBeLessThanOrEqual(1);
  });

  test('an abort ends what waits behind the request of somebody who goes on', async () => {
    await using server = await startFaultServer(() => 'hang');
    await using origin = open(server.url, { concurrency: 1 });
    const stopping = new AbortController();

    const other = origin.select(PAGE).catch(() => 'closed');
    const waiting = origin.select(PAGE, { signal: stopping.signal });
    stopping.abort();

    await expect(waiting).rejects.toMatchObject({ code: 'origin.stopped' });
    await origin.close();
    expect(await other).toBe('closed');
  });

  test('an abort while the connection is being made keeps the request from being sent', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, { concurrency: 1 });
    const stopping = new AbortController();

    const stopped = origin.select(PAGE, { signal: stopping.signal });
    await Promise.resolve();
    stopping.abort();
    await expect(stopped).rejects.toMatchObject({ code: 'origin.stopped' });
    await origin.user().catch(() => 'not a user');

    expect(server.requests.map((request) => request.path)).toEqual(['/secure/api/v2/21995/user.json']);
  });

  test('an abort ends the wait for the next attempt', async () => {
    const clock = testClock({ sleepsAdvance: false });
    await using server = await startFaultServer(() => http(503, {}));
    await using origin = open(server.url, {}, clock);
    const stopping = new AbortController();

    const call = origin.select(PAGE, { signal: stopping.signal });
    await clock.sleeper();
    stopping.abort();

    await expect(call).rejects.toMatchObject({ code: 'origin.stopped' });
    expect(server.requests).toHaveLength(1);
  });

  test('a signal that is aborted already sends nothing', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url);

    await expect(origin.select(PAGE, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'origin.stopped',
    });
    expect(server.connectionCount).toBe(0);
  });

  test('close ends everything: in flight, in the queue, between attempts, and what comes later', async () => {
    const clock = testClock({ sleepsAdvance: false });
    const arrived = Promise.withResolvers<void>();
    await using server = await startFaultServer((nth) => {
      if (nth === 1) return http(503, {});
      arrived.resolve();
      return 'hang';
    });
    await using origin = open(server.url, { concurrency: 1 }, clock);

    const waiting = origin.select(PAGE);
    await clock.sleeper();
    const inFlight = origin.select(PAGE);
    await arrived.promise;
    const queued = origin.select(PAGE);
    const results = Promise.allSettled([waiting, inFlight, queued]);
    await origin.close();
    await origin.close();

    for (const result of [...(await results), ...(await Promise.allSettled([origin.user()]))]) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'origin.stopped' } });
    }
    expect(server.requests).toHaveLength(2);
    // Only the first call waited for another attempt; the others were not taken for failures of the origin.
    expect(origin.counters()).toMatchObject({ requestCount: 2, retryCount: 1 });
  });

  test('close ends what the rate holds back', async () => {
    await using server = await startFaultServer(() => json([]));
    await using origin = open(server.url, { requestsPerSecond: 0.01 });

    await origin.select(PAGE);
    const heldBack = Promise.allSettled([origin.select(PAGE)]);
    await Promise.resolve();
    await origin.close();

    expect(await heldBack).toMatchObject([{ status: 'rejected', reason: { code: 'origin.stopped' } }]);
    expect(server.requests).toHaveLength(1);
  });

  test('leaves no timer behind that would keep the process alive', async () => {
    await using server = await startFaultServer(() => json([]));
    const timerCount = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const origin = open(server.url);
    await origin.select(PAGE);
    await origin.close();
    const before = timerCount();

    const another = open(server.url);
    for (let at = 0; at < 5; at += 1) await another.select(PAGE);
    await another.close();

    expect(timerCount()).toBeLessThanOrEqual(before);
  });

  test('leaves no listener behind on the caller’s signal', async () => {
    await using server = await startFaultServer((nth) => (nth % 2 === 1 ? http(503, {}) : json([])));
    await using origin = open(server.url);
    const stopping = new AbortController();
    const { signal } = stopping;

    for (let at = 0; at < 5; at += 1) await origin.select(PAGE, { signal });

    expect(server.requests).toHaveLength(10);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('secrets', () => {
  const credentials = [
    { kind: 'bearer', token: TOKEN },
    { kind: 'basic', user: 'anna@example.org', password: 'hunter2&more' },
    { kind: 'urlToken', token: TOKEN },
    { kind: 'session', cookie: `lang=en; td=${TOKEN}` },
  ] as const;

  /** Everything that an error shows to anybody, its causes included. */
  function shown(error: unknown): string {
    const parts: string[] = [];
    for (let at: unknown = error; at instanceof Error; at = at.cause)
      parts.push(at.message, at.stack ?? '', JSON.stringify(at));
    return parts.join('\n');
  }

  test.each(credentials.flatMap((each) => [1, 2, 3, 4, 5].map((nth) => [each.kind, nth, each] as const)))(
    'of kind %s are in no message and no log line (failure %i)',
    async (_kind, nth, each) => {
      const lines: string[] = [];
      const [secret = ''] = authorizationOf(each).secrets;
      const echo = `you sent ${secret}, ${encodeURIComponent(secret)}, ${Buffer.from(`anna@example.org:${secret}`).toString('base64')}`;
      const answers = [
        () =>
          http(
            403,
            { 'Content-Type': 'application/json' },
            JSON.stringify({ error: 403, code: 1001, message: echo, source: echo }),
          ),
        () => http(302, { Location: `https://${encodeURIComponent(secret)}.example.org/${secret}` }),
        () => http(503, { 'Content-Type': `text/${secret}` }, echo),
        () => json({ error: 500, message: echo }),
        () => 'reset' as const,
      ];
      await using server = await startFaultServer(() => answers[nth - 1]?.() ?? 'reset');
      const log = createLogger({
        level: 'debug',
        destination: { write: (line) => lines.push(line) },
        secrets: [secret],
      });
      const origin = openOrigin({ url: server.url, database: '21995', credentials: each }, { clock: testClock(), log });

      const error: unknown = await origin.select(PAGE).catch((thrown: unknown) => thrown);
      await origin.close();

      expect(error).toBeInstanceOf(RowsyncError);
      const everything = `${shown(error)}\n${(error as RowsyncError).hint}\n${lines.join('')}`;
      expect(server.requests.length).toBeGreaterThan(0);
      expect(lines.length).toBeGreaterThan(0);
      for (const form of [
        secret,
        encodeURIComponent(secret),
        Buffer.from(`anna@example.org:${secret}`).toString('base64'),
      ]) {
        expect(everything.toLowerCase()).not.toContain(form.toLowerCase());
      }
    },
  );

  test('rows are in no message: JSON that breaks next to a value', async () => {
    await using server = await startFaultServer(() => jsonText('[{"@row.id":1,"Name":"Anna Bell" oops'));
    await using origin = open(server.url);

    const error: unknown = await origin.select(PAGE).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'origin.truncated' });
    expect(shown(error)).not.toContain('Anna');
  });
});
