/**
 * The reading half of the specification as statements about any server that claims to speak it (sections 2.2 to 2.5,
 * 4.1 to 4.5, 4.10, 5 and 8). Run against a sandbox, or against a database named in the environment (see target.ts).
 */
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';

import type { ColumnFields, RowFields } from '../../src/extras/questions/server.ts';
import { needFor, openTarget, query, segment, type Target } from './target.ts';

let target: Target;

beforeAll(async () => {
  target = await openTarget();
});

afterAll(() => target.stop());

function need<T>(subject: T | undefined | null, what: string, context: TestContext): T {
  return needFor(target, subject, what, context);
}

async function select(...pairs: readonly (readonly [string, string | number])[]): Promise<readonly RowFields[]> {
  return (await target.json(`${target.table.alias}/select.json?${query(...pairs)}`)) as readonly RowFields[];
}

function columnOfType(type: string): ColumnFields | undefined {
  return target.table.columns.find((column) => column.type === type);
}

/** Values other than null of the first column of a type, of the first page; at least one. */
async function valuesOfType(type: string, context: TestContext): Promise<readonly unknown[]> {
  const { name } = need(columnOfType(type), `column of type ${type}`, context);
  const values = (await select(['column', name])).map((row) => row[name]).filter((value) => value !== null);
  need(values[0], `value in a column of type ${type}`, context);
  return values;
}

const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/;

