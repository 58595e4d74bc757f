/**
 * Every column type in both directions, against the forms of the specification, 2.4. A value is never changed on the
 * way: what a reader cannot take as it stands is `undefined`.
 */
import * as fc from 'fast-check';
import { expect, test, describe } from 'vitest';
import { plainDecimal } from '../../src/wire/decimal.ts';
import { parseExactJson } from '../../src/wire/exact-json.ts';
import { COLUMN_TYPES, type ColumnType, type Value } from '../../src/wire/schema.ts';
import { readOutput, readXmlOutput } from '../../src/wire/values.ts';
import { inputJson } from '../../src/wire/writes.ts';
import { readInput, writeOutput, readXmlInput, writeXmlOutput } from '../../src/sandbox/wire/value-forms.ts';
import { TYPE_RULES } from '../../src/wire/column-types.ts';

const PARIS = 'Europe/Paris';

const TEXT_TYPES = ['Text', 'Phone', 'EMail', 'URL', 'User', 'Autonumber', 'Attachment', 'Unknown'] as const;

function readOutputText(type: ColumnType, json: string): Value | undefined {
  return readOutput(type)(parseExactJson(json));
}

function readInputText(type: ColumnType, json: string): Value | undefined {
  return readInput(type, PARIS)(parseExactJson(json));
}

/** [type, JSON text on the wire, value]: forms that are the same in both directions. */
const SAME_FORMS: readonly (readonly [ColumnType, string, Value])[] = [
  ...COLUMN_TYPES.map((type) => [type, 'null', null] as const),
  ...TEXT_TYPES.map(
    (type) => [type, '"Jane \\"J\\" Doe <jane@example.com>"', 'Jane "J" Doe <jane@example.com>'] as const,
  ),
  ...TEXT_TYPES.map((type) => [type, '""', ''] as const),
  ['Text', '"00123"', '00123'],
  ['Text', '"1e5"', '1e5'],
  ['Text', '" true\\t"', ' true\t'],
  ['Text', '"\\u0000"', '\0'],
  ['Text', '"日本 😀"', '日本 😀'],
  ['Checkbox', 'true', true],
  ['Checkbox', 'false', false],
  ...(['Numeric', 'Duration'] as const).flatMap((type) => [
    [type, '0', 0] as const,
    [type, '-1.5', -1.5] as const,
    [type, '0.0000001', 1e-7] as const,
    [type, '9223372036854775807', 9_223_372_036_854_775_807n] as const,
    [type, '-9223372036854775808', -9_223_372_036_854_775_808n] as const,
    [type, '1234567890.123456789', '1234567890.123456789'] as const,
    [type, '0.1234567890123456789', '0.1234567890123456789'] as const,
    [type, `1${'0'.repeat(400)}`, 10n ** 400n] as const,
  ]),
];

test.each(SAME_FORMS)('carries a %s %s in both directions', (type, json, value) => {
  expect(readOutputText(type, json)).toBe(value);
  expect(writeOutput(type, PARIS)(value)).toBe(json);
  expect(readInputText(type, json)).toBe(value);
  expect(inputJson(type, value, PARIS)).toBe(json);
});

test.each<readonly [ColumnType, string, Value]>([
  ['Multiline', '"a\\r\\nb\\r\\n"', 'a\nb\n'],
  ['Date', '"1969-07-20T00:00:00+00:00"', '1969-07-20'],
  ['Date', '"0001-01-01T00:00:00+00:00"', '0001-01-01'],
  ['Date', '"9999-12-31T00:00:00+00:00"', '9999-12-31'],
  ['Time', '"0001-01-01T00:00:00+00:00"', '00:00:00'],
  ['Time', '"0001-01-01T23:59:59+00:00"', '23:59:59'],
  ['Timestamp', '"2026-07-01T14:05:07+02:00"', '2026-07-01T12:05:07Z'],
  ['Timestamp', '"2026-10-25T02:30:00+02:00"', '2026-10-25T00:30:00Z'],
  ['Timestamp', '"2026-10-25T02:30:00+01:00"', '2026-10-25T01:30:00Z'],
])('carries a %s as output: %s', (type, json, value) => {
  expect(readOutputText(type, json)).toBe(value);
  expect(writeOutput(type, PARIS)(value)).toBe(json);
});

test.each<readonly [ColumnType, string, Value]>([
  ['Multiline', '"a\\nb\\n"', 'a\nb\n'],
  ['Date', '"1969-07-20"', '1969-07-20'],
  ['Time', '"08:30:00"', '08:30:00'],
  ['Timestamp', '"2026-07-01T14:05:07"', '2026-07-01T12:05:07Z'],
  ['Timestamp', '"2026-10-25T02:30:00+01:00"', '2026-10-25T01:30:00Z'],
  ['Attachment', '"cid:part-1"', 'cid:part-1'],
])('carries a %s as input: %s', (type, json, value) => {
  expect(inputJson(type, value, PARIS)).toBe(json);
  expect(readInputText(type, json)).toBe(value);
});

