import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call, exchange } from '../client.ts';

const notes: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 40 }, (_, index) => ({ Title: `a title that is long enough ${index}` })),
};

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
