import { describe, expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import type { TestSandbox } from '../../support/sandbox.ts';
import { call, type RawAnswer } from '../client.ts';
import { people, startPeople } from '../people.ts';

const UNAVAILABLE = { error: 403, code: 4000, message: 'Record is not found or not accessible' };

function remove(sandbox: TestSandbox, query: string, extension = 'json'): Promise<RawAnswer> {
  return call(sandbox, `Person/delete.${extension}?${query}`);
}

async function deletedIds(sandbox: TestSandbox): Promise<readonly number[]> {
  const rows = JSON.parse((await call(sandbox, 'Person/deleted.json')).text) as { readonly '@row.id': number }[];
  return rows.map((row) => row['@row.id']);
}

describe('the bytes of the specification', () => {
  // Specification, sandbox: 2.6-4, 2.6-6, 2.7-1, 2.7-2, 2.7-3, 4.7-1, 4.7-9, 4.7-10, 4.7-11
  test('in JSON, by key', async () => {
    await using sandbox = await startPeople();

    const answer = await remove(sandbox, 'key=2&key=9');

    expect(answer.status).toBe(200);
    expect(answer.text).toBe(
      '[{"key":"2","status":200},{"key":"9","status":403,' +
        '"error":{"error":403,"code":4000,"message":"Record is not found or not accessible"}}]',
    );
  });

  // Specification, sandbox: 2.6-4, 2.6-6, 4.7-2, 4.7-10, 4.7-11
  test('in XML, by id', async () => {
    await using sandbox = await startPeople();

    const answer = await remove(sandbox, 'id=1&id=9', 'xml');

    expect(answer.headers['content-type']).toBe('text/xml;charset=utf-8');
    expect(answer.text.replace(/^<\?xml [^>]*\?><Response[^>]*>/, '<Response>')).toBe(
      '<Response><row><id>1</id><status>200</status></row><row><id>9</id><status>403</status>' +
        '<error><error>403</error><code>4000</code><message>Record is not found or not accessible</message></error></row></Response>',
    );
  });
});

test('deletes each record once, in the order of the request', async () => {
  await using sandbox = await startPeople();

  const answer = await remove(sandbox, 'id=2&id=2&id=1');

  expect(JSON.parse(answer.text)).toEqual([
    { id: 2, status: 200 },
    { id: 2, status: 403, error: UNAVAILABLE },
    { id: 1, status: 200 },
  ]);
  expect(sandbox.store.count('Person')).toBe(0);
});

test('finds a key that is a number, however it is spelled', async () => {
  await using sandbox = await startPeople([
    { name: 'Person', key: 'No', columns: [{ name: 'No', type: 'Numeric' }], rows: [{ No: 5 }, { No: 12.5 }] },
  ]);

  const answer = await remove(sandbox, 'key=5.0&key=12.50&key=x');

  expect(JSON.parse(answer.text)).toMatchObject([{ status: 200 }, { status: 200 }, { status: 403 }]);
});

// Specification, sandbox: 4.7-5
test('puts deleted records into the recycle bin, and purged ones nowhere', async () => {
  await using sandbox = await startPeople([{ ...people, rows: [...rowsNamed('a', 'b', 'c', 'd')] }]);

  await remove(sandbox, 'id=1');
  await remove(sandbox, 'id=2&purge=0');
  await remove(sandbox, 'id=3&purge=1');
  await remove(sandbox, 'id=4&purge=true');

  expect(sandbox.store.count('Person')).toBe(0);
  expect((await deletedIds(sandbox)).toSorted((a, b) => a - b)).toEqual([1, 2]);
});

function* rowsNamed(...names: readonly string[]): Generator<{ readonly Name: string }> {
  for (const Name of names) yield { Name };
}

test('is never kept: no ETag, no-cache, and a validator changes nothing', async () => {
  await using sandbox = await startPeople();

  const first = await call(sandbox, 'Person/delete.json?id=1', { headers: { 'If-None-Match': '*' } });
  const second = await call(sandbox, 'Person/delete.json?id=1', { headers: { 'If-None-Match': '*' } });

  expect(first.status).toBe(200);
  expect(first.headers['etag']).toBeUndefined();
  expect(first.headers['cache-control']).toBe('no-cache');
  expect(JSON.parse(second.text)).toEqual([{ id: 1, status: 403, error: UNAVAILABLE }]);
});

test('changes the ETag of the pages that showed the record', async () => {
  await using sandbox = await startPeople();
  const { etag: before = '' } = (await call(sandbox, 'Person/select.json')).headers;

  await remove(sandbox, 'id=1');

  const after = await call(sandbox, 'Person/select.json', { headers: { 'If-None-Match': before } });
  expect(after.status).toBe(200);
});

const MANY = Array.from({ length: 501 }, (_, index) => `id=${index}`).join('&');

// Specification, sandbox: 4.7-6, 4.7-7
test.each([
  ['ids mixed with keys', 'id=1&key=1', 'id'],
  ['neither id nor key', 'purge=1', 'key'],
  ['501 ids', MANY, 'id'],
  ['501 keys', MANY.replaceAll('id=', 'key='), 'key'],
  ['an id that is no number', 'id=1&id=x', 'id'],
  ['a negative id', 'id=-1', 'id'],
  ['a purge that is neither 0 nor 1', 'id=1&purge=please', 'purge'],
  ['a workflow that is neither 0 nor 1', 'id=1&workflow=2', 'workflow'],
])('refuses %s as a whole', async (_what, query, source) => {
  await using sandbox = await startPeople();

  const answer = await remove(sandbox, query);

  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.text)).toMatchObject({ error: 400, code: 2100, source });
  expect(sandbox.store.count('Person')).toBe(2);
});

