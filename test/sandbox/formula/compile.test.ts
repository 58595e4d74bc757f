import { describe, expect, test } from 'vitest';
import { faultAt, parse } from '../../support/formula.ts';

describe('types that do not go together are a fault with its place', () => {
  test.each([
    ['1', '1:1 type [1]'],
    ['[Status]', '1:1 type [[Status]]'],
    ['null', '1:1 type [null]'],
    ['[Price] + 1', '1:1 type [[Price] + 1]'],
    ['[Price] = "1"', '1:1 type [[Price] = "1"]'],
    ['true and [Id] = 42', '1:10 type [[Id] = 42]'],
    ['[Date Modified] >= #2026-02-01#', '1:1 type [[Date Modified] >= #2026-02-01#]'],
    ['[Record Owner] = "ada@example.org"', '1:1 type [[Record Owner] = "ada@example.org"]'],
    ['[Record Owner] < User()', '1:1 type [[Record Owner] < User()]'],
    ['[Done] > false', '1:1 type [[Done] > false]'],
    ['[Start Date] - 1 = null', '1:1 type [[Start Date] - 1]'],
    ['"a" & 1 = ""', '1:1 type ["a" & 1]'],
    ['"a" * "b" = ""', '1:1 type ["a" * "b"]'],
    ['1 + 2 + "a" = 3', '1:1 type [1 + 2 + "a"]'],
    ['-"a" = 1', '1:2 type ["a"]'],
    ['not -1', '1:6 type [1]'],
    ['- not true = 1', '1:7 type [true]'],
    ['not 1', '1:5 type [1]'],
    ['true and 1', '1:10 type [1]'],
    ['"x" or true', '1:1 type ["x"]'],
    ['Contains([Price], "1")', '1:10 type [[Price]]'],
    ['Contains("1", [Price])', '1:15 type [[Price]]'],
    ['Contains("1")', '1:1 type [Contains("1")]'],
    ['Contains("1", "2", "3")', '1:1 type [Contains("1", "2", "3")]'],
    ['Today(1) = null', '1:1 type [Today(1)]'],
    ['If(1, true)', '1:4 type [1]'],
    ['If(true) = true', '1:1 type [If(true)]'],
    ['If(true, 1, "a") = 1', '1:13 type ["a"]'],
    ['Case([Price], "a", true)', '1:15 type ["a"]'],
    ['In([Price], 1, "a")', '1:16 type ["a"]'],
    ['In([Price])', '1:1 type [In([Price])]'],
    ['Between([Done], false, true)', '1:9 type [[Done]]'],
    ['Between(1, 2)', '1:1 type [Between(1, 2)]'],
    ['Max(1, "a") = 1', '1:8 type ["a"]'],
    ['Max(User()) = User()', '1:5 type [User()]'],
    ['Max() = 1', '1:1 type [Max()]'],
    ['Nz(1) = 1', '1:1 type [Nz(1)]'],
    ['Nz() = 1', '1:1 type [Nz()]'],
    ['NullIf(1) = 1', '1:1 type [NullIf(1)]'],
    ['IsNull()', '1:1 type [IsNull()]'],
    ['Count() = 0', '1:1 type [Count()]'],
    ['Var[Rate] = 12.5', '1:1 type [Var[Rate] = 12.5]'],
  ])('%s at %s', (text, expected) => expect(faultAt(text)).toBe(expected));

  test('the message lists what a function takes', () => {
    const fault = parse('Left(1, 2) = ""');

    expect(fault).toMatchObject({ message: 'Left takes (text, number) or (text, text), not (number, number).' });
  });
});
