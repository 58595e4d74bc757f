import { describe, expect, test } from 'vitest';

import {
  columnReference,
  dateLiteral,
  numberLiteral,
  textLiteral,
  timeLiteral,
  timestampLiteral,
} from '../../src/wire/formula.ts';

describe('pieces of formulas are written as the origin’s own client writes them', () => {
  test.each([
    ['Start Date', '[Start Date]'],
    ['A]B', '[A\\]B]'],
    ['A\\B', '[A\\\\B]'],
    ['A\\]', '[A\\\\\\]]'],
    ['[A', '[[A]'],
    ['say "hi"', '[say "hi"]'],
  ])('the column %s', (name, expected) => expect(columnReference(name)).toBe(expected));

  test.each([
    ['plain', '"plain"'],
    ['', '""'],
    ['say "hi"', '"say \\"hi\\""'],
    ["it's", '"it\'s"'],
    ['C:\\temp', '"C:\\\\temp"'],
    ['\\"', '"\\\\\\""'],
    ['two\nlines', '"two\\nlines"'],
    ['\\n', '"\\\\n"'],
  ])('the text %j', (text, expected) => expect(textLiteral(text)).toBe(expected));

  test.each([
    [5, '5'],
    [0.5, '0.5'],
    [-3, '(-3)'],
    [1e-7, '0.0000001'],
    [9_007_199_254_740_993n, '9007199254740993'],
    ['0.1234567890123456789', '0.1234567890123456789'],
  ])('the number %s', (value, expected) => expect(numberLiteral(value)).toBe(expected));

  test('a number with more digits than any text may have', () => {
    expect(numberLiteral(10n ** 1_200n)).toBe(`1${'0'.repeat(1_200)}`);
  });

  test.each([
    ['no number', () => numberLiteral(Number.NaN)],
    ['no date', () => dateLiteral('2026-02-30')],
    ['no time', () => timeLiteral('24:00:00')],
    ['no instant', () => timestampLiteral('yesterdayZ')],
    ['an instant that is not in UTC', () => timestampLiteral('2026-02-01T03:30:00+01:00')],
  ])('%s is refused', (_what, write) => {
    expect(write).toThrow(expect.objectContaining({ code: 'usage.invalid' }));
  });

  test('a date, a time, and an instant in GMT without its fraction', () => {
    const written = [dateLiteral('2026-02-01'), timeLiteral('07:30:00'), timestampLiteral('2026-02-01T03:30:00.125Z')];

    expect(written).toEqual(['#2026-02-01#', '#07:30:00#', '#2026-02-01 03:30:00#']);
  });
});
