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

test('adds the latency to every request, half of it before it works and half behind', async () => {
  const clock = testClock();
  await using sandbox = await startTestSandbox({ tables: [notes], clock, latencyMs: 120 });

  await call(sandbox, 'user.json');
  await call(sandbox, 'nonsense', { authorization: null });

  expect(clock.waits).toEqual([60, 60, 60, 60]);
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
