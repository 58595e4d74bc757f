/** Patterns of names: what they match, and how much work a long name is. */
import { expect, test } from 'vitest';
import { matchesPattern } from '../../src/base/name-pattern.ts';

test.each([
  ['*', '', true],
  ['*', 'anything', true],
  ['Order*', 'Order Line', true],
  ['*Line', 'Order Line', true],
  ['Order*Line', 'Order Line', true],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*ab*ab', 'xabab', true],
  ['*ab*ab', 'xab', false],
  ['**a**', 'bab', true],
  ['a.c', 'abc', false],
  ['Caf\u00e9', 'Cafe\u0301', true],
  ['\u{1f600}*', '\u{1f600}x', true],
  ['x*\ny', 'x\n\ny', true],
])('%j says of %j: %j', (pattern, name, expected) => {
  expect(matchesPattern(pattern, name)).toBe(expected);
});

test('case counts unless it is to be ignored', () => {
  expect(matchesPattern('*bank*', 'My Bank')).toBe(false);
  expect(matchesPattern('*bank*', 'My Bank', { ignoreCase: true })).toBe(true);
});

test('a name of 240 KB takes no longer with three stars than with one', () => {
  const name = 'Bank '.repeat(48_000);

  // With one expression for the whole pattern, this takes minutes.
  expect(matchesPattern('*Bank*Account*Number*Holder*', name)).toBe(false);
});