// Specification, sandbox: 4.7-7
test('takes 500 ids', async () => {
  await using sandbox = await startPeople();

  const answer = await remove(sandbox, MANY.replace(/&id=500$/, ''));

  expect(JSON.parse(answer.text)).toHaveLength(500);
});

// Specification, sandbox: 4.7-4
test('takes workflow=0 only from those who manage data', async () => {
  await using sandbox = await startPeople();

  expect(await remove(sandbox, 'id=1&workflow=0')).toMatchObject({ status: 200 });
  sandbox.store.changeUser({ admin: [] });
  const answer = await remove(sandbox, 'id=2&workflow=0');

  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.text)).toMatchObject({ error: 403, code: 2400, source: 'workflow' });
  expect(sandbox.store.ids('Person')).toEqual([2]);
});

test('fails record by record for a reader', async () => {
  await using sandbox = await startPeople();
  sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  sandbox.store.changeUser({ role: 'Reader' });

  const answer = await remove(sandbox, 'id=1');

  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toEqual([{ id: 1, status: 403, error: UNAVAILABLE }]);
  expect(sandbox.store.count('Person')).toBe(2);
});

test('leaves rows of others alone where a role is limited to its own', async () => {
  await using sandbox = await startPeople();
  sandbox.store.setRole({ name: 'Own', canWrite: true, editOwnOnly: true, hiddenTables: [], hiddenColumns: [] });
  sandbox.store.changeUser({ role: 'Own' });
  sandbox.store.update('Person', 2, { 'Record Owner': 'Jonas Weber <jonas.weber@example.com>' });

  const answer = await remove(sandbox, 'id=1&id=2');

  expect(JSON.parse(answer.text)).toMatchObject([{ status: 200 }, { status: 403, error: UNAVAILABLE }]);
});

test('asks nothing of rows that refer to the deleted one', async () => {
  const child: TableSpec = {
    name: 'Child',
    columns: [
      { name: 'Parent', type: 'Text' },
      {
        name: 'Parent Name',
        type: 'Text',
        computed: { how: 'lookup', reference: 'Parent', table: 'Person', column: 'Name' },
      },
    ],
    rows: [{ Parent: '1' }],
  };
  await using sandbox = await startPeople([people, child]);

  expect(JSON.parse((await remove(sandbox, 'id=1')).text)).toEqual([{ id: 1, status: 200 }]);
  expect(sandbox.store.rows('Child')).toMatchObject([{ values: { Parent: '1', 'Parent Name': null } }]);
});
