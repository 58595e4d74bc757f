/** Which requests leave when, which are tried again, and what is certain about a change that was not answered. */
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { ORIGIN_LIMITS } from '../../src/origin/limits.ts';
import { verdictOnChange } from '../../src/origin/requests.ts';
import { openTransport } from '../../src/origin/transport.ts';
import { testClock } from '../support/clock.ts';
import { http, json, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';
import { headed, PAGE, ROWS, selectAt, selectFrom } from '../support/select-page.ts';

const TEXT = JSON.stringify(ROWS);
const NOTHING = { hasDescriptor: false, isPage: false };

describe('a change that was', () => {
  test('never sent may be sent', () => {
    expect(verdictOnChange({ kind: 'fault', isSent: false }, NOTHING)).toBe('again');
  });

  test('sent and not answered may have happened', () => {
    expect(verdictOnChange({ kind: 'fault', isSent: true }, NOTHING)).toBe('unknown');
  });

  test.each([
    [200, 'unknown', 'unknown'],
    [201, 'unknown', 'unknown'],
    [202, 'unknown', 'unknown'],
    [204, 'unknown', 'unknown'],
    [206, 'unknown', 'unknown'],
    [301, 'refused', 'refused'],
    [302, 'unknown', 'unknown'],
    [303, 'unknown', 'unknown'],
    [304, 'unknown', 'unknown'],
    [307, 'refused', 'refused'],
    [308, 'refused', 'refused'],
    [400, 'refused', 'refused'],
    [401, 'refused', 'refused'],
    [403, 'refused', 'refused'],
    [404, 'refused', 'refused'],
    [405, 'refused', 'refused'],
    [408, 'refused', 'refused'],
    [409, 'refused', 'refused'],
    [411, 'refused', 'refused'],
    [413, 'refused', 'refused'],
    [414, 'refused', 'refused'],
    [415, 'refused', 'refused'],
    [422, 'refused', 'refused'],
    [425, 'refused', 'refused'],
    [429, 'again', 'again'],
    [431, 'refused', 'refused'],
    [500, 'unknown', 'unknown'],
    [501, 'unknown', 'unknown'],
    [502, 'unknown', 'unknown'],
    [503, 'again', 'unknown'],
    [504, 'unknown', 'unknown'],
    [599, 'unknown', 'unknown'],
  ] as const)('answered %i: %s with a descriptor, %s without', (status, withDescriptor, without) => {
    expect(verdictOnChange({ kind: 'answer', status }, { hasDescriptor: true, isPage: false })).toBe(withDescriptor);
    expect(verdictOnChange({ kind: 'answer', status }, { hasDescriptor: false, isPage: false })).toBe(without);
  });

  test.each([
    [400, 'unknown'],
    [403, 'unknown'],
    [404, 'unknown'],
    [429, 'again'],
    [503, 'unknown'],
  ] as const)('answered %i by a page of somebody else: %s', (status, verdict) => {
    expect(verdictOnChange({ kind: 'answer', status }, { hasDescriptor: false, isPage: true })).toBe(verdict);
  });
});

test('a change leaves before reads that have waited longer', async () => {
  const table = { name: 'Customer', alias: 't_7' };
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  await using server = await startFaultServer(() => json([]));
  const settings = { url: server.url, database: '21995', credentials, concurrency: 1 };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });

  const reads = [1, 2, 3].map(() => origin.select({ table, columns: [], query: { columns: ['*'], sort: [] } }));
  const change = origin.delete({ table, ids: [7] }).catch(() => 'unread');
  await Promise.all([...reads, change]);
  await origin.close();

  const methods = server.requests.map(({ path }) => /(\w+)\.json/.exec(path)?.[1]);
  expect(methods).toEqual(['select', 'delete', 'select', 'select']);
});

test('the answer to a change is read at once, that of a read once the requests behind it have left', async () => {
  const table = { name: 'Customer', alias: 't_7' };
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const deleted = [{ status: 200, id: 7, key: null, errors: [] }];
  await using server = await startFaultServer((_nth, { path }) =>
    path.includes('/user.') ? 'hang' : json(path.includes('/delete.') ? deleted : []),
  );
  const settings = { url: server.url, database: '21995', credentials, concurrency: 4 };
  const left = Promise.withResolvers<void>();
  const transport = { ...openTransport(server.url, ORIGIN_LIMITS, 4), requestsLeave: () => left.promise };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger, transport });
  const ended: string[] = [];

  const other = origin.user().catch(() => undefined);
  const read = origin.select({ table, columns: [], query: { columns: ['*'], sort: [] } });
  const noted = read.then(() => ended.push('read'));
  ended.push((await origin.delete({ table, ids: [7] }))[0]?.status === 200 ? 'change' : 'no change');
  left.resolve();
  await noted;
  await origin.close();
  await other;

  expect(ended).toEqual(['change', 'read']);
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
