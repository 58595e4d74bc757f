import { expect, test } from 'vitest';
import { isSameAtOrigin, matchKey } from '../../src/reconcile/findable.ts';

test.each([
  ['Müller', 'MULLER'],
  ['straße', 'STRASSE'],
  ['x  ', ' x'],
  ['ＡＢＣ１', 'abc1'],
  ['Ørsted', 'orsted'],
  ['Łódź', 'lodz'],
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
