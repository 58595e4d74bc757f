import { gunzipSync } from 'node:zlib';

import { expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call, callPath, exchange } from '../client.ts';

const TOKEN = '0123456789abcdef0123456789ABCDEF';
const OTHER_TOKEN = 'f'.repeat(32);

const notes: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 40 }, (_, index) => ({ Title: `a title that is long enough ${index}` })),
};

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

// Specification, sandbox: 5-2
test('accepts a bearer token, in any case', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });

  expect(await call(sandbox, 'user.json', { authorization: `bearer ${TOKEN.toLowerCase()}` })).toMatchObject({
    status: 200,
  });
  expect(await call(sandbox, 'user.json', { authorization: `Bearer ${TOKEN.toUpperCase()}` })).toMatchObject({
    status: 200,
  });
});

// Specification, sandbox: 5-4
test('accepts a user name and a password', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });
  const { email, password } = sandbox.user;

  const answer = await call(sandbox, 'user.json', { authorization: basic(email, password) });

  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ email });
});

// Specification, sandbox: 5-3
test('accepts a token behind the database id, and keeps it out of the request log', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });
  const root = `/secure/api/v2/${sandbox.database}`;

  const answer = await callPath(sandbox, `${root}/${TOKEN}/Note/select.json?top=1`, { authorization: null });

  expect(answer.status).toBe(200);
  expect(sandbox.requests.all.map(({ path }) => path)).toEqual([`${root}/Note/select.json?top=1`]);
});

test('accepts a header behind a minus sign', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  expect(await call(sandbox, '-/user.json')).toMatchObject({ status: 200 });
  expect(await call(sandbox, '-/user.json', { authorization: null })).toMatchObject({ status: 401 });
});

// Specification, sandbox: 5-1
test('asks for credentials where there are none: 401, a Basic challenge, no body', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'Note/select.json', { authorization: null });

  expect(answer.status).toBe(401);
  expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="[^"]+"/);
  expect(answer.headers['content-length']).toBe('0');
  expect(answer.text).toBe('');
});

test.each([
  ['an unknown token', `Bearer ${OTHER_TOKEN}`, 1001],
  ['no token at all', 'Bearer', 1001],
  ['an unknown user', basic('nobody@example.com', 'x'), 1000],
  ['a password without a user', `Basic ${Buffer.from('nothing').toString('base64')}`, 1000],
  ['another scheme', 'Digest username="x"', 1000],
])('refuses %s: 403 with a descriptor', async (_what, authorization, code) => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'Note/select.json', { authorization });

  expect(answer.status).toBe(403);
  expect(answer.headers['content-type']).toMatch(/^application\/json(?:;|$)/);
  expect(JSON.parse(answer.text)).toMatchObject({ error: 403, code, message: expect.any(String) as string });
  expect(answer.text).not.toContain(OTHER_TOKEN);
});

test('refuses a wrong password of a known user', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'user.json', { authorization: basic(sandbox.user.email, 'wrong') });

  expect(answer.status).toBe(403);
});

test('refuses a user and a password in the path', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  expect(await call(sandbox, 'user:secret/Note/select.json', { authorization: null })).toMatchObject({ status: 403 });
});

// Specification, sandbox: 5-7
test('refuses good credentials for another database', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });
  const { email, password } = sandbox.user;

  for (const authorization of [`Bearer ${TOKEN}`, basic(email, password)]) {
    const answer = await callPath(sandbox, '/secure/api/v2/4711/user.json', { authorization });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 1002 });
  }
  expect(await callPath(sandbox, `/secure/api/v2/4711/${TOKEN}/user.json`, { authorization: null })).toMatchObject({
    status: 403,
  });
});

// Specification, sandbox: 5-8
test('refuses a token that was revoked, and only that one', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });
  sandbox.store.addToken(OTHER_TOKEN);

  sandbox.store.revokeToken(TOKEN);

  expect(await call(sandbox, 'user.json', { authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 403 });
  expect(await call(sandbox, 'user.json', { authorization: `Bearer ${OTHER_TOKEN}` })).toMatchObject({ status: 200 });
});

