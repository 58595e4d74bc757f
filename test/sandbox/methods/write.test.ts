import { describe, expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call, post, type RawAnswer } from '../client.ts';
import { people, startPeople, statuses } from '../people.ts';

const UNAVAILABLE = { error: 403, code: 4000, message: 'Record is not found or not accessible' };

function remove(sandbox: TestSandbox, query: string, extension = 'json'): Promise<RawAnswer> {
  return call(sandbox, `Person/delete.${extension}?${query}`);
}

async function deletedIds(sandbox: TestSandbox): Promise<readonly number[]> {
  const rows = JSON.parse((await call(sandbox, 'Person/deleted.json')).text) as { readonly '@row.id': number }[];
  return rows.map((row) => row['@row.id']);
}

function* rowsNamed(...names: readonly string[]): Generator<{ readonly Name: string }> {
  for (const Name of names) yield { Name };
}

const MANY = Array.from({ length: 501 }, (_, index) => `id=${index}`).join('&');

function person(sandbox: TestSandbox, id: number): Readonly<Record<string, unknown>> | undefined {
  return sandbox.store.rows('Person').find((row) => row.id === id)?.values;
}

const BORN = {
  name: 'Birth',
  columns: [
    { name: 'Day', type: 'Date' },
    { name: 'At', type: 'Timestamp' },
  ],
} as const;

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

describe('workflow rules', () => {
  const ruled: TableSpec = {
    ...people,
    rules: [
      { when: 'create', set: 'Seen', to: 'Now()' },
      { when: 'update', set: 'Notes', to: 'Concat("was ", [Name])', where: '[Score] > 10' },
      { when: 'write', set: 'Frozen', to: '[Notes]', where: 'not IsNull([Notes])' },
      { when: 'write', set: 'Boss', to: 'User()' },
    ],
  };

  // Specification, sandbox: 1-3, 4.6-25
  test('change other columns after a write, in their order', async () => {
    await using sandbox = await startPeople([ruled]);

    await post(sandbox, 'Person/upsert.json', [{ Name: 'New' }, { Id: '1', Score: 11 }, { Id: '2', Score: 9 }]);

    const boss = 'Alice Martin <alice.martin@example.com>';
    expect(person(sandbox, 3)).toMatchObject({ Seen: '2026-01-01T00:00:00Z', Notes: null, Frozen: 'ice', Boss: boss });
    expect(person(sandbox, 1)).toMatchObject({ Seen: null, Notes: 'was Ada', Frozen: 'was Ada', Boss: boss });
    expect(person(sandbox, 2)).toMatchObject({ Notes: null, Frozen: 'ice', Boss: boss });
  });

  test('do not run where nothing changed', async () => {
    await using sandbox = await startPeople([ruled]);

    expect(await statuses(sandbox, 'Person/update.json', { Id: '1', Name: 'Ada' })).toMatchObject([{ status: 304 }]);
    expect(person(sandbox, 1)).toMatchObject({ Boss: null });
  });

  // Specification, sandbox: 4.6-2
  test('are suppressed by workflow=0, for those who may', async () => {
    await using sandbox = await startPeople([ruled]);

    await post(sandbox, 'Person/update.json?workflow=0', { Id: '1', Score: 11 });
    await post(sandbox, 'Person/update.json?workflow=1', { Id: '2', Score: 11 });

    expect(person(sandbox, 1)).toMatchObject({ Score: 11, Notes: null });
    expect(person(sandbox, 2)).toMatchObject({ Notes: 'was Bob' });
  });

  // Specification, sandbox: 4.6-3
  test('cannot be suppressed without ManageData: the call fails', async () => {
    await using sandbox = await startPeople([ruled]);
    sandbox.store.changeUser({ admin: ['ManageUsers'] });

    const answer = await post(sandbox, 'Person/update.json?workflow=0', { Id: '1', Score: 11 });

    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 403, code: 2400, source: 'workflow' });
    expect(person(sandbox, 1)).toMatchObject({ Score: 1 });
  });

  test.each([
    ['names a column that is gone', { when: 'write', set: 'Nope', to: '1' }],
    ['has a formula of another type', { when: 'write', set: 'Score', to: '"text"' }],
    ['has a formula that cannot be read', { when: 'write', set: 'Score', to: '1 +' }],
    ['breaks a constraint', { when: 'write', set: 'E-Mail', to: '"bob@example.org"' }],
  ] as const)('that %s fails the row, which then is as before', async (_what, rule) => {
    await using sandbox = await startPeople([{ ...people, rules: [rule] }]);

    expect(await statuses(sandbox, 'Person/update.json', { Id: '1', Score: 11 })).toMatchObject([{ status: 400 }]);
    expect(person(sandbox, 1)).toMatchObject({ Score: 1, 'E-Mail': 'ada@example.org' });
  });
});

