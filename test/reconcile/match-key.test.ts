import { expect, test } from 'vitest';
import { matchKey } from '../../src/reconcile/match-key.ts';

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
  expect(matchKey(one)).toBe(matchKey(other));
});

test.each([
  ['a', 'b'],
  ['1', '10'],
  ['a b', 'ab'],
  ['a-b', 'ab'],
])('%j and %j are two values everywhere', (one, other) => {
  expect(matchKey(one)).not.toBe(matchKey(other));
});

test('a number is alike to itself alone', () => {
  expect(matchKey(7)).toBe(matchKey(7n));
  expect(matchKey(7)).not.toBe(matchKey(70));
});
