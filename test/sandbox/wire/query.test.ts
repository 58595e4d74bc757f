import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchesEtag, namesFromSegment, pairsFromQuery, sortKeyFromText } from '../../../src/sandbox/wire/query.ts';
import { queryFromPairs, selectQuery } from '../../../src/wire/request-paths.ts';

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

describe('matchesEtag', () => {
  test.each([
    ['the same tag', '"a"', '"a"', true],
    ['one of several', '"x", "a" ,"b"', '"a"', true],
    ['anything', '*', '"a"', true],
    ['a weak tag, weakly', 'W/"a"', '"a"', true],
    ['a strong tag against a weak one', '"a"', 'W/"a"', true],
    ['a tag with a comma', '"a,b"', '"a,b"', true],
    ['another tag', '"b"', '"a"', false],
    ['a tag without quotes', 'a', '"a"', false],
    ['a part of a tag', '"ab"', '"a"', false],
    ['nothing', '', '"a"', false],
  ])('%s', (_title, ifNoneMatch, etag, matches) => {
    expect(matchesEtag(ifNoneMatch, etag)).toBe(matches);
  });
});