// Specification, sandbox: 4.6-16, 4.6-17, 4.6-26
test('answers a status for each row in its order; rows that fail touch no others', async () => {
  await using sandbox = await startPeople();

  const result = await statuses(sandbox, 'Person/upsert.json', [
    { Name: 'One' },
    { Name: 'far too long a name', Id: '1' },
    { Id: '2', Score: 20 },
    { Nope: 1 },
    { Id: '2', Score: 20 },
    { Name: 'Two' },
  ]);

  expect(result).toMatchObject([
    { status: 201, id: 3, key: '3' },
    { status: 400, id: 1 },
    { status: 200, id: 2 },
    { status: 400 },
    { status: 304, id: 2 },
    { status: 201, id: 4, key: '4' },
  ]);
  expect(sandbox.store.rows('Person').map(({ values }) => values['Name'])).toEqual(['Ada', 'Bob', 'One', 'Two']);
});

test('sees the first row of a body when the second has the same unique value', async () => {
  await using sandbox = await startPeople();

  const result = await statuses(sandbox, 'Person/create.json', [
    { Name: 'A', Id: '50', 'E-Mail': 'same@example.org' },
    { Name: 'B', 'E-Mail': 'same@example.org' },
    { Name: 'C', Id: '50' },
  ]);

  expect(result).toMatchObject([
    { status: 201 },
    { status: 400, errors: [{ error: 409, source: 'E-Mail' }] },
    { status: 400, errors: [{ error: 409, source: 'Id' }] },
  ]);
});

test.each([
  ['Unix seconds', { Day: 1_795_766_400, At: 1_795_766_400 }],
  ['Unix seconds as text', { Day: '1795766400', At: '1795766400' }],
  ['slashes', { Day: '2026/11/27', At: '2026/11/27 09:00:00' }],
])('takes dates as %s only where it is told to', async (_form, row) => {
  await using strict = await startTestSandbox({ tables: [BORN] });
  await using lenient = await startTestSandbox({ tables: [BORN], lenientDates: true });

  expect(await statuses(strict, 'Birth/create.json', [row])).toMatchObject([{ status: 400 }]);
  expect(await statuses(lenient, 'Birth/create.json', [row])).toMatchObject([{ status: 201 }]);
  expect(lenient.store.rows('Birth')).toMatchObject([{ values: { Day: '2026-11-27', At: '2026-11-27T08:00:00Z' } }]);
});

test('counts on from a key that was given, also by an update', async () => {
  await using sandbox = await startPeople();

  await post(sandbox, 'Person/create.json', { Name: 'A', Id: '40' });
  await post(sandbox, 'Person/update.json', { '@row.id': 1, Id: '60' });

  expect(await statuses(sandbox, 'Person/create.json', { Name: 'B' })).toMatchObject([{ key: '61' }]);
});

test('stamps who changed a row and when, and nothing else of it', async () => {
  const clock = testClock();
  await using sandbox = await startTestSandbox({ tables: [people], clock });
  clock.advance(60_000);

  await post(sandbox, 'Person/update.json', { Id: '1', Score: 50 });

  expect(person(sandbox, 1)).toMatchObject({
    'Date Created': '2026-01-01T00:00:00Z',
    'Date Modified': '2026-01-01T00:01:00Z',
  });
  expect(person(sandbox, 2)).toMatchObject({ 'Date Modified': '2026-01-01T00:00:00Z' });
});

test('changes the ETags of the pages that show a change, and of no others', async () => {
  await using sandbox = await startPeople([
    people,
    { name: 'Other', columns: [{ name: 'A', type: 'Text' }], rows: [{ A: 'x' }] },
  ]);
  const pages = [
    'Person/select.json?top=1',
    'Person/select.json?top=1&skip=1',
    'Other/select.json',
    'Person/describe.json',
  ];
  const tags = async (): Promise<unknown[]> => {
    const answers = await Promise.all(pages.map((page) => call(sandbox, page)));
    return answers.map(({ headers }) => headers['etag']);
  };
  const before = await tags();

  await post(sandbox, 'Person/update.json', { Id: '2', Score: 50 });

  const after = await tags();
  expect(after.map((tag, index) => tag === before[index])).toEqual([true, false, true, true]);
});

