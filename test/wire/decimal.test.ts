/** Exact decimals: plain text of every notation, and the JavaScript value that holds each one without a loss. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRoundedTo, isTooLong, numericFromText, numericToPlain, plainDecimal } from '../../src/wire/decimal.ts';

test.each([
  ['0', '0'],
  ['-0', '0'],
  ['-0.000', '0'],
  ['+5', '5'],
  ['007', '7'],
  ['1.50', '1.5'],
  ['1.', '1'],
  ['.5', '0.5'],
  ['-.5', '-0.5'],
  ['1e-7', '0.0000001'],
  ['2e-05', '0.00002'],
  ['1E5', '100000'],
  ['-1.25e+3', '-1250'],
  ['12.345e1', '123.45'],
  ['12345e-3', '12.345'],
  ['12345e-8', '0.00012345'],
  ['0e400', '0'],
  ['1234567890123456789', '1234567890123456789'],
  ['0.1234567890123456789', '0.1234567890123456789'],
])('writes %s as the plain decimal %s', (text, plain) => {
  expect(plainDecimal(text)).toBe(plain);
});

test.each([
  '',
  '-',
  '.',
  'e5',
  '1e',
  '1e+',
  '0x10',
  '1,5',
  ' 1',
  '1 ',
  '1\n',
  'NaN',
  'Infinity',
  '١',
  '1e1100',
  `1.${'1'.repeat(1_100)}`,
  '1e-99999',
])('finds no decimal in %j', (text) => {
  expect(plainDecimal(text)).toBeUndefined();
  expect(numericFromText(text)).toBeUndefined();
});

test('writes up to 1,100 digits', () => {
  expect(plainDecimal('1e1099')).toBe(`1${'0'.repeat(1_099)}`);
});

test('writes 1e400 out, digit by digit', () => {
  expect(plainDecimal('1e400')).toBe(`1${'0'.repeat(400)}`);
  expect(numericFromText('1e400')).toBe(10n ** 400n);
});

test.each([
  ['9007199254740991', 9_007_199_254_740_991],
  ['9007199254740993', 9_007_199_254_740_993n],
  ['9223372036854775807', 9_223_372_036_854_775_807n],
  ['-9223372036854775808', -9_223_372_036_854_775_808n],
  ['0.1', 0.1],
  ['1e-7', 1e-7],
  ['1.0', 1],
  ['-0', 0],
  ['1234567890.123456789', '1234567890.123456789'],
  ['0.10000000000000000555', '0.10000000000000000555'],
  ['1e-400', `0.${'0'.repeat(399)}1`],
])('holds %s exactly', (text, value) => {
  expect(numericFromText(text)).toBe(value);
});

test.each([
  [1e21, '1000000000000000000000'],
  [1e-7, '0.0000001'],
  [-1.5e-10, '-0.00000000015'],
  [5e-324, `0.${'0'.repeat(323)}5`],
  [0.1, '0.1'],
  [-0, '0'],
  [9_223_372_036_854_775_807n, '9223372036854775807'],
  ['1234567890.123456789', '1234567890.123456789'],
  ['1.50', '1.5'],
  ['words', 'words'],
  [true, 'true'],
])('prints the value %s plainly', (value, plain) => {
  expect(numericToPlain(value)).toBe(plain);
});

test.each([
  [1, false],
  [12345678.5, false],
  [0.123456, false],
  [0.1234567, true],
  ['1234567890.1234567', true],
])('the origin keeps another number than %s: %s', (value, expected) => {
  expect(isTooLong(value)).toBe(expected);
});

test.each([
  ['0.1234567', '0.123456', true],
  ['0.1234567', '0.123457', true],
  ['0.1234567', '0.123455', false],
  ['0.1234567', '0.123458', false],
  ['0.1234567', '0.1234561', false],
  ['0.123456', '0.123457', false],
  ['7.1200001', '7.12', true],
  ['1.1234567', '2.123456', false],
  ['0.1234567', '-0.123456', false],
  ['-0.1234567', '0.123456', false],
  ['-1.1234567', '-1.123457', true],
  ['-0.0000011', '0.000001', false],
  ['-0.0000001', '0', true],
])('%s is kept as %s: %s', (long, short, expected) => {
  expect(isRoundedTo(long, short)).toBe(expected);
});

/** Canonical decimals of up to 30 digits, the point anywhere. */
const decimals = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat({ max: 30 }))
  .map(([digits, scale]) => plainDecimal(`${digits}e-${scale}`) ?? '');

test('keeps every decimal of 30 digits to its last digit', () => {
  fc.assert(
    fc.property(decimals, (plain) => {
      const value = numericFromText(plain);

      expect(value === undefined ? undefined : numericToPlain(value)).toBe(plain);
    }),
  );
});

test('keeps every decimal as it is written, short and a little longer, with zeros at both ends', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^-?\d{1,10}(\.[0-9]{1,10})?$/), (text) => {
      const value = numericFromText(text);

      expect(value).not.toBe(-0);
      expect(value === undefined ? undefined : numericToPlain(value)).toBe(plainDecimal(text));
    }),
    { numRuns: 1_000 },
  );
});

test('prints every double as the decimal that reads back as the same double', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
      const plain = numericToPlain(double);

      expect(plain).not.toMatch(/[eE]/);
      expect(Number(plain)).toBe(double === 0 ? 0 : double);
    }),
  );
});
