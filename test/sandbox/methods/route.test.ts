import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MethodRefusal } from '../../../src/sandbox/methods/refusal.ts';
import { errorFormat, findRoute, methodName, readApiPath } from '../../../src/sandbox/methods/route.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { namesFromSegment, pairsFromQuery } from '../../../src/sandbox/wire/query.ts';
import { pathSegment, queryFromPairs } from '../../../src/wire/request-paths.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call, callPath } from '../client.ts';

const notes: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 40 }, (_, index) => ({ Title: `a title that is long enough ${index}` })),
};

const TIMEOUT_MS = 600_000;

const TOKEN = '0123456789abcdefABCDEF0123456789';

const piece = fc.oneof(
  fc.constantFrom(
    '',
    '-',
    '.',
    '..',
    '%',
    '%2F',
    '%252F',
    '%zz',
    '%ff',
    '+',
    '__proto__',
    'constructor',
    TOKEN,
    '21995',
  ),
  fc.constantFrom(
    'select.json',
    'select.xml',
    'SELECT.JSON',
    'upsert.json',
    'delete.json',
    'describe.json',
    'attachment',
  ),
  fc.constantFrom(
    'attachments.xml',
    'user.json',
    'select',
    'select.',
    '.json',
    'updated.json',
    't_115442',
    'Order%20Line',
  ),
  fc.string({ maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.string({ maxLength: 12, unit: 'binary' }).map((text) => text.replaceAll(/[/?#]/g, '')),
);

const segments = fc.array(piece, { minLength: 0, maxLength: 6 });

const anyPath = fc.oneof(
  segments.map((pieces) => `/secure/api/v2/21995/${pieces.join('/')}`),
  segments.map((pieces) => `/secure/api/v2/${pieces.join('/')}`),
  segments.map((pieces) => `/${pieces.join('/')}`),
  fc.string({ maxLength: 60, unit: 'binary' }),
);

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

test(
  'every path is outside of the API, refused, or a method with its names',
  () => {
    fc.assert(
      fc.property(
        anyPath,
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'x'),
        fc.boolean(),
        (text, verb, extensions) => {
          const api = readApiPath(text);
          if (api === undefined) return;
          const route = findRoute(verb, api.segments, { extensions, escapesColons: false });
          const isRefused = route instanceof MethodRefusal;
          const names = isRefused ? [] : [...(route.tableNames ?? []), ...(route.innerNames ?? [])];

          expect(['json', 'xml']).toContain(errorFormat(api.segments).extension);
          expect([200, 400, 405]).toContain(isRefused ? route.status : 200);
          expect(isRefused || route.method === methodName(api.segments)).toBe(true);
          expect(isRefused || (route.tableNames === null) === (api.segments.length === 1)).toBe(true);
          expect(names.filter((name) => typeof name !== 'string')).toEqual([]);
        },
      ),
      fuzzRuns(2000),
    );
  },
  TIMEOUT_MS,
);

test(
  'a token behind the database is found, and never kept',
  () => {
    fc.assert(
      fc.property(
        fc.array(
          piece.filter((text) => text !== TOKEN),
          { minLength: 1, maxLength: 5 },
        ),
        (pieces) => {
          const api = readApiPath(`/secure/api/v2/21995/${TOKEN}/${pieces.join('/')}`);

          expect(api?.credentials).toEqual({ kind: 'token', token: TOKEN });
          expect(api?.segments).toEqual(pieces);
          expect(api?.safePath).not.toContain(TOKEN);
        },
      ),
      fuzzRuns(1000),
    );
  },
  TIMEOUT_MS,
);

test(
  'every name survives its way through a path segment',
  () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40, unit: 'grapheme' }), (name) => {
        const segment = pathSegment(name);

        expect(segment).not.toMatch(/[/?#\s]/);
        expect(namesFromSegment(segment)).toContain(name);
      }),
      fuzzRuns(2000),
    );
  },
  TIMEOUT_MS,
);

test(
  'every query string is read or refused, and pairs survive their way through one',
  () => {
    const pair = fc.tuple(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ minLength: 1, unit: 'grapheme' }));
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(pair), (text, pairs) => {
        const read = pairsFromQuery(text);

        expect(read === undefined || read.every(([name, value]) => name !== '' && value !== '')).toBe(true);
        expect(pairsFromQuery(queryFromPairs(pairs))).toEqual(pairs);
      }),
      fuzzRuns(1000),
    );
  },
  TIMEOUT_MS,
);