// Specification, sandbox: 4.10-2
test('answers a call that may not be kept: no ETag, no-cache', async () => {
  await using sandbox = await startPeople();

  const answer = await post(
    sandbox,
    'Person/update.json',
    { Id: '1', Score: 50 },
    { headers: { 'If-None-Match': '*' } },
  );

  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-cache',
    'content-type': 'application/json;charset=utf-8',
  });
  expect(answer.headers['etag']).toBeUndefined();
});

describe('the bytes of the specification', () => {
  const json = '[{"Id":"1","Score":50},{"Id":"1","Score":50},{"Name":"Cy"},{"Id":"2","Nope":1}]';
  const xml =
    '<rows xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><r id="1"><Score>50</Score></r><r><Id>1</Id><Score>50.0</Score></r>' +
    '<any><Name>Cy</Name><Notes/></any><row><Id>2</Id><Nope>1</Nope></row></rows>';
  const asJson =
    '[{"status":200,"id":1,"key":"1"},{"status":304,"id":1,"key":"1"},{"status":201,"id":3,"key":"3"},' +
    '{"status":400,"key":"2","errors":[{"error":400,"code":3100,"message":"Column does not exist","source":"Nope"}]}]';
  const asXml =
    '<row><status>200</status><id>1</id><key>1</key></row><row><status>304</status><id>1</id><key>1</key></row>' +
    '<row><status>201</status><id>3</id><key>3</key></row><row><status>400</status><key>2</key><errors><Error>' +
    '<error>400</error><code>3100</code><message>Column does not exist</message><source>Nope</source></Error></errors></row>';

  // Specification, sandbox: 1-1, 1-2, 2.5-7, 2.6-1, 2.6-2, 2.6-3, 2.6-5, 2.7-1, 2.7-3, 4.6-8, 4.6-10, 4.6-26, 4.6-27
  // Specification, sandbox: 4.6-28, 4.6-29, 4.6-30, 4.6-31, 4.6-32
  test.each([
    ['JSON', 'json', 'JSON', json, 'application/json'],
    ['JSON', 'xml', 'XML', json, 'Application/JSON; charset=UTF-8'],
    ['XML', 'json', 'JSON', xml, 'text/xml;charset=utf-8'],
    ['XML', 'xml', 'XML', xml, 'application/xml'],
  ])('%s in, %s out', async (_in, extension, _out, body, type) => {
    await using sandbox = await startPeople();

    const answer = await post(sandbox, `Person/upsert.${extension}`, body, { type });

    expect(answer.status).toBe(200);
    expect(answer.text.replace(/^<\?xml [^>]*\?><Response[^>]*>/, '<Response>')).toBe(
      extension === 'json' ? asJson : `<Response>${asXml}</Response>`,
    );
  });
});

test('takes one bare object for one row, and no rows at all', async () => {
  await using sandbox = await startPeople();

  expect(await statuses(sandbox, 'Person/create.json', { Name: 'A' })).toEqual([{ status: 201, id: 3, key: '3' }]);
  expect(await statuses(sandbox, 'Person/create.json', [])).toEqual([]);
});

// Specification, sandbox: 4.6-1
test.each([
  ['create', 'GET'],
  ['update', 'HEAD'],
  ['upsert', 'PUT'],
  ['upsert', 'DELETE'],
])('takes %s only by POST, not by %s', async (method, verb) => {
  await using sandbox = await startPeople();

  const answer = await call(sandbox, `Person/${method}.json`, { verb });

  expect(answer.status).toBe(405);
  expect(answer.text === '').toBe(verb === 'HEAD');
  expect(answer.headers['content-type']).toBe('application/json;charset=utf-8');
});

test.each(['select', 'retrieve', 'describe', 'delete'])('does not take %s by POST', async (method) => {
  await using sandbox = await startPeople();

  const answer = await post(sandbox, `Person/${method}.json?id=1`, '[]');

  expect(answer.status).toBe(405);
  expect(sandbox.store.count('Person')).toBe(2);
});

test.each([
  ['a match column that does not exist', 'match=Nope', 400, { code: 3100, source: 'Nope' }],
  ['a match column that is not unique', 'match=Name', 400, { code: 3106, source: 'Name' }],
  ['a workflow that is neither 0 nor 1', 'workflow=maybe', 400, { code: 2100, source: 'workflow' }],
])('refuses a call with %s', async (_what, query, status, error) => {
  await using sandbox = await startPeople();

  const answer = await post(sandbox, `Person/upsert.json?${query}`, [{ Name: 'A', 'E-Mail': 'x' }]);

  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.text)).toMatchObject({ error: status, ...error });
  expect(sandbox.store.count('Person')).toBe(2);
});
