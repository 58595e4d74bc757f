import { expect, test } from 'vitest';
import {
  FILTER_BYTES_MAX,
  filterOfValue,
  filterRoom,
  isSameAtOrigin,
  joinClauses,
  matchKey,
} from '../../src/reconcile/match-values.ts';
import { QUERY_BYTES_MAX, selectQuery } from '../../src/wire/request-paths.ts';

test.each([
  ['Müller', 'MULLER'],
  ['straße', 'STRASSE'],
  ['x  ', ' x'],
  ['ＡＢＣ１', 'abc1'],
  ['Ørsted', 'orsted'],
  ['Łódź', 'lodz'],
  ['Æsop', 'aesop'],
  ['Œuvre', 'oeuvre'],
  ['Þór', 'thor'],
  ['Bjarnað', 'bjarnad'],
  ['Đorđe', 'dorde'],
  ['Ħal', 'hal'],
  ['Ŧ', 't'],
  ['ırmak', 'irmak'],
  ['a\u{AD}b', 'ab'],
  ['e\u{301}', 'é'],
])('%j and %j may be one value at the origin', (one, other) => {
  expect([matchKey(one) === matchKey(other), isSameAtOrigin('Text', one, other)]).toEqual([true, true]);
});

test.each([
  ['a', 'b'],
  ['1', '10'],
  ['a b', 'ab'],
  ['a-b', 'ab'],
])('%j and %j are two values everywhere', (one, other) => {
  expect([matchKey(one) === matchKey(other), isSameAtOrigin('Text', one, other)]).toEqual([false, false]);
});

test('a number is alike to itself alone', () => {
  expect(matchKey(7)).toBe(matchKey(7n));
  expect(matchKey(7)).not.toBe(matchKey(70));
});

test.each([
  [7, 7n, true],
  [7, '7.0', true],
  [7, 70, false],
  [null, 0, false],
])('the numbers %s and %s are one value at the origin: %s', (one, other, expected) => {
  expect(isSameAtOrigin('Numeric', one, other)).toBe(expected);
});

test('an empty value is alike to an empty text, and a text to no number', () => {
  expect(matchKey(null)).toBe(matchKey(''));
  expect(isSameAtOrigin('Text', '7', 7)).toBe(false);
  expect(isSameAtOrigin('Text', 7, '7')).toBe(false);
});

test('clauses share filters as far as they fit, and none is lost', () => {
  // Each takes ten bytes with its ` or `, whose blanks are encoded.
  const clauses = ['aa', 'bb', 'cc', 'dd', 'ee'];

  expect(joinClauses(clauses, 20)).toEqual(['aa or bb', 'cc or dd', 'ee']);
  expect(joinClauses(clauses, 29)).toEqual(['aa or bb', 'cc or dd', 'ee']);
  expect(joinClauses(clauses, 30)).toEqual(['aa or bb or cc', 'dd or ee']);
  expect(joinClauses(clauses, 1)).toEqual(clauses);
  expect(joinClauses([], 30)).toEqual([]);
});

test.each([1, 3, 150])('filters beside %i columns fill a query, and no more', (count) => {
  const columns = Array.from({ length: count }, (_, index) => `Größe ${index}`);
  const clauses = Array.from({ length: 2000 }, (_, id) => `[Größe 0] = "${id}"`);

  const filters = joinClauses(clauses, filterRoom(columns));
  const lengths = filters.map((filter) => selectQuery({ columns, sort: [], filter, top: 1 }).length);

  expect(Math.max(...lengths)).toBeLessThanOrEqual(QUERY_BYTES_MAX);
  expect(Math.max(...lengths)).toBeGreaterThan(QUERY_BYTES_MAX - 200);
});

test('a filter finds a value, where it compares exactly and fits', () => {
  const name = { name: 'A', type: 'Text' } as const;
  const room = FILTER_BYTES_MAX - encodeURIComponent(filterOfValue(name, 'x') ?? '').length + 1;

  expect(filterOfValue(name, 'x'.repeat(room))).toContain('xxx');
  expect(filterOfValue(name, 'x'.repeat(room + 1))).toBeNull();
  expect(filterOfValue(name, null)).toBeNull();
});
