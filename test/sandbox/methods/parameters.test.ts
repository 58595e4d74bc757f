/** Reads that make no sense: each has one documented answer, and none hangs, shows a stack or a page. */
import fc from 'fast-check';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call, callPath } from '../client.ts';

const tables: readonly TableSpec[] = [
  {
    name: 'Note',
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Secret', type: 'Numeric' },
    ],
    views: [{ name: 'Short', columns: ['Title'] }],
    rows: [
      { Title: 'a', Secret: 1 },
      { Title: 'b', Secret: 2 },
    ],
  },
  { name: 'Hidden', columns: [{ name: 'Title', type: 'Text' }] },
];

/** A long run asks the server a hundred thousand times. */
const FUZZ_TIMEOUT_MS = 600_000;

let sandbox: TestSandbox;

beforeAll(async () => {
  sandbox = await startTestSandbox({ tables });
  sandbox.store.setRole({
    name: 'Administrator',
    canWrite: true,
    hiddenTables: ['Hidden'],
    hiddenColumns: [['Note', 'Secret']],
  });
});

afterAll(() => sandbox.stop());

const many = (parameter: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${parameter}=${index + 1}`).join('&');

describe('a read is refused, with the parameter or name at fault:', () => {
  test.each([
    ['top=0', 'Note/select.json?top=0', 400, 2100, 'top'],
    ['top=501', 'Note/select.json?top=501', 400, 2100, 'top'],
    ['a top that is no number', 'Note/select.json?top=5e1', 400, 2100, 'top'],
    ['skip=-1', 'Note/select.json?skip=-1', 400, 2100, 'skip'],
    ['a skip that no number holds', 'Note/select.json?skip=99999999999999999999', 400, 2100, 'skip'],
    ['an unknown sort column', 'Note/select.json?sort=Nope//DESC', 400, 3100, 'Nope'],
    ['a hidden sort column', 'Note/select.json?sort=Secret', 403, 3101, 'Secret'],
    ['an unknown column', 'Note/select.json?column=Nope', 400, 3100, 'Nope'],
    ['a hidden column', 'Note/select.json?column=*&column=Secret', 403, 3101, 'Secret'],
    ['a hidden column in a filter', 'Note/select.json?filter=[Secret]=1', 400, 3100, 'filter'],
    ['a hidden column of a view', 'Note/Short/select.json?filter=[Secret]=1', 400, 3100, 'filter'],
    ['top=0 on a view', 'Note/Short/select.json?top=0', 400, 2100, 'top'],
    ['a missing table', 'Nope/select.json', 403, 3000, 'Nope'],
    ['a hidden table', 'Hidden/select.json', 403, 3000, 'Hidden'],
    ['a missing view', 'Note/Nope/select.json', 403, 3200, 'Nope'],
    ['a table called ../', '..%2F/select.json', 403, 3000, '../'],
    ['a table called ../../', '%2e%2e%252f%2e%2e%252f/describe.json', 403, 3000, '..%2f..%2f'],
    ['a table called NUL', '%00/select.json', 403, 3000, '\0'],
    ['a table that is no UTF-8', '%C3%28/select.json', 400, 2100, 'table'],
    ['a view that is no UTF-8', 'Note/%FF/select.json', 400, 2100, 'path'],
    ['a query that is no UTF-8', 'Note/select.json?column=%C3%28', 400, 2100, 'query'],
    ['keys and ids', 'Note/retrieve.json?key=1&id=1', 400, 2100, 'id'],
    ['neither keys nor ids', 'Note/retrieve.json', 400, 2100, 'key'],
    ['501 keys', `Note/retrieve.json?${many('key', 501)}`, 400, 2100, 'key'],
    ['501 ids', `Note/retrieve.json?${many('id', 501)}`, 400, 2100, 'id'],
    ['an id that is no number', 'Note/retrieve.json?id=1.5', 400, 2100, 'id'],
    ['an id that no number holds', 'Note/retrieve.json?id=99999999999999999999', 400, 2100, 'id'],
  ])('%s', async (_what, path, status, code, source) => {
    const answer = await call(sandbox, path);

    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ error: status, code, source });
    expect(answer.headers['etag']).toBeUndefined();
  });

  test('500 keys are no fault, and keys of no row are left out', async () => {
    const answer = await call(sandbox, `Note/retrieve.json?${many('key', 500)}`);

    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toHaveLength(2);
  });
});

describe('whatever is asked', () => {
  /** Pieces that lead to the insides of the server more often than random text does. */
  const piece = fc.oneof(
    fc.constantFrom(
      'Note',
      't_115442',
      'Short',
      'select.json',
      'select.xml',
      'describe.json',
      'retrieve.json',
      '-',
      '..',
    ),
    fc.constantFrom(
      'updated.json',
      'deleted.json',
      'user.json',
      'attachments.json',
      '%',
      '%2F',
      '%FF',
      '%00',
      ':',
      '//',
    ),
    fc.constantFrom('__proto__', 'constructor.json', 'a'.repeat(32), '%252e%252e', ';', '*'),
    fc.string({ unit: 'binary', maxLength: 6 }).map((text) => encodeURIComponent(text.toWellFormed())),
  );
  const value = fc.oneof(
    fc.constantFrom(
      '1',
      '0',
      '-1',
      '501',
      'Title',
      '*',
      'Title//DESC',
      '[Title]',
      '%5BTitle%5D=%22a%22',
      '%',
      '%FF',
      '+',
    ),
    fc.constantFrom(
      '2026-01-01',
      '2026-01-01T00:00:00Z',
      '9999-12-31T23:59:59-23:59',
      'Now()',
      '(((',
      '#',
      '__proto__',
    ),
    fc.string({ unit: 'binary', maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())),
  );
  const parameter = fc
    .tuple(fc.constantFrom('column', 'filter', 'sort', 'top', 'skip', 'id', 'key', 'from', 'to', 'var[x]', 'x'), value)
    .map(([name, text]) => `${name}=${text}`);
  const target = fc
    .tuple(fc.array(piece, { maxLength: 5 }), fc.array(parameter, { maxLength: 6 }))
    .map(([pieces, parameters]) => `${pieces.join('/')}?${parameters.join('&')}`);
  const known = /^(?:200|304|400|403|405|414)$/;

  test(
    'there is an answer of the API: no failure, no stack, no page',
    async () => {
      await fc.assert(
        fc.asyncProperty(target, fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'), async (path, verb) => {
          const answer = await call(sandbox, path, { verb });

          expect(String(answer.status)).toMatch(verb === 'OPTIONS' ? /^204$/ : known);
          expect(answer.text).not.toMatch(/<html|\n\s+at |node:internal/i);
          if (verb === 'OPTIONS' || verb === 'HEAD' || answer.status === 414) return;
          const isXml = answer.headers['content-type']?.startsWith('text/xml') === true;
          expect(answer.text.startsWith('<?xml')).toBe(isXml);
          if (!isXml) JSON.parse(answer.text);
        }),
        fuzzRuns(400),
      );
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'paths outside of the API are refused in JSON',
    async () => {
      const outside = fc.array(piece, { maxLength: 4 }).map((pieces) => `/${pieces.join('/')}`);
      await fc.assert(
        fc.asyncProperty(outside, async (path) => {
          const answer = await callPath(sandbox, path);

          expect(answer.status).toBe(405);
          expect(JSON.parse(answer.text)).toMatchObject({ error: 405 });
        }),
        fuzzRuns(200),
      );
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'bytes that are hardly HTTP end the connection, and the next client is served',
    async () => {
      const line = fc.oneof(
        fc.constantFrom(
          'GET / HTTP/1.1',
          'GET  HTTP/9.9',
          'Host: x',
          'Content-Length: -1',
          'Transfer-Encoding: chunked',
          '',
        ),
        fc.string({ unit: 'binary', maxLength: 20 }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 6 }), async (lines) => {
          const text = await rawExchange(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'utf8'));

          expect(text).toMatch(/^(?:$|HTTP\/1\.1 \d{3} )/);
          expect(text).not.toMatch(/<html/i);
        }),
        fuzzRuns(200),
      );

      expect(await call(sandbox, 'user.json')).toMatchObject({ status: 200 });
    },
    FUZZ_TIMEOUT_MS,
  );
});

/** Sends bytes and closes our side; everything that comes back. */
function rawExchange(bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(sandbox.url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => resolve(text));
    socket.on('close', () => resolve(text));
  });
}
