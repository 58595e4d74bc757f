import { describe, expect, test } from 'vitest';
import type { TestSandbox } from '../../support/sandbox.ts';
import { post } from '../client.ts';
import { people, startPeople, statuses } from '../people.ts';

function person(sandbox: TestSandbox, id: number): Readonly<Record<string, unknown>> | undefined {
  return sandbox.store.rows('Person').find((row) => row.id === id)?.values;
}

describe('the rules of rows', () => {
  const ok = (status: number, id: number, key = String(id)): object => ({ status, id, key });
  const bad = (error: object, rest: object = {}): object => ({
    status: 400,
    ...rest,
    errors: [{ error: 400, ...error }],
  });
  const text = (column: string, type: string): object => ({
    code: 4103,
    message: `The value for column "${column}" is not of type ${type}`,
    source: column,
  });
  const empty = (column: string): object => ({
    code: 4101,
    message: `Cannot insert empty value into column "${column}"`,
    source: column,
  });
  const taken = (value: string, column: string): object => ({
    error: 409,
    code: 4100,
    message: `Cannot insert duplicate value "${value}" into column "${column}"`,
    source: column,
  });
  const missing = { code: 4000, message: 'Record is not found or not accessible' };

  // Specification, sandbox: 4.6-4, 4.6-5, 4.6-6, 4.6-12, 4.6-18, 4.6-20, 4.6-21, 4.6-22, 4.6-23, 4.6-24, 7-1
  test.each<[string, string, object, object]>([
    // create
    ['create makes a record', 'create', { Name: 'Cy' }, ok(201, 3)],
    ['create takes a key', 'create', { Id: '90', Name: 'Cy' }, ok(201, 3, '90')],
    ['create takes a key as a number', 'create', { Id: 90, Name: 'Cy' }, ok(201, 3, '90')],
    ['create fails on a key that exists', 'create', { Id: '1', Name: 'Cy' }, bad(taken('1', 'Id'), { key: '1' })],
    ['create ignores an id', 'create', { '@row.id': 1, Name: 'Cy' }, ok(201, 3)],
    ['create misses a required column', 'create', { Score: 1 }, bad(empty('Name'))],
    ['create with an explicit null', 'create', { Name: null }, bad(empty('Name'))],
    ['create with an empty text', 'create', { Name: '' }, bad(empty('Name'))],
    ['create with null for the key', 'create', { Id: null, Name: 'Cy' }, bad(empty('Id'))],
    [
      'create of a taken unique value',
      'create',
      { Name: 'C', 'E-Mail': 'bob@example.org' },
      bad(taken('bob@example.org', 'E-Mail')),
    ],
    ['create with two empty unique values', 'create', { Name: 'C', 'E-Mail': null }, ok(201, 3)],
    // update
    ['update by key', 'update', { Id: '1', Score: 5 }, ok(200, 1)],
    ['update by id', 'update', { '@row.id': 1, Score: 5 }, ok(200, 1)],
    ['update by id as digits', 'update', { '@row.id': '1', Score: 5 }, ok(200, 1)],
    ['update by alias', 'update', { '@row.id': 1, f_2445931: 'Eve' }, ok(200, 1)],
    ['update by a name in another case', 'update', { '@row.id': 1, name: 'Eve' }, ok(200, 1)],
    ['update takes the id before the key', 'update', { '@row.id': 2, Id: '8' }, ok(200, 2, '8')],
    [
      'update of the key to one that exists',
      'update',
      { '@row.id': 2, Id: '1' },
      bad(taken('1', 'Id'), { id: 2, key: '1' }),
    ],
    ['update that changes nothing', 'update', { Id: '1', Name: 'Ada', Score: 1 }, ok(304, 1)],
    ['update that names no column', 'update', { Id: '1' }, ok(304, 1)],
    [
      'update of a missing key',
      'update',
      { Id: '99', Name: 'x' },
      { status: 404, key: '99', errors: [{ error: 404, ...missing, source: 'Id' }] },
    ],
    [
      'update of a missing id',
      'update',
      { '@row.id': 99, Id: '1' },
      { status: 404, id: 99, key: '1', errors: [{ error: 404, ...missing, source: '@row.id' }] },
    ],
    [
      'update without id and key',
      'update',
      { Name: 'x' },
      bad({ code: 4001, message: 'A record id or a value for column "Id" is required', source: 'Id' }),
    ],
    [
      'update with null for the key',
      'update',
      { Id: null, Name: 'x' },
      bad({ code: 4001, message: 'A record id or a value for column "Id" is required', source: 'Id' }),
    ],
    ['update of the key to null', 'update', { '@row.id': 1, Id: null }, bad(empty('Id'), { id: 1 })],
    ['update of a required column to null', 'update', { Id: '1', Name: null }, bad(empty('Name'), { id: 1, key: '1' })],
    // upsert
    ['upsert of a key that exists', 'upsert', { Id: '1', Score: 5 }, ok(200, 1)],
    ['upsert of a new key', 'upsert', { Id: '77', Name: 'x' }, ok(201, 3, '77')],
    ['upsert without a key', 'upsert', { Name: 'x' }, ok(201, 3)],
    ['upsert with an id that is missing', 'upsert', { '@row.id': 99, Name: 'x' }, ok(201, 3)],
    ['upsert that changes nothing', 'upsert', { Id: '1', Name: 'Ada' }, ok(304, 1)],
    ['upsert by match', 'upsert.json?match=E-Mail', { 'E-Mail': 'bob@example.org', Score: 9 }, ok(200, 2)],
    [
      'upsert by an alias as match',
      'upsert.json?match=f_2445932',
      { f_2445932: 'bob@example.org', Score: 9 },
      ok(200, 2),
    ],
    [
      'upsert by match of a new value',
      'upsert.json?match=E-Mail',
      { 'E-Mail': 'new@example.org', Name: 'x' },
      ok(201, 3),
    ],
    ['upsert by match without the value', 'upsert.json?match=E-Mail', { Name: 'x' }, ok(201, 3)],
    ['upsert by match with null', 'upsert.json?match=E-Mail', { 'E-Mail': null, Name: 'x' }, ok(201, 3)],
    [
      'update by match without the value',
      'update.json?match=E-Mail',
      { Name: 'x' },
      bad({ code: 4001, message: 'A record id or a value for column "E-Mail" is required', source: 'E-Mail' }),
    ],
    [
      'update by match, the id first',
      'update.json?match=E-Mail',
      { '@row.id': 1, 'E-Mail': 'z@example.org' },
      ok(200, 1),
    ],
    // columns and values
    [
      'a column that does not exist',
      'update',
      { Id: '1', Nope: 1 },
      bad({ code: 3100, message: 'Column does not exist', source: 'Nope' }, { key: '1' }),
    ],
    [
      'a computed column',
      'update',
      { Id: '1', Label: 'x' },
      bad({ code: 3102, message: 'Column "Label" is read-only', source: 'Label' }, { key: '1' }),
    ],
    [
      'a system column',
      'update',
      { Id: '1', 'Date Created': null },
      bad({ code: 3102, message: 'Column "Date Created" is read-only', source: 'Date Created' }, { key: '1' }),
    ],
    [
      'a read-only column',
      'update',
      { Id: '1', Frozen: 'x' },
      bad({ code: 3102, message: 'Column "Frozen" is read-only', source: 'Frozen' }, { key: '1' }),
    ],
    [
      'a column by name and by alias',
      'update',
      { Id: '1', Name: 'x', f_2445931: 'y' },
      bad({ code: 4104, message: 'Column "Name" is given twice', source: 'Name' }, { key: '1' }),
    ],
    [
      'a text that is too long',
      'update',
      { Id: '1', Name: '12345678901' },
      bad({ code: 4102, message: 'Text exceeds maximum length of 10 characters', source: 'Name' }, { id: 1, key: '1' }),
    ],
    ['a text of the full width', 'update', { Id: '1', Name: '1234567890' }, ok(200, 1)],
    ['a number in a text', 'update', { Id: '1', Name: 1 }, bad(text('Name', 'Text'), { key: '1' })],
    ['an object in a text', 'update', { Id: '1', Name: { a: 1 } }, bad(text('Name', 'Text'), { key: '1' })],
    ['a text in a number', 'update', { Id: '1', Score: 'many' }, bad(text('Score', 'Numeric'), { key: '1' })],
    ['a text in a checkbox', 'update', { Id: '1', Active: 'yes' }, bad(text('Active', 'Checkbox'), { key: '1' })],
    ['a day that does not exist', 'update', { Id: '1', Born: '2026-02-30' }, bad(text('Born', 'Date'), { key: '1' })],
    ['a Unix time', 'update', { Id: '1', Seen: 1_700_000_000 }, bad(text('Seen', 'Timestamp'), { key: '1' })],
    ['a user without an e-mail', 'update', { Id: '1', Boss: 'Somebody' }, bad(text('Boss', 'User'), { key: '1' })],
    [
      'a text in an attachment',
      'update',
      { Id: '1', Photo: 'a.png;1;x' },
      bad(
        {
          code: 4103,
          message: 'The value for column "Photo" is not "cid:" and the Content-ID of a file',
          source: 'Photo',
        },
        { key: '1' },
      ),
    ],
    [
      'a file that did not come',
      'update',
      { Id: '1', Photo: 'cid:a' },
      bad(
        { code: 4103, message: 'No file comes with the Content-ID for column "Photo"', source: 'Photo' },
        { key: '1' },
      ),
    ],
  ])('%s', async (_title, method, row, expected) => {
    await using sandbox = await startPeople();
    const path = method.includes('.') ? `Person/${method}` : `Person/${method}.json`;
    const before = sandbox.store.rows('Person');

    const [status] = (await statuses(sandbox, path, [row])) as [{ readonly status: number }];

    expect(status).toEqual(expected);
    // Whatever was not written left no trace.
    const isSame = JSON.stringify(sandbox.store.rows('Person')) === JSON.stringify(before);
    expect(isSame).toBe(status.status >= 300);
  });
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
