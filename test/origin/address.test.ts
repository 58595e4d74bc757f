import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { RowsyncError } from '../../src/base/errors.ts';
import { originAddress, recordBatches, selectPath, segment } from '../../src/origin/address.ts';
import { KEYS_MAX, QUERY_BYTES_MAX, retrieveQuery } from '../../src/wire/request-paths.ts';

/** What a call throws. */
function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('originAddress', () => {
  test.each([
    ['https://www.example.net', 'https://www.example.net', 'www.example.net'],
    ['https://www.example.net/', 'https://www.example.net', 'www.example.net'],
    ['HTTPS://WWW.Example.NET:443', 'https://www.example.net', 'www.example.net'],
    ['http://127.0.0.1:8787', 'http://127.0.0.1:8787', '127.0.0.1:8787'],
    ['http://[::1]:8787/', 'http://[::1]:8787', '[::1]:8787'],
    [
      'https://tabellen.österreich.example',
      'https://tabellen.xn--sterreich-z7a.example',
      'tabellen.xn--sterreich-z7a.example',
    ],
  ])('reads %s', (text, url, host) => {
    expect(originAddress({ url: text, database: '21995' })).toEqual({ url, host, root: '/secure/api/v2/21995' });
  });

  test('takes an id with a hyphen', () => {
    expect(originAddress({ url: 'https://a.example', database: '12-345' }).root).toBe('/secure/api/v2/12-345');
  });

  test.each([
    ['no URL', 'www.example.net', 'not a URL'],
    ['an empty text', '', 'not a URL'],
    ['another scheme', 'ftp://www.example.net', 'scheme'],
    ['a file', 'file:///etc/passwd', 'scheme'],
    ['a user', 'https://anna@www.example.net', 'user or password'],
    ['a password', 'https://anna:hunter2@www.example.net', 'user or password'],
    ['a path', 'https://www.example.net/secure/api/v2/21995/hunter2', 'more than scheme and host'],
    ['a query', 'https://www.example.net/?token=hunter2', 'more than scheme and host'],
    ['a fragment', 'https://www.example.net/#hunter2', 'more than scheme and host'],
  ])('refuses %s without repeating it', (_title, url, complaint) => {
    const error = thrownBy(() => originAddress({ url, database: '21995' }));

    expect(error).toMatchObject({ kind: 'config', code: 'config.invalid' });
    const { message, hint } = error as RowsyncError;
    expect(message).toContain(complaint);
    expect(message + hint).not.toContain('hunter2');
  });

  test.each(['', '.', '..', '1/2', '1%2F2', '21995/describe', '-1', '1-', '1 2', 'é'])(
    'refuses the id "%s"',
    (database) => {
      expect(() => originAddress({ url: 'https://a.example', database })).toThrow(/origin\.database/);
    },
  );
});

describe('segment', () => {
  // Specification, client: 2.1-1, 2.1-2
  test.each([
    ['the alias', { name: 'Customer', alias: 't_115442' }, 't_115442'],
    ['the name where there is no alias', { name: 'Order Details', alias: '' }, 'Order%20Details'],
    ['the name where the alias is no identifier', { name: 'Customer', alias: 'a/b' }, 'Customer'],
    ['the name where the alias begins with a digit', { name: 'Customer', alias: '1t' }, 'Customer'],
    ['a slash, escaped twice', { name: 'In/Out', alias: '' }, 'In%252FOut'],
    ['a percent sign', { name: '100%', alias: '' }, '100%2525'],
    ['a question mark and a hash', { name: 'Why?#', alias: '' }, 'Why%253F%23'],
    ['letters of other alphabets', { name: 'Küche 中', alias: '' }, 'K%C3%BCche%20%E4%B8%AD'],
  ])('gives %s', (_title, table, expected) => {
    expect(segment(table)).toBe(expected);
  });
});

describe('paths', () => {
  const table = { name: 'Customer', alias: 't_1' };

  test('select names columns, sort, top and skip', () => {
    const sort = [{ column: 'Date Created' }, { column: 'Id', descending: true }];

    expect(selectPath('json', table, { columns: ['*', 'Date Created'], sort, top: 100, skip: 200 })).toBe(
      '/t_1/select.json?column=*&column=Date%20Created&sort=Date%20Created&sort=Id%2F%2FDESC&top=100&skip=200',
    );
  });

  // Specification, client: 4.4-2
  test('select without parameters has no question mark', () => {
    expect(selectPath('json', table, { columns: [], sort: [] })).toBe('/t_1/select.json');
  });
});

describe('batches of ids', () => {
  test('no ids need no request', () => {
    expect(recordBatches('id', ['*'], [])).toEqual([]);
  });

  // Specification, client: 4.5-5
  test('500 ids go in one request, 501 in two', () => {
    const ids = Array.from({ length: KEYS_MAX + 1 }, (_, index) => index + 1);

    expect(recordBatches('id', ['*'], ids.slice(0, KEYS_MAX)).map((batch) => batch.length)).toEqual([KEYS_MAX]);
    expect(recordBatches('id', ['*'], ids).map((batch) => batch.length)).toEqual([KEYS_MAX, 1]);
  });

  test('goes one id at a time where the columns alone fill the query string', () => {
    expect(recordBatches('id', ['x'.repeat(QUERY_BYTES_MAX)], [1, 2, 3])).toEqual([[1], [2], [3]]);
  });

  test('keeps every id in order, within both bounds, and no batch could take one more', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 });
    const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(fc.array(name, { maxLength: 60 }), fc.array(id, { maxLength: 1_500 }), (names, ids) => {
        const batches = recordBatches('id', names, ids);

        expect(batches.flat()).toEqual(ids);
        for (const [index, batch] of batches.entries()) {
          const bytes = retrieveQuery(names, { ids: batch }).length;
          expect(batch.length === 1 || (batch.length <= KEYS_MAX && bytes <= QUERY_BYTES_MAX)).toBe(true);
          const next = batches[index + 1]?.[0];
          const fitsNext =
            next !== undefined && batch.length < KEYS_MAX && bytes + `&id=${next}`.length <= QUERY_BYTES_MAX;
          expect(fitsNext && names.length > 0).toBe(false);
        }
      }),
    );
  });
});
