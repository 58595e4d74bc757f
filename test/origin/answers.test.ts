/**
 * Answers that the origin, or something in front of it, may give and the sandbox never does: whether the client tries
 * again, and with which code and message it fails. Failures below HTTP are in request-errors.test.ts.
 */
import { gzipSync } from 'node:zlib';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { testClock, type TestClock } from '../support/clock.ts';

const URL_OF_ORIGIN = 'https://origin.example';
const PAGE = {
  table: { name: 'Customer', alias: 't_7' },
  columns: [{ name: 'Name', type: 'Text' }],
  query: { columns: ['*'], sort: [] },
} as const;
const ROWS = [{ '@row.id': 1, Name: 'a' }];
const HTML = '<!DOCTYPE html><html><body>Please sign in</body></html>';
const JSON_TYPE = 'application/json';
const TEXT = JSON.stringify(ROWS);

type Headers = Readonly<Record<string, string | string[] | null>>;

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: string | Buffer;
}

beforeEach(() => nock.disableNetConnect());
afterEach(() => {
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
  nock.activate();
});

function http(status: number, headers: Headers, body: string | Buffer = ''): Reply {
  const given = Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return { status, headers: Object.fromEntries(given), body };
}

function typed(type: string | null, body: string, status = 200): Reply {
  return http(status, { 'Content-Type': type }, body);
}

function json(value: unknown, headers: Headers = {}): Reply {
  return http(200, { 'Content-Type': JSON_TYPE, ...headers }, JSON.stringify(value));
}

function descriptor(status: number, fields: object): Reply {
  return typed(JSON_TYPE, JSON.stringify({ error: status, ...fields }), status);
}

interface Outcome {
  readonly error: RowsyncError | undefined;
  readonly counters: { requestCount: number; retryCount: number };
  readonly clock: TestClock;
}