test.each([
  ['file:/etc/passwd', 'file%3A/etc/passwd'],
  ['file:a.txt;1;6f9619ff-8b86-d011-b42d-00cf4fc964ff', 'file%3Aa.txt;1;6f9619ff-8b86-d011-b42d-00cf4fc964ff'],
  ['file:', 'file%3A'],
  ['File:a.txt', 'File:a.txt'],
  ['a file:b.txt', 'a file:b.txt'],
])('what an origin shows of a file asks for no upload: %s', (text, value) => {
  expect(readOutputText('Attachment', JSON.stringify(text))).toBe(value);
  expect(readXmlOutput('Attachment')(text)).toBe(value);
  expect(readInputText('Attachment', JSON.stringify(text))).toBe(text);
  expect(readOutputText('Text', JSON.stringify(text))).toBe(text);
});

test.each<readonly [ColumnType, string, Value]>([
  ['Numeric', '1e-7', 1e-7],
  ['Numeric', '1E400', 10n ** 400n],
  ['Numeric', '1E+19', 10n ** 19n],
  ['Duration', '-1.5e25', -15n * 10n ** 24n],
  ['Numeric', '1e3', 1000],
  ['Numeric', '-0', 0],
  ['Numeric', '-0.0', 0],
  ['Numeric', '5.0', 5],
  ['Numeric', '"12.50"', 12.5],
  ['Autonumber', '42', '42'],
  ['Autonumber', '12345678901234567890', '12345678901234567890'],
  ['Unknown', '42', '42'],
  ['Unknown', 'true', 'true'],
  ['Unknown', '12345678901234567890', '12345678901234567890'],
  ['Unknown', '{"lat":48.85,"id":12345678901234567890}', '{"lat":48.85,"id":12345678901234567890}'],
  ['Multiline', '"a\\nb\\rc"', 'a\nb\rc'],
  ['Date', '"1969-07-20"', '1969-07-20'],
  ['Date', '"1969-07-20T00:00:00Z"', '1969-07-20'],
  ['Time', '"08:30:00"', '08:30:00'],
  ['Time', '"1899-12-30T08:30:00Z"', '08:30:00'],
  ['Timestamp', '"2026-07-01T14:05:07.123+02:00"', '2026-07-01T12:05:07.123Z'],
])('also reads a %s %s', (type, json, value) => {
  expect(readOutputText(type, json)).toBe(value);
});

test.each<readonly [ColumnType, string, Value]>([
  ['Date', '"2026-07-01T23:30:00"', '2026-07-01'],
  ['Date', '"2026-07-01T23:30:00-05:00"', '2026-07-01'],
  ['Date', '"9999-12-31T23:59:59-05:00"', '9999-12-31'],
  ['Time', '"08:30"', '08:30:00'],
  ['Time', '"2026-07-01T08:30:00"', '08:30:00'],
  ['Time', '"9999-12-31T23:59:59-05:00"', '23:59:59'],
  ['Time', '"2026-07-01T08:30+02:00"', '08:30:00'],
  ['Timestamp', '"2026-07-01 14:05:07"', '2026-07-01T12:05:07Z'],
  ['Timestamp', '"2026-07-01T14:05:07Z"', '2026-07-01T14:05:07Z'],
  ['Timestamp', '"2026-07-01T14:05"', '2026-07-01T12:05:00Z'],
])('also takes a %s %s from a caller', (type, json, value) => {
  expect(readInputText(type, json)).toBe(value);
});

test.each<readonly [ColumnType, string]>([
  ...TEXT_TYPES.map((type) => [type, '"\\ud800"'] as const),
  ['Text', '1'],
  ['Text', 'true'],
  ['Text', '{}'],
  ['Multiline', '"a\\udc00"'],
  ['Multiline', '[]'],
  ['Checkbox', '"true"'],
  ['Checkbox', '1'],
  ['Numeric', '"twelve"'],
  ['Numeric', '""'],
  ['Numeric', 'true'],
  ['Duration', '"PT5S"'],
  ['Date', '"2026-02-30T00:00:00+00:00"'],
  ['Date', '"2026-07-01T01:00:00+00:00"'],
  ['Date', '"2026-07-01T00:00:00+02:00"'],
  ['Date', '20260701'],
  ['Time', '"0001-01-01T24:00:00+00:00"'],
  ['Time', '"0001-01-01T08:30:00+02:00"'],
  ['Time', '"not a date 08:30:00Z"'],
  ['Time', '830'],
  ['Timestamp', '"2026-07-01T14:05:07"'],
  ['Timestamp', '"2026-07-01"'],
  ['Timestamp', '1782912307'],
])('finds no meaning in the %s %s that an origin sends', (type, json) => {
  expect(readOutputText(type, json)).toBeUndefined();
});

