import { describe, expect, test } from 'vitest';

import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call, post } from '../client.ts';
import { people, startPeople, statuses } from '../people.ts';

function person(sandbox: TestSandbox, id: number): Readonly<Record<string, unknown>> | undefined {
  return sandbox.store.rows('Person').find((row) => row.id === id)?.values;
}

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

test('says everything that is wrong with a row', async () => {
  await using sandbox = await startPeople();

  const result = await statuses(sandbox, 'Person/create.json', [{ Nope: 1, Score: 'x', Label: 'y' }]);

  expect(result).toMatchObject([
    { status: 400, errors: [{ source: 'Nope' }, { source: 'Score' }, { source: 'Label' }] },
  ]);
});

test('keeps six decimals of a number, in both formats', async () => {
  await using sandbox = await startPeople();

  await post(sandbox, 'Person/update.json', { '@row.id': 1, Score: 12.1234567 });

  expect(person(sandbox, 1)).toMatchObject({ Score: 12.123457 });
});

const BORN = {
  name: 'Birth',
  columns: [
    { name: 'Day', type: 'Date' },
    { name: 'At', type: 'Timestamp' },
  ],
} as const;

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

test('takes no number for a row that fails', async () => {
  await using sandbox = await startPeople([
    { ...people, rules: [{ when: 'create', set: 'Name', to: '"much too long for it"', where: '[Name] = "Bad"' }] },
  ]);

  const result = await statuses(sandbox, 'Person/create.json', [{ Name: 'Bad' }, { Name: 'Good' }]);

  expect(result).toMatchObject([
    { status: 400, errors: [{ code: 4102, source: 'Name' }] },
    { status: 201, id: 3, key: '3' },
  ]);
});

// Specification, sandbox: 2.4-1, 4.6-19
test('gives omitted columns their defaults and explicit nulls none', async () => {
  await using sandbox = await startPeople();

  await post(sandbox, 'Person/create.json', [{ Name: 'A' }, { Name: 'B', Score: null, Active: null }]);

  expect(person(sandbox, 3)).toMatchObject({ Score: 7, Active: true, Frozen: 'ice', Notes: null });
  expect(person(sandbox, 4)).toMatchObject({ Score: null, Active: null });
});

// Specification, sandbox: 2.4-9, 2.4-17, 2.4-19, 2.4-21, 2.4-37
test('stores every type of value, timestamps in the zone of the user', async () => {
  await using sandbox = await startPeople();
  sandbox.store.changeUser({ timezone: 'America/New_York' });
  const row = {
    Notes: 'a\r\nb',
    Score: 12.5,
    Born: '2001-02-03T10:11:12+05:00',
    Alarm: '06:30',
    Seen: '2026-07-01T12:00:00',
    Took: 90,
    Boss: 'jonas.weber@example.com',
    'Record Owner': 'Nobody <ZOE.OBRIEN@example.com>',
  };

  await post(sandbox, 'Person/update.json', [
    { Id: '1', ...row },
    { Id: '2', Seen: '2026-07-01T12:00:00+02:00' },
  ]);

  expect(person(sandbox, 1)).toMatchObject({
    Notes: 'a\nb',
    Score: 12.5,
    Born: '2001-02-03',
    Alarm: '06:30:00',
    Seen: '2026-07-01T16:00:00Z',
    Took: 90,
    Boss: 'Jonas Weber <jonas.weber@example.com>',
    'Record Owner': "Zoë O'Brien <zoe.obrien@example.com>",
  });
  expect(person(sandbox, 2)).toMatchObject({ Seen: '2026-07-01T10:00:00Z' });
});

test('finds no change in values that only look different', async () => {
  await using sandbox = await startPeople();
  const row = { Id: '1', Notes: 'a\nb', Boss: 'jonas.weber@example.com', Seen: '2026-07-01T12:00:00Z', Score: 2 };
  await post(sandbox, 'Person/update.json', row);

  const again = { ...row, Notes: 'a\r\nb', Boss: 'X <jonas.weber@example.com>', Seen: '2026-07-01T14:00:00+02:00' };

  expect(await statuses(sandbox, 'Person/update.json', again)).toEqual([{ status: 304, id: 1, key: '1' }]);
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