test.each([
  ['GET', 'tables.json'],
  ['GET', 'Note.json'],
  ['GET', 'Note/1.json'],
  ['GET', 'Note/columns.json'],
  ['GET', 'select.json'],
  ['GET', 'Note/user.json'],
  ['GET', 'Note/View/describe.json'],
  ['GET', 'Note/View/Too/select.json'],
  ['GET', 'View/Note/describe.json'],
  ['GET', 'Note/select'],
  ['GET', 'Note/select.html'],
  ['GET', 'Note/select.csv'],
  ['GET', ''],
  ['GET', '/'],
  ['POST', 'Note/select.json'],
  ['PUT', 'Note/upsert.json'],
  ['DELETE', 'Note/select.json'],
  ['PATCH', 'describe.json'],
  ['GET', 'Note/__proto__.json'],
  ['GET', 'Note/constructor.json'],
])('answers %s %j with 405 and a descriptor', async (verb, path) => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, path, { verb });

  expect(answer.status).toBe(405);
  expect(JSON.parse(answer.text)).toMatchObject({ error: 405, code: 2000, message: expect.any(String) as string });
});

test('answers errors in XML where XML was asked for', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'Note/select.xml?top=0');

  expect(answer.status).toBe(400);
  expect(answer.headers['content-type']).toBe('text/xml;charset=utf-8');
  expect(answer.text).toMatch(
    /^<\?xml [^>]*\?><Error[^>]*><error>400<\/error><code>2100<\/code><message>[^<]+<\/message>/,
  );
  expect(answer.text).toMatch(/<source>top<\/source><\/Error>$/);
});

// Specification, sandbox: 4-1, 9-1
test.each(['/', '/favicon.ico', '/secure/api/v1/21995/describe.json', '/secure/api/v2', '//', '/%'])(
  'answers the path %j, which is outside of the API, with 405 and a descriptor',
  async (path) => {
    await using sandbox = await startTestSandbox({ tables: [notes] });

    const answer = await callPath(sandbox, path, { authorization: null });

    expect(answer.status).toBe(405);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 405 });
  },
);

test.each([
  ['a percent sign alone', 'No%te/select.json', 'table'],
  ['bytes that are not UTF-8', 'No%FFte/select.json', 'table'],
  ['a query that is not UTF-8', 'Note/select.json?column=%FF', 'query'],
])('answers %s in the path with 400', async (_what, path, source) => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, path);

  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.text)).toMatchObject({ error: 400, code: 2100, source });
});

test('answers a query string above 16K with 414 and no body, however long', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  expect(await call(sandbox, `Note/select.json?x=${'a'.repeat(16_382)}`)).toMatchObject({ status: 200 });
  expect(await call(sandbox, `Note/select.json?x=${'a'.repeat(16_383)}`)).toMatchObject({ status: 414, text: '' });
  expect(await call(sandbox, `Note/select.json?x=${'a'.repeat(200_000)}`)).toMatchObject({ status: 414, text: '' });
});