/** Selects one page from an origin that gives these answers, the last one for ever. */
async function selectFrom(...replies: readonly Reply[]): Promise<Outcome> {
  for (const [index, { status, headers, body }] of replies.entries()) {
    const asked = nock(URL_OF_ORIGIN).get(/^\/secure\/api\/v2\/21995\/t_7\/select\.json/);
    const isLast = index === replies.length - 1;
    (isLast ? asked.times(10) : asked).reply(status, body, headers);
  }
  const clock = testClock();
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const settings = { url: URL_OF_ORIGIN, database: '21995', credentials };
  const origin = openOrigin(settings, { clock, log: silentLogger });
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

describe('answers that are not what the method returns: asked once, with a code and a hint', () => {
  test.each<[string, Reply, string, string, RegExp]>([
    ['a page of HTML', typed('text/html', HTML), 'wireFormat', 'origin.notApi', /answered 200 with text\/html/],
    ['HTML that calls itself JSON', typed(JSON_TYPE, ` \n${HTML}`), 'wireFormat', 'origin.notApi', /a page of HTML/],
    ['XML', typed('text/xml', '<Response/>'), 'wireFormat', 'origin.notApi', /text\/xml/],
    ['JSON that calls itself text', typed('text/plain', TEXT), 'wireFormat', 'origin.notApi', /text\/plain/],
    ['an answer without a type', typed(null, TEXT), 'wireFormat', 'origin.notApi', /no media type/],
    [
      'deflate',
      http(200, { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'deflate' }, '[]'),
      'wireFormat',
      'origin.notApi',
      /encoding/,
    ],
    ['gzip in gzip', json(ROWS, { 'Content-Encoding': 'gzip, gzip' }), 'wireFormat', 'origin.notApi', /encoding/],
    [
      'gzip twice by two headers',
      json(ROWS, { 'Content-Encoding': ['gzip', 'gzip'] }),
      'wireFormat',
      'origin.notApi',
      /encoding/,
    ],
    [
      'an object',
      typed(JSON_TYPE, '{}'),
      'wireFormat',
      'origin.unexpected',
      /array of rows was expected, an object came/,
    ],
    ['null', typed(JSON_TYPE, 'null'), 'wireFormat', 'origin.unexpected', /null came/],
    [
      'a row without an id',
      typed(JSON_TYPE, '[{"Name":"a"}]'),
      'wireFormat',
      'origin.unexpected',
      /row 1 has no integer/,
    ],
    [
      'a row without a column',
      typed(JSON_TYPE, '[{"@row.id":1}]'),
      'wireFormat',
      'origin.unexpected',
      /lack the column "Name"/,
    ],
    [
      'an error with status 200',
      json({ error: 403, code: 1001, message: 'Invalid token' }),
      'wireFormat',
      'origin.unexpected',
      /answered 200 with an error \(code 1001\): Invalid token/,
    ],
    ['204', http(204, { 'Content-Length': null }), 'wireFormat', 'origin.unexpected', /answered 204/],
    ['206', typed(JSON_TYPE, TEXT, 206), 'wireFormat', 'origin.unexpected', /answered 206/],
    [
      '401 without a body',
      http(401, { 'WWW-Authenticate': 'Basic realm="x"' }),
      'auth',
      'origin.unauthorized',
      /401 without a body/,
    ],
    ['401 with a page', typed('text/html', HTML, 401), 'auth', 'origin.unauthorized', /401/],
    [
      'a wrong token',
      descriptor(403, { code: 1001, message: 'Invalid token' }),
      'auth',
      'origin.forbidden',
      /403 \(code 1001\): Invalid token/,
    ],
    ['403 that names nothing', descriptor(403, { message: 'No' }), 'auth', 'origin.forbidden', /403: No/],
    ['403 without a body', http(403, {}), 'auth', 'origin.forbidden', /403 without a body/],
    [
      'a view that does not exist',
      descriptor(403, { code: 3200, message: 'View does not exist', source: 'All' }),
      'originRefused',
      'origin.forbidden',
      /403 \(code 3200\), at "All": View does not exist/,
    ],
    [
      'a hidden table',
      descriptor(403, { code: 0, message: 'Denied', source: 'Customer' }),
      'originRefused',
      'origin.forbidden',
      /at "Customer"/,
    ],
    ['a firewall’s page', typed('text/html', HTML, 403), 'wireFormat', 'origin.notApi', /403 with text\/html/],
    [
      'a page that is not found',
      typed('text/html; charset=utf-8', HTML, 404),
      'wireFormat',
      'origin.notApi',
      /404 with text\/html/,
    ],
    ['404 without a body', http(404, {}), 'originRefused', 'origin.refused', /404 without a body/],
    [
      '400',
      descriptor(400, { code: 3100, message: 'Column does not exist', source: 'X' }),
      'originRefused',
      'origin.refused',
      /3100/,
    ],
    [
      '405',
      descriptor(405, { code: 0, message: 'Method not allowed' }),
      'originRefused',
      'origin.refused',
      /405: Method/,
    ],
    ['414 without a body', http(414, {}), 'originRefused', 'origin.refused', /414/],
    ['408', http(408, {}), 'originRefused', 'origin.refused', /408/],
    ['501', http(501, {}), 'originDown', 'origin.busy', /501/],
  ])('%s', async (_title, answer, kind, code, message) => {
    const { error, counters } = await selectFrom(answer);

    expect(error).toMatchObject({ name: 'RowsyncError', kind, code });
    expect(error?.message).toMatch(message);
    expect(error?.message).toMatch(/^select of "Customer": /);
    expect(error?.hint).toMatch(/\.$/);
    expect(counters).toMatchObject({ requestCount: 1, retryCount: 0 });
  });

  test('says the origin’s words on one line and cut', async () => {
    const { error } = await selectFrom(descriptor(400, { message: `one\r\ntwo \u001B[31m${'x'.repeat(5_000)}` }));

    expect(error?.message).toMatch(/^select of "Customer": the origin answered 400: one two \[31mx+…$/);
    expect(error?.message.length).toBeLessThan(400);
  });
});

describe('failures that pass: asked again', () => {
  test.each<[string, Reply]>([
    ['429', http(429, {})],
    ['500', http(500, {})],
    ['500 with a descriptor', descriptor(500, { message: 'Internal error' })],
    ['502 with a page', typed('text/html', HTML, 502)],
    ['503', http(503, {})],
    ['504', http(504, {})],
    ['an empty body', typed(JSON_TYPE, '')],
    ['JSON without its end', typed(JSON_TYPE, TEXT.slice(0, -1))],
    [
      'a cut gzip body',
      http(200, { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' }, gzipSync(TEXT).subarray(0, -9)),
    ],
    [
      'bytes that are not UTF-8',
      http(200, { 'Content-Type': JSON_TYPE }, Buffer.from('[{"@row.id":1,"Name":"é"}]', 'latin1')),
    ],
  ])('%s, then the page', async (_title, failure) => {
    const { error, counters, clock } = await selectFrom(failure, json(ROWS));

    expect(error).toBeUndefined();
    expect(counters).toMatchObject({ requestCount: 2, retryCount: 1 });
    // Half of the first ceiling: the clock draws 0.5.
    expect(clock.waits).toEqual([250]);
  });
});
