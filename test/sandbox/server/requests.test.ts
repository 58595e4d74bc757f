import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const notes: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 40 }, (_, index) => ({ Title: `a title that is long enough ${index}` })),
};

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
