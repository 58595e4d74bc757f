/** JSON text to values without losing a digit: which numbers keep their text, and that nothing else changes. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainDecimal } from '../../src/wire/decimal.ts';
import { ExactNumber, jsonCells, parseExactJson } from '../../src/wire/exact-json.ts';

function numberText(value: unknown): string {
  return value instanceof ExactNumber ? value.text : String(value);
}

test.each([
  '9223372036854775807',
  '-9223372036854775808',
  '9007199254740993',
  // The double beside it, 9007199254740000768, prints as exactly these digits.
  '9007199254740001000',
  '1234567890.123456789',
  '0.1234567890123456789',
  '1e400',
  '-1.5E-400',
])('keeps the digits of %s wherever it stands', (number) => {
  expect(parseExactJson(`{"a":${number}}`)).toEqual({ a: new ExactNumber(number) });
  expect(parseExactJson(`[1,\n ${number}]`)).toEqual([1, new ExactNumber(number)]);
  expect(parseExactJson(number)).toEqual(new ExactNumber(number));
});

test('finds every number that a double does not hold, wherever white space and signs stand', () => {
  const digits = fc.stringMatching(/^[1-9]\d{15,25}$/);
  const fraction = fc.stringMatching(/^0\.\d{16,25}[1-9]$/);
  const exponent = fc.stringMatching(/^-?[1-9](?:\.\d{1,3})?[eE][+-]?[1-9]\d{2}$/);
  const space = fc.constantFrom('', ' ', '\n', '\t ', '\r\n');
  fc.assert(
    fc.property(fc.oneof(digits, fraction, exponent), space, space, (number, before, after) => {
      const texts = [
        `${before}${number}${after}`,
        `[0,${before}${number}${after}]`,
        `{"a":${before}${number}${after}}`,
      ];

      for (const text of texts) {
        const parsed = parseExactJson(text);
        const value = Array.isArray(parsed) ? (parsed as unknown[])[1] : ((parsed as { a?: unknown }).a ?? parsed);
        expect(plainDecimal(numberText(value))).toBe(plainDecimal(number));
      }
    }),
  );
});

test('leaves long numbers that a double holds as numbers', () => {
  expect(parseExactJson('[9007199254740991,-0.1234567890123456,1e-7]')).toEqual([
    9_007_199_254_740_991, -0.1234567890123456, 1e-7,
  ]);
});

test('finds a long number at every place of a text', () => {
  for (let offset = 0; offset < 40; offset += 1) {
    const text = `{"${'x'.repeat(offset)}":1234567890.123456,"b":1}`;

    expect(numberText(Object.values(parseExactJson(text) as object)[0])).toBe('1234567890.123456');
    expect(numberText((parseExactJson(`[${' '.repeat(offset)}9007199254740993]`) as unknown[])[0])).toBe(
      '9007199254740993',
    );
  }
});

test('leaves numbers with a small exponent as numbers, since a double holds them', () => {
  expect(parseExactJson('{"a":1e5,"b":-2.5E-7}')).toEqual({ a: 100_000, b: -2.5e-7 });
});

test('leaves short numbers as numbers beside a long one, with zeros at their ends', () => {
  expect(parseExactJson('[9007199254740993,5.0,1234567890.1230]')).toEqual([
    new ExactNumber('9007199254740993'),
    5,
    1_234_567_890.123,
  ]);
});

test('leaves numbers that a double holds as numbers', () => {
  expect(parseExactJson('[0,-1,0.1,123456789012345,-0.000001]')).toEqual([0, -1, 0.1, 123_456_789_012_345, -0.000001]);
});

test('prints an exact number with every digit', () => {
  expect(JSON.stringify(parseExactJson('{"a":9223372036854775807,"b":[1e400]}'))).toBe(
    '{"a":9223372036854775807,"b":[1e400]}',
  );
});

test('leaves strings that look like numbers alone', () => {
  const json = '{"a":"x, 12345678901234567890","b":": 1e5"}';

  expect(parseExactJson(json)).toEqual({ a: 'x, 12345678901234567890', b: ': 1e5' });
});

test.each([
  ['small numbers', '{"__proto__":1,"constructor":2,"toString":3}'],
  ['exact numbers', '{"__proto__":12345678901234567890,"constructor":2e1,"toString":3}'],
])('takes __proto__, constructor and toString as ordinary names (%s)', (_what, json) => {
  const parsed = parseExactJson(json) as object;

  expect(Object.keys(parsed)).toEqual(['__proto__', 'constructor', 'toString']);
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  expect(JSON.stringify(parsed)).toBe(json);
});

test('takes the last of two equal names, with its own digits', () => {
  expect(parseExactJson('{"a":1e5,"a":12345678901234567890}')).toEqual({ a: new ExactNumber('12345678901234567890') });
  expect(parseExactJson('{"a":12345678901234567890,"a":"text"}')).toEqual({ a: 'text' });
  expect(parseExactJson('{"a":12345678901234567890,"a":7}')).toEqual({ a: 7 });
});

test.each(['', '{', '[1,', '{"a":12345678901234567890', '[1e5', '01', '[1,]', "{'a':1}", '<html>', 'NaN', '\ufeff[]'])(
  'does not take %j for JSON',
  (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  },
);

const jsonNumbers = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
    fc.option(fc.stringMatching(/^\d{1,20}$/)),
    fc.option(fc.integer({ min: -400, max: 400 })),
  )
  .map(
    ([whole, fraction, exponent]) =>
      `${whole}${fraction ? `.${fraction}` : ''}${exponent === null ? '' : `e${exponent}`}`,
  );

/** Numbers as canonical decimals and anything else as its JSON, so that what was written and what was read compare. */
function canonical(value: unknown): string {
  const isNumber = typeof value === 'number' || value instanceof ExactNumber;
  return (isNumber ? plainDecimal(numberText(value)) : undefined) ?? JSON.stringify(value);
}

test('an object with a toString of its own is no number', () => {
  expect(canonical(JSON.parse('{"toString":[]}'))).toBe('{"toString":[]}');
});

test('keeps every digit of every JSON number beside every other value', () => {
  const cells = fc.oneof(
    jsonNumbers,
    fc.json().filter((json) => !/\d/.test(json)),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), cells)), (pairs) => {
      const json = `[${pairs.map(([name, cell]) => `[${JSON.stringify(name)}, ${cell}]`).join(',')}]`;

      const parsed = parseExactJson(json) as [string, unknown][];

      expect(parsed.map(([name, value]) => [name, canonical(value)])).toEqual(
        pairs.map(([name, cell]) => [name, plainDecimal(cell) ?? JSON.stringify(JSON.parse(cell))]),
      );
    }),
  );
});

test('the cells of an object are JSON with every digit, as JSON.stringify would write them', () => {
  const text = String.raw`{"n":12345678901234567890.10,"t":"\u0041","o":{"x":[1.0]},"b":true,"nil":null}`;

  expect([...(jsonCells(text) ?? [])]).toEqual([
    ['n', '12345678901234567890.10'],
    ['t', '"A"'],
    ['o', '{"x":[1.0]}'],
    ['b', 'true'],
    ['nil', 'null'],
  ]);
  expect(['[1]', '1', '"t"', 'null'].map(jsonCells)).toEqual([null, null, null, null]);
});