test('speaks HTTP/1.1 with header names in canonical case', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], clock: testClock() });

  const answer = await exchange(
    sandbox,
    `GET /secure/api/v2/21995/user.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
      `Authorization: Bearer ${sandbox.token}\r\n\r\n`,
  );

  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  for (const header of [
    'Content-Type: application/json;charset=utf-8\r\n',
    'Cache-Control: private, must-revalidate, max-age=0\r\n',
    'Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n',
    'Content-Length: 206\r\n',
  ]) {
    expect(answer).toContain(header);
  }
  expect(answer).toMatch(/\r\nETag: "[^"]+"\r\n/);
});

test('keeps a connection open for the next request', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });
  const line = 'GET /secure/api/v2/21995/user.json HTTP/1.1\r\nHost: x\r\n';

  const answer = await exchange(sandbox, `${line}\r\n${line}Connection: close\r\n\r\n`);

  expect(answer.match(/^HTTP\/1\.1 401 /gm)).toHaveLength(2);
});

test('sends no 100 Continue, even when asked', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await exchange(
    sandbox,
    'POST /secure/api/v2/21995/Note/upsert.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n' +
      `Content-Type: application/json\r\nContent-Length: 2\r\nAuthorization: Bearer ${sandbox.token}\r\n\r\n[]`,
  );

  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

test.each(['nonsense\r\n\r\n', 'GET / HTTP/1.1\r\nbad header\r\n\r\n'])(
  'answers %j, which is not HTTP, without HTML',
  async (bytes) => {
    await using sandbox = await startTestSandbox({ tables: [notes] });

    const answer = await exchange(sandbox, bytes);

    expect(answer).toBe('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  },
);

test('lets browsers of other sites in', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const preflight = await call(sandbox, 'Note/select.json', { verb: 'OPTIONS', authorization: null });
  const answer = await call(sandbox, 'user.json', { authorization: null });

  expect(preflight).toMatchObject({ status: 204, text: '' });
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': expect.stringContaining('GET') as string,
    'access-control-allow-headers': expect.stringContaining('Authorization') as string,
  });
  expect(answer.headers['access-control-allow-origin']).toBe('*');
});

test('compresses for those who take gzip, with the same ETag', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const plain = await call(sandbox, 'Note/select.json');
  const packed = await call(sandbox, 'Note/select.json', { headers: { 'Accept-Encoding': 'deflate, gzip;q=0.8' } });

  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(packed.headers).toMatchObject({
    'content-encoding': 'gzip',
    vary: 'Accept-Encoding',
    etag: plain.headers['etag'],
  });
  expect(packed.body.length).toBeLessThan(plain.body.length / 2);
  expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
});

test.each(['identity', 'gzip;q=0', 'br', '*;q=0', 'gzip;q=0.0, *'])('does not compress for %j', async (accepted) => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'Note/select.json', { headers: { 'Accept-Encoding': accepted } });

  expect(answer.headers['content-encoding']).toBeUndefined();
  expect(JSON.parse(answer.text)).toHaveLength(40);
});

test('adds the latency to every request, half of it before it works and half behind', async () => {
  const clock = testClock();
  await using sandbox = await startTestSandbox({ tables: [notes], clock, latencyMs: 120 });

  await call(sandbox, 'user.json');
  await call(sandbox, 'nonsense', { authorization: null });

  expect(clock.waits).toEqual([60, 60, 60, 60]);
});

test('counts requests by method, table and status', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });
  const { etag = '' } = (await call(sandbox, 'Note/select.json')).headers;

  await call(sandbox, 'Note/select.json', { headers: { 'If-None-Match': etag } });
  await call(sandbox, 'Note/select.json?top=0');
  await call(sandbox, 'No%252Fpe/describe.json');

  expect(sandbox.requests.count()).toBe(4);
  expect(sandbox.requests.count({ method: 'select' })).toBe(3);
  expect(sandbox.requests.count({ method: 'select', status: 304 })).toBe(1);
  expect(sandbox.requests.count({ table: 'No/pe', status: 403 })).toBe(1);
  expect(sandbox.requests.all.at(-1)).toMatchObject({ number: 4, verb: 'GET', method: 'describe', status: 403 });
});

test('answers a failure inside with 500 and a descriptor, without a stack', async () => {
  await using sandbox = await startTestSandbox({
    tables: [notes],
    intercept: () => {
      throw new Error('boom');
    },
  });

  const answer = await call(sandbox, 'user.json');

  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.text)).toEqual({ error: 500, code: 9000, message: 'The sandbox failed to answer: boom' });
});

test('lets a test act before a request, and answer one in its place', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });
  sandbox.before(2, () => sandbox.store.delete('Note', 1), { method: 'select' });
  sandbox.answerInstead(1, { status: 503, headers: { 'Retry-After': '1' }, body: 'later' }, { method: 'user' });
  sandbox.answerInstead(1, 'reset', { method: 'describe' });

  const first = await call(sandbox, 'Note/select.json');
  const second = await call(sandbox, 'Note/select.json');
  const busy = await call(sandbox, 'user.json');

  expect(JSON.parse(first.text)).toHaveLength(40);
  expect(JSON.parse(second.text)).toHaveLength(39);
  expect(busy).toMatchObject({ status: 503, text: 'later' });
  await expect(call(sandbox, 'describe.json')).rejects.toThrow(/socket hang up|ECONNRESET/);
});
