/** The XML forms of single values that whole documents do not show. */
import { describe, expect, test } from 'vitest';

import type { ColumnType } from '../../src/wire/schema.ts';
import { TYPE_RULES } from '../../src/wire/column-types.ts';
import { readXmlOutput } from '../../src/wire/values.ts';
import { readXmlInput, writeXmlOutput } from '../../src/sandbox/wire/value-forms.ts';

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