test.each<readonly [ColumnType, string]>([
  ['Text', '"\\ud800"'],
  ['Checkbox', '"yes"'],
  ['Numeric', '"1,5"'],
  ['Date', '"2026-02-30"'],
  ['Date', '"01/07/2026"'],
  ['Date', '"2026-07-01T25:00:00"'],
  ['Time', '"25:00:00"'],
  ['Time', '"8:30"'],
  ['Time', '"2026-02-30T08:30:00"'],
  ['Timestamp', '"2026-07-01"'],
  ['Timestamp', '1782912307'],
])('finds no meaning in the %s %s that a caller sends', (type, json) => {
  expect(readInputText(type, json)).toBeUndefined();
});

test('sends line breaks as \\r\\n, however they are stored', () => {
  expect(writeOutput('Multiline', PARIS)('a\nb\r\nc')).toBe(String.raw`"a\r\nb\r\nc"`);
});

const wellFormed = fc.string({ unit: 'binary' });

const int64s = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);

const decimals = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat({ max: 30 }))
  .map(([digits, scale]) => plainDecimal(`${digits}e-${scale}`) ?? '');

test('writes an integer of 64 bits or a decimal of 30 digits byte for byte as it was read', () => {
  fc.assert(
    fc.property(fc.oneof(int64s, decimals), fc.constantFrom('Numeric', 'Duration'), (text, type: ColumnType) => {
      const value = readInputText(type, text);

      expect(inputJson(type, value ?? null, PARIS)).toBe(text);
      expect(writeOutput(type, PARIS)(readOutputText(type, text) ?? null)).toBe(text);
    }),
  );
});

test('keeps every well-formed text to its last character', () => {
  fc.assert(
    fc.property(wellFormed, fc.constantFrom(...TEXT_TYPES), (text, type) => {
      expect(readOutputText(type, writeOutput(type, PARIS)(text))).toBe(text);
      expect(readInputText(type, inputJson(type, text, PARIS))).toBe(text);
    }),
  );
});

/** Any string of UTF-16 code units, lone surrogates included. */
const unpaired = fc.string({ unit: fc.integer({ min: 0xd700, max: 0xe010 }).map((unit) => String.fromCharCode(unit)) });

/** What SQLite can hold without changing it. */
function isStorable(value: Value | undefined): boolean {
  return typeof value === 'string' ? value.isWellFormed() : typeof value !== 'object' || value === null;
}

test('reads any JSON value as a value that can be stored or as none, and never throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), unpaired), fc.constantFrom(...COLUMN_TYPES), (raw, type) => {
      expect([readOutput(type)(raw), readInput(type, PARIS)(raw)].map(isStorable)).toEqual([true, true]);
    }),
  );
});

describe('numbers leave with six decimals', () => {
  test.each([
    [0, '0.000000'],
    [-0, '0.000000'],
    [12.5, '12.500000'],
    [-7, '-7.000000'],
    [9007199254740993n, '9007199254740993.000000'],
    ['1234567890123456789.123456', '1234567890123456789.123456'],
    ['0.1234564', '0.123456'],
    ['0.1234565', '0.123457'],
    ['-0.1234565', '-0.123457'],
    ['0.9999995', '1.000000'],
    ['-0.0000004', '0.000000'],
    [1e-7, '0.000000'],
    [1e21, '1000000000000000000000.000000'],
  ] as const)('%s as %s', (value, text) => {
    expect(writeXmlOutput('Numeric', 'UTC')(value)).toBe(text);
  });

  test('and come back without the padding, every digit kept', () => {
    expect(readXmlOutput('Numeric')('12.500000')).toBe(12.5);
    expect(readXmlOutput('Numeric')('9007199254740993.000000')).toBe(9007199254740993n);
    expect(readXmlOutput('Numeric')('1234567890123456789.123456')).toBe('1234567890123456789.123456');
  });

  test('on input every digit is sent, and never an exponent', () => {
    expect(TYPE_RULES.Numeric.writeInput(1e-7, 'UTC')).toBe('0.0000001');
    expect(TYPE_RULES.Duration.writeInput(1e21, 'UTC')).toBe('1000000000000000000000');
  });
});

