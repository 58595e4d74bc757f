import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  KEYS_MAX,
  pathSegment,
  QUERY_BYTES_MAX,
  queryFromPairs,
  retrieveQuery,
  selectQuery,
  TOP_MAX,
} from '../../src/wire/request-paths.ts';
import { namesFromSegment, pairsFromQuery, sortKeyFromText } from '../../src/sandbox/wire/query.ts';

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

describe('namesFromSegment', () => {
  test.each([
    ['a plain name', 'Customer', ['Customer']],
    ['a name decoded once', 'Order%20Details', ['Order Details']],
    ['both readings of a double escape, the plain one first', 'Count%252FSize', ['Count%2FSize', 'Count/Size']],
    ['a double escape in small letters', 'a%255cb', ['a%5cb', String.raw`a\b`]],
    ['other double escapes only once', 'a%2520b', ['a%20b']],
    ['a plus as a plus', 'a+b', ['a+b']],
  ])('gives %s', (_title, segment, names) => {
    expect(namesFromSegment(segment)).toEqual(names);
  });

  test.each(['%', '%2', '%zz', '%C3', '%FF'])('refuses the broken escape %s', (segment) => {
    expect(namesFromSegment(segment)).toBeUndefined();
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

describe('pairsFromQuery', () => {
  test.each([
    [
      'repeated names in order',
      'column=A&column=B&top=1',
      [
        ['column', 'A'],
        ['column', 'B'],
        ['top', '1'],
      ],
    ],
    [
      'both forms of a space',
      'column=A+B&column=C%20D',
      [
        ['column', 'A B'],
        ['column', 'C D'],
      ],
    ],
    [
      'slashes raw and encoded',
      'sort=A//DESC&sort=B%2F%2FASC',
      [
        ['sort', 'A//DESC'],
        ['sort', 'B//ASC'],
      ],
    ],
    [
      'brackets in a name',
      'var[x]=1&var%5By%5D=2',
      [
        ['var[x]', '1'],
        ['var[y]', '2'],
      ],
    ],
    ['equals signs in a value', 'filter=[A]=[B]', [['filter', '[A]=[B]']]],
    ['no pairs where there are no values', 'a&b=&=c&&d=1', [['d', '1']]],
    ['nothing', '', []],
  ])('reads %s', (_title, query, pairs) => {
    expect(pairsFromQuery(query)).toEqual(pairs);
  });

  test.each(['a=%', 'a=%E4', '%zz=1', 'ok=1&a=%2'])('refuses %s', (query) => {
    expect(pairsFromQuery(query)).toBeUndefined();
  });

  test('reads back what queryFromPairs wrote', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text)), (pairs) => {
        expect(pairsFromQuery(queryFromPairs(pairs))).toEqual(pairs);
      }),
    );
  });
});

describe('sortKeyFromText', () => {
  test.each([
    ['Name', { column: 'Name', descending: false }],
    ['Name//ASC', { column: 'Name', descending: false }],
    ['Name//DESC', { column: 'Name', descending: true }],
    ['Name//desc', { column: 'Name', descending: true }],
    ['A//B', { column: 'A//B', descending: false }],
    ['A//ASC//DESC', { column: 'A//ASC', descending: true }],
    ['Two\nlines//DESC', { column: 'Two\nlines', descending: true }],
    ['', { column: '', descending: false }],
  ])('reads "%s"', (text, key) => {
    expect(sortKeyFromText(text)).toEqual(key);
  });

  test('reads back what selectQuery wrote, also for names that end like an order', () => {
    const column = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constantFrom('A//ASC', 'A//DESC', 'B//'));
    fc.assert(
      fc.property(column, fc.boolean(), (name, descending) => {
        const pairs = pairsFromQuery(selectQuery({ columns: [], sort: [{ column: name, descending }] }));

        expect(sortKeyFromText(pairs?.[0]?.[1] ?? '')).toEqual({ column: name, descending });
      }),
    );
  });
});
