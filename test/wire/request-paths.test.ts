import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { namesFromSegment } from '../../src/sandbox/wire/query.ts';
import {
  KEYS_MAX,
  pathSegment,
  QUERY_BYTES_MAX,
  retrieveQuery,
  selectQuery,
  TOP_MAX,
} from '../../src/wire/request-paths.ts';

test('what the origin takes at most', () => {
  expect([TOP_MAX, KEYS_MAX, QUERY_BYTES_MAX]).toEqual([500, 500, 16_384]);
});

describe('pathSegment', () => {
  // What the vendor's own clients send (origin facts 7.2.1).
  test.each([
    ['Customer', 'Customer'],
    ['Order Details', 'Order%20Details'],
    ['Count/Size', 'Count%252FSize'],
    [String.raw`Back\slash`, 'Back%255Cslash'],
    ['Really?', 'Really%253F'],
    ['100%', '100%2525'],
    ['50%2F', '50%25252F'],
    ['Küche', 'K%C3%BCche'],
    ['a&b=c+d#e', 'a%26b%3Dc%2Bd%23e'],
    ['§ Id', '%C2%A7%20Id'],
    ['😀', '%F0%9F%98%80'],
  ])('of %s is %s', (name, segment) => {
    expect(pathSegment(name)).toBe(segment);
  });

  test('leads back to the name, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        const segment = pathSegment(name);

        expect(segment).toMatch(/^[\w%.!~*'()-]+$/);
        expect(namesFromSegment(segment)?.at(-1)).toBe(name);
      }),
    );
  });
});

describe('selectQuery', () => {
  // Specification, client: 4.4-5, 4.4-6, 4.4-13
  test.each([
    ['nothing', { columns: [], sort: [] }, ''],
    [
      'columns in order, repeated as given',
      { columns: ['*', 'Date Modified', '*'], sort: [] },
      'column=*&column=Date%20Modified&column=*',
    ],
    [
      'sort keys in order',
      { columns: [], sort: [{ column: 'A' }, { column: 'B', descending: true }, { column: 'C', descending: false }] },
      'sort=A&sort=B%2F%2FDESC&sort=C',
    ],
    ['columns and a filter', { columns: ['A'], sort: [], filter: 'B' }, 'column=A&filter=B'],
    ['columns without more', { columns: ['A'], sort: [] }, 'column=A'],
    [
      'a name that ends like an order, and one that does not',
      { columns: [], sort: [{ column: 'A//ASC' }, { column: 'A//ASC B' }] },
      'sort=A%2F%2FASC%2F%2FASC&sort=A%2F%2FASC%20B',
    ],
    ['a filter', { columns: [], sort: [], filter: '[Name]="A & B"' }, 'filter=%5BName%5D%3D%22A%20%26%20B%22'],
    ['top and skip', { columns: [], sort: [], top: 100, skip: 300 }, 'top=100&skip=300'],
    ['no top and skip at their defaults', { columns: [], sort: [], top: 500, skip: 0 }, ''],
  ])('writes %s', (_title, parameters, query) => {
    // A copy, since the text of an object is made once.
    expect(selectQuery(structuredClone(parameters))).toBe(query);
  });
});

test('retrieveQuery names columns, then ids or keys', () => {
  expect(retrieveQuery(['A B', '*'], { ids: [7, 1] })).toBe('column=A%20B&column=*&id=7&id=1');
  expect(retrieveQuery(['*'], { keys: ['A&B', 'é'] })).toBe('column=*&key=A%26B&key=%C3%A9');
});