test.each([
  ['Numeric', ' 1.5\n', 1.5],
  ['Duration', ' PT90S ', 90],
  ['Checkbox', ' true ', true],
  ['Date', ' 2026-11-21T00:00:00+00:00 ', '2026-11-21'],
  ['Time', ' 0001-01-01T08:30:00+00:00 ', '08:30:00'],
  ['Timestamp', ' 2026-11-21T08:30:00+00:00 ', '2026-11-21T08:30:00Z'],
  ['Date', ' ', null],
  ['Text', ' a ', ' a '],
  ['Unknown', ' ', ' '],
] as const)('spaces around a %s: %j is %j', (type, text, value) => {
  expect(readXmlOutput(type)(text)).toBe(value);
});

test('what is no text has no meaning, in columns of any type', () => {
  expect([readXmlOutput('Unknown')(5), readXmlOutput('Unknown')(null), readXmlOutput('Numeric')(5)]).toEqual([
    undefined,
    null,
    undefined,
  ]);
});

describe('durations', () => {
  test.each([
    ['PT90S', 90],
    ['PT0S', 0],
    ['PT1.5S', 1.5],
    ['-PT90S', -90],
    ['PT-90S', -90],
    ['90', 90],
    ['-1.5', -1.5],
    ['-PT-90S', undefined],
    ['PTS', undefined],
    ['PT1.2.3S', undefined],
    ['PT1M30S', undefined],
    ['P1D', undefined],
  ])('%s is read as %s', (text, seconds) => {
    expect(readXmlInput('Duration', 'UTC')(text)).toBe(seconds);
    expect(readXmlOutput('Duration')(text)).toBe(seconds);
  });

  test('leave as seconds, the sign in front', () => {
    expect(writeXmlOutput('Duration', 'UTC')(5400)).toBe('PT5400S');
    expect(writeXmlOutput('Duration', 'UTC')(-1.5)).toBe('-PT1.5S');
    expect(writeXmlOutput('Duration', 'UTC')(null)).toBeNull();
  });
});

describe('input', () => {
  // Specification, sandbox: 2.4-4, 2.4-6, 2.4-8, 2.4-10, 2.4-12, 2.4-13, 2.4-15, 2.4-16, 2.4-18, 2.4-22, 2.4-24
  test.each<[ColumnType, string, unknown]>([
    ['Date', '2024-02-29', '2024-02-29'],
    ['Date', '2024-02-29T23:59:59', '2024-02-29'],
    ['Date', '2024-02-29T23:59:59+02:00', '2024-02-29'],
    ['Date', '2023-02-29', undefined],
    ['Date', '1709164800', undefined],
    ['Time', '08:05:00', '08:05:00'],
    ['Time', '08:05', '08:05:00'],
    ['Time', '2024-02-29T08:05:00', '08:05:00'],
    ['Time', '0001-01-01T08:05:00+00:00', '08:05:00'],
    ['Time', '24:00:00', undefined],
    ['Timestamp', '2024-07-01T12:00:00', '2024-07-01T10:00:00Z'],
    ['Timestamp', '2024-07-01T12:00:00Z', '2024-07-01T12:00:00Z'],
    ['Timestamp', '2024-07-01', undefined],
    ['Checkbox', 'true', true],
    ['Checkbox', ' false\n', false],
    ['Checkbox', '1', undefined],
    ['Numeric', '\n 12 ', 12],
    ['Numeric', '1,5', undefined],
    ['Numeric', ' ', null],
    ['Text', ' 00123 ', ' 00123 '],
    ['Text', ' ', ' '],
    ['User', 'Ada <ada@example.com>', 'Ada <ada@example.com>'],
    ['Multiline', 'a\r\nb\nc', 'a\nb\nc'],
    ['Attachment', 'cid:1', 'cid:1'],
  ])('a %s of %j', (type, text, value) => {
    expect(readXmlInput(type, 'Europe/Paris')(text)).toBe(value);
  });

  test('an empty element is null in every type', () => {
    for (const type of ['Text', 'Multiline', 'Numeric', 'Date', 'Checkbox', 'Attachment'] as const) {
      expect(readXmlInput(type, 'UTC')(null)).toBeNull();
    }
  });

  test('what is no element text has no meaning', () => {
    expect(readXmlInput('Text', 'UTC')(5)).toBeUndefined();
    expect(readXmlInput('Numeric', 'UTC')(5)).toBeUndefined();
  });

  test('a local time that happens twice is sent with its offset', () => {
    expect(TYPE_RULES.Timestamp.writeInput('2024-10-27T00:30:00Z', 'Europe/Paris')).toBe('2024-10-27T02:30:00+02:00');
    expect(TYPE_RULES.Timestamp.writeInput('2024-07-01T10:00:00Z', 'Europe/Paris')).toBe('2024-07-01T12:00:00');
  });
});