describe('descriptors and the user', () => {
  // Specification, sandbox: 2.2-1, 2.2-2, 2.2-3, 2.2-4, 2.2-5, 2.2-6, 2.2-7, 2.2-8, 4.1-1
  test('the database descriptor has every field of section 2.2', async () => {
    expect(await target.json('describe.json')).toMatchObject({
      id: expect.any(String) as string,
      name: expect.any(String) as string,
      description: expect.any(String) as string,
      culture: expect.any(String) as string,
      timeZone: expect.stringMatching(/^[A-Za-z]+(?:\/[\w+-]+)*$/) as string,
      tables: expect.arrayContaining([
        expect.objectContaining({
          id: expect.any(Number) as number,
          recordName: expect.any(String) as string,
          recordsName: expect.any(String) as string,
          alias: expect.any(String) as string,
          showTab: expect.any(Boolean) as boolean,
          color: expect.stringMatching(/^#[0-9A-Fa-f]{6}$/) as string,
        }),
      ]) as unknown[],
    });
  });

  // Specification, sandbox: 2.1-1, 2.1-2, 4.3-1
  test('a table is described under its name and under its alias alike', async () => {
    const byName = await target.json(`${segment(target.table.recordName)}/describe.json`);

    expect(byName).toEqual(await target.json(`${target.table.alias}/describe.json`));
  });

  // Specification, sandbox: 2.3-1, 2.3-2, 2.3-3, 2.3-4, 2.3-5, 2.3-6
  test('the table descriptor has every field of section 2.3', async () => {
    const table = await target.json(`${target.table.alias}/describe.json`);

    expect(table).toMatchObject({
      id: expect.any(Number) as number,
      recordName: expect.any(String) as string,
      allowAdd: expect.any(Boolean) as boolean,
      key: expect.any(String) as string,
    });
    for (const column of target.table.columns) {
      expect(column).toMatchObject({
        id: expect.any(Number) as number,
        name: expect.any(String) as string,
        alias: expect.any(String) as string,
        type: expect.any(String) as string,
        dataOptions: expect.any(String) as string,
      });
    }
    expect(target.table.columns.map(({ name }) => name)).toContain(target.table.key);
  });

  // Specification, sandbox: 2.9-1, 2.9-2, 2.9-3, 4.2-1
  test('the user descriptor has every field of section 2.9', async () => {
    expect(await target.json('user.json')).toMatchObject({
      id: expect.any(Number) as number,
      email: expect.stringContaining('@') as string,
      firstName: expect.any(String) as string,
      lastName: expect.any(String) as string,
      role: expect.any(String) as string,
      culture: expect.any(String) as string,
      timezone: expect.any(String) as string,
      admin: expect.any(String) as string,
    });
  });
});

describe('values in JSON (2.4)', () => {
  // Specification, sandbox: 2.5-1, 2.5-3
  test('every row has an integer id and its allowed actions', async () => {
    for (const row of await select(['top', 5])) {
      expect(Number.isSafeInteger(row['@row.id'])).toBe(true);
      expect(row['@row.allow']).toEqual(expect.any(String));
    }
  });

  // Specification, sandbox: 2.4-26, 2.4-27, 2.4-28, 2.4-29, 2.4-30
  test.for([
    ['Text', 'string'],
    ['Multiline', 'string'],
    ['User', 'string'],
    ['Phone', 'string'],
    ['EMail', 'string'],
    ['URL', 'string'],
    ['Autonumber', 'string'],
    ['Attachment', 'string'],
    ['Checkbox', 'boolean'],
    ['Numeric', 'number'],
    ['Duration', 'number'],
  ] as const)('%s is a %s', async ([type, jsonType], context) => {
    for (const value of await valuesOfType(type, context)) expect(typeof value).toBe(jsonType);
  });

  // Specification, sandbox: 2.4-31
  test('Multiline separates lines with \\r\\n', async (context) => {
    for (const value of await valuesOfType('Multiline', context)) {
      expect(String(value).replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    }
  });

  // Specification, sandbox: 2.4-32
  test('Date is midnight in UTC', async (context) => {
    for (const value of await valuesOfType('Date', context)) {
      expect(value).toMatch(/^\d{4}-\d\d-\d\dT00:00:00\+00:00$/);
    }
  });

  // Specification, sandbox: 2.4-33
  test('Time is on the first day of year one, in UTC', async (context) => {
    for (const value of await valuesOfType('Time', context)) {
      expect(value).toMatch(/^0001-01-01T\d\d:\d\d:\d\d\+00:00$/);
    }
  });

  // Specification, sandbox: 2.4-34, 2.4-35
  test("Timestamp has the offset of the calling user's zone", async (context) => {
    const { timezone } = (await target.json('user.json')) as { readonly timezone: string };
    const format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
    for (const value of await valuesOfType('Timestamp', context)) {
      expect(value).toMatch(STAMP);
      const text = value as string;
      const named = format.formatToParts(new Date(text)).find(({ type }) => type === 'timeZoneName')?.value;
      expect(`GMT${text.slice(-6)}`).toBe(named === 'GMT' ? 'GMT+00:00' : named);
    }
  });
});

describe('select (4.4)', () => {
  // Specification, sandbox: 4.4-6, 4.4-13
  test('without parameters returns at most 500 rows', async () => {
    const rows = await select();

    expect(rows.length).toBeGreaterThan(1);
    expect(rows.length).toBeLessThanOrEqual(500);
  });

  test('returns what `column=*` returns when no column is named', async () => {
    expect(await select(['top', 3], ['column', '*'], ['sort', target.table.key])).toEqual(
      await select(['top', 3], ['sort', target.table.key]),
    );
  });

  // Specification, sandbox: 2.1-3, 2.1-4, 4.4-1
  test('returns the named columns under their names, by name or by alias', async () => {
    const [key] = target.table.columns.filter(({ name }) => name === target.table.key);
    const byName = await select(['column', target.table.key], ['top', 2], ['sort', target.table.key]);
    const byAlias = await select(['column', key?.alias ?? ''], ['top', 2], ['sort', target.table.key]);

    expect(Object.keys(byName[0] ?? {}).filter((name) => !name.startsWith('@row.'))).toEqual([target.table.key]);
    expect(byAlias).toEqual(byName);
  });

  // Specification, sandbox: 4.4-4
  test('combines `*` with other columns', async (context) => {
    const all = await select(['top', 1]);
    const extra = need(
      target.table.columns.find(({ name }) => !Object.hasOwn(all[0] ?? {}, name)),
      'column outside of `*`',
      context,
    );

    const [row] = await select(['column', '*'], ['column', extra.name], ['top', 1]);

    expect(Object.keys(row ?? {})).toEqual(expect.arrayContaining([...Object.keys(all[0] ?? {}), extra.name]));
  });

  // Specification, sandbox: 4.4-14
  test('top and skip cut the same order into pages', async () => {
    const sort = ['sort', target.table.key] as const;
    const whole = await select(sort, ['top', 4]);
    const parts = [...(await select(sort, ['top', 2])), ...(await select(sort, ['top', 2], ['skip', 2]))];

    expect(parts).toEqual(whole);
  });

  test('a skip behind the end returns no rows', async () => {
    expect(await select(['skip', 100_000_000], ['top', 1])).toEqual([]);
  });

  // Specification, sandbox: 4.4-7, 4.4-10, 4.4-11
  test('sorts ascending by default, descending with //DESC', async () => {
    const key = target.table.key;
    const up = await select(['sort', key], ['column', key], ['top', 500]);
    const explicit = await select(['sort', `${key}//ASC`], ['column', key], ['top', 500]);
    const down = await select(['sort', `${key}//DESC`], ['column', key], ['top', 1]);

    expect(explicit).toEqual(up);
    expect(down[0]?.[key]).not.toEqual(up[0]?.[key]);
  });

  // Specification, sandbox: 4.4-5
  test('a filter keeps only matching rows', async (context) => {
    const [first] = await select(['column', target.table.key], ['top', 1]);
    const value = need(first?.[target.table.key], 'key', context);
    const literal =
      typeof value === 'string' ? `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : String(value);
    const name = target.table.key.replaceAll('\\', '\\\\').replaceAll(']', '\\]');

    const rows = await select(['filter', `[${name}] = ${literal}`], ['column', target.table.key]);

    expect(rows.map((row) => row[target.table.key])).toEqual([value]);
  });

  // Specification, sandbox: 4.4-12, 7-2
  test.each([
    ['top', 0],
    ['top', 501],
    ['skip', -1],
    ['column', 'No such column here'],
    ['sort', 'No such column here'],
    ['filter', '[No such column here] = 1'],
    ['filter', '((('],
  ] as const)('refuses %s=%s with 400 and a descriptor', async (name, value) => {
    const answer = await target.call(`${target.table.alias}/select.json?${query([name, value])}`);

    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json(?:;|$)/);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 400, message: expect.any(String) as string });
  });
});

describe('retrieve (4.5)', () => {
  // Specification, sandbox: 2.1-5, 2.1-6, 4.5-2, 4.5-3, 4.5-7
  test('returns rows by id and by key', async () => {
    const rows = await select(['top', 2], ['sort', target.table.key]);
    const byId = (await target.json(
      `${target.table.alias}/retrieve.json?${query(...rows.map((row) => ['id', row['@row.id']] as const))}`,
    )) as readonly RowFields[];
    const keys = await select(['top', 2], ['sort', target.table.key], ['column', target.table.key]);
    const byKey = (await target.json(
      `${target.table.alias}/retrieve.json?${query(...keys.map((row) => ['key', String(row[target.table.key])] as const))}`,
    )) as readonly RowFields[];

    const sorted = (some: readonly RowFields[]): readonly RowFields[] =>
      some.toSorted((one, other) => one['@row.id'] - other['@row.id']);
    expect(sorted(byId)).toEqual(sorted(rows));
    expect(sorted(byKey)).toEqual(sorted(rows));
  });

  test('leaves out ids that do not exist', async () => {
    expect(await target.json(`${target.table.alias}/retrieve.json?id=2147483600`)).toEqual([]);
  });

  // Specification, sandbox: 2.1-7, 4.5-4, 4.5-5
  test.each([
    ['keys mixed with ids', 'id=1&key=1'],
    ['neither', 'column=*'],
    ['501 ids', Array.from({ length: 501 }, (_, index) => `id=${index + 1}`).join('&')],
  ])('refuses %s', async (_what, parameters) => {
    const answer = await target.call(`${target.table.alias}/retrieve.json?${parameters}`);

    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 400 });
  });
});

describe('conditional requests (4.10)', () => {
  // Specification, sandbox: 4.10-1, 4.10-4, 4.10-5
  test('a read carries the cache policy and an ETag, and its repetition is answered 304 without a body', async () => {
    const path = `${target.table.alias}/select.json?${query(['sort', target.table.key], ['top', 2])}`;
    const first = await target.call(path);
    const etag = first.headers.get('etag') ?? '';

    const second = await target.call(path, { headers: { 'If-None-Match': etag } });

    expect(first.headers.get('cache-control')).toBe('private, must-revalidate, max-age=0');
    expect(etag).toMatch(/^(?:W\/)?"[^"]+"$/);
    expect(second.status).toBe(304);
    expect(second.text).toBe('');
  });

  test('another ETag is answered in full', async () => {
    const path = `${target.table.alias}/select.json?top=1`;

    expect(await target.call(path, { headers: { 'If-None-Match': '"not this one"' } })).toMatchObject({ status: 200 });
  });

  test('an error has no ETag', async () => {
    expect((await target.call(`${target.table.alias}/select.json?top=0`)).headers.get('etag')).toBeNull();
  });
});

describe('authorization (5)', () => {
  // Specification, sandbox: 5-2, 5-3
  test('a token in the URL is as good as one in the header', async () => {
    const answer = await target.call(`${target.token}/user.json`, { anonymous: true });

    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual(await target.json('user.json'));
  });

  // Specification, sandbox: 5-1
  test('no credentials: 401 with a Basic challenge and no body', async () => {
    const answer = await target.call('user.json', { anonymous: true });

    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic\b/i);
    expect(answer.text).toBe('');
  });

  test('an unknown token: 403 with a descriptor', async () => {
    const answer = await target.call('user.json', {
      anonymous: true,
      headers: { Authorization: `Bearer ${'0'.repeat(32)}` },
    });

    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 403 });
  });
});

describe('XML (2.4)', () => {
  // Specification, sandbox: 2.4-38, 2.5-2, 2.5-4, 4-2, 4.4-16
  test('rows stand in <Response> as <row> with id and allow', async () => {
    const [row] = await select(['top', 1], ['sort', target.table.key], ['column', target.table.key]);
    const answer = await target.call(
      `${target.table.alias}/select.xml?${query(['top', 1], ['sort', target.table.key], ['column', target.table.key])}`,
    );

    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^(?:text|application)\/xml(?:;|$)/);
    expect(answer.text).toMatch(/<Response[ >]/);
    expect(answer.text).toMatch(new RegExp(`<row [^>]*\\bid="${row?.['@row.id']}"`));
    expect(answer.text).toMatch(/<row [^>]*\ballow="[A-Za-z ]*"/);
  });

  // Specification, sandbox: 2.4-40, 2.4-41, 2.4-42, 2.4-43, 2.4-44, 2.4-45, 2.4-46
  test.for([
    ['Date', /^\d{4}-\d\d-\d\d$/],
    ['Time', /^\d\d:\d\d:\d\d$/],
    ['Timestamp', STAMP],
    ['Duration', /^PT\d+(?:\.\d+)?S$/],
    ['Numeric', /^-?\d+\.\d{6}$/],
    ['Checkbox', /^(?:true|false)$/],
  ] as const)('%s has its form, null is nil', async ([type, form], context) => {
    const { name } = need(columnOfType(type), `column of type ${type}`, context);
    const { text } = await target.call(`${target.table.alias}/select.xml?${query(['column', name])}`);
    const cells = [...text.matchAll(/<row [^>]*><([^\s/>]+)([^>]*?)(?:\/>|>([^<]*)<\/\1>)<\/row>/g)];
    const values = cells.map(([, , , value = '']) => value).filter((value) => value !== '');
    const empty = cells.filter(([, , , value = '']) => value === '').map(([, , attributes]) => attributes);

    need(values[0], `value in a column of type ${type}`, context);
    for (const value of values) expect(value).toMatch(form);
    for (const attributes of empty) expect(attributes).toMatch(/\b\w+:nil="true"/);
  });

  test('an error stands in <Error>', async () => {
    const answer = await target.call(`${target.table.alias}/select.xml?top=0`);

    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/<Error[ >]/);
    expect(answer.text).toMatch(/<error>400<\/error>/);
  });
});

describe('errors (facts 4.1)', () => {
  test.each(['tables.json', 'No such method.json', 'select.json'])('%s is answered 405 in JSON', async (path) => {
    const answer = await target.call(path);

    expect(answer.status).toBe(405);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 405 });
  });

  test('an unknown table is refused with a descriptor', async () => {
    const answer = await target.call('No%20such%20table%20here/select.json');

    expect([400, 403, 404]).toContain(answer.status);
    expect(JSON.parse(answer.text)).toMatchObject({ error: answer.status, message: expect.any(String) as string });
  });

  test('more than 16K of query: 414 without a body', async () => {
    const answer = await target.call(`${target.table.alias}/select.json?x=${'y'.repeat(17_000)}`);

    expect(answer.status).toBe(414);
  });
});
