/**
 * What cells of a file mean, by the type of their column and how people said that they are written.
 */
import { expect, test } from 'vitest';
import { formsOf, readCell, type RawCell } from '../../../src/extras/import/cell-value.ts';
import type { ColumnType, Value } from '../../../src/wire/schema.ts';

const ZONE = 'Europe/Paris';

const read = (type: ColumnType, cell: RawCell, how: { locale?: string; dates?: string; zone?: string | null } = {}) => {
  const forms = formsOf({ locale: how.locale, dates: how.dates, zone: how.zone === undefined ? ZONE : how.zone });
  const found = readCell(type, cell, forms);
  return 'value' in found ? found.value : `! ${found.problem}`;
};

const CASES: readonly (readonly [ColumnType, RawCell, Value, { locale?: string; dates?: string }?])[] = [
  ['Numeric', '12.5', 12.5],
  ['Numeric', ' -12.50 ', -12.5],
  ['Numeric', '12345678901234567890.123456', '12345678901234567890.123456'],
  ['Numeric', '1e-07', 1e-7],
  ['Numeric', '1.234,50', 1234.5, { locale: 'de-DE' }],
  ['Numeric', '1.234', 1234, { locale: 'de-DE' }],
  ['Numeric', '1\u202f234,5', 1234.5, { locale: 'fr-FR' }],
  ['Numeric', '1 234,5', 1234.5, { locale: 'fr-FR' }],
  ['Numeric', "1'234.5", 1234.5, { locale: 'de-CH' }],
  ['Numeric', '12,34,567.5', 1_234_567.5, { locale: 'en-IN' }],
  ['Numeric', '1,234,567.5', 1_234_567.5, { locale: 'en-US' }],
  ['Numeric', '\u22125', -5],
  ['Numeric', { plain: '1.5' }, 1.5, { locale: 'de-DE' }],
  ['Duration', '1:30:00', 5400],
  ['Duration', '90', 90],
  ['Checkbox', 'TRUE', true],
  ['Checkbox', 'nein', false],
  ['Checkbox', '0', false],
  ['Checkbox', true, true],
  ['Date', '2026-11-21', '2026-11-21'],
  ['Date', '2026-11-21 00:00:00', '2026-11-21'],
  ['Date', '2026-11-21T00:00:00+00:00', '2026-11-21'],
  ['Date', '3.4.2026', '2026-04-03', { locale: 'de-DE' }],
  ['Date', '3/4/2026', '2026-03-04', { locale: 'en-US' }],
  ['Date', '03/04/2026', '2026-04-03', { dates: 'DD/MM/YYYY' }],
  ['Date', '2026-11-21', '2026-11-21', { dates: 'DD/MM/YYYY' }],
  ['Time', '7:05', '07:05:00'],
  ['Time', '7:05 PM', '19:05:00'],
  ['Time', '12:00 am', '00:00:00'],
  ['Timestamp', '2026-11-21T17:05:00Z', '2026-11-21T17:05:00Z'],
  ['Timestamp', '2026-11-21 17:05:00+02:00', '2026-11-21T15:05:00Z'],
  ['Timestamp', '2026-11-21 17:05', '2026-11-21T16:05:00Z'],
  ['Timestamp', '2026-03-29 02:30+01:00', '2026-03-29T01:30:00Z'],
  ['Timestamp', '2026-10-25 02:30', '2026-10-25T00:30:00Z'],
  ['Timestamp', '2026-11-21 17:05:00.250000', '2026-11-21T16:05:00.25Z'],
  ['Timestamp', '11/21/2026, 5:05 PM', '2026-11-21T16:05:00Z', { locale: 'en-US' }],
  ['Timestamp', '21.11.2026 17:05', '2026-11-21T16:05:00Z', { locale: 'de-DE' }],
  ['Text', ' 007 ', ' 007 '],
  ['Text', { plain: '12.5' }, '12.5'],
  ['Multiline', 'one\r\ntwo', 'one\ntwo'],
  ['Text', '', null],
  ['Date', ' ', null],
];

test.each(CASES.map((each) => ({ each })))('$each.0 $each.1 is $each.2', ({ each: [type, cell, value, how] }) => {
  expect(read(type, cell, how)).toBe(value);
});

const REFUSED: readonly (readonly [ColumnType, RawCell, string, { locale?: string; dates?: string }?])[] = [
  ['Numeric', '1,5', 'is not a number such as 12.5'],
  ['Numeric', '12.5', 'is not a number such as 12,5', { locale: 'de-DE' }],
  ['Numeric', '1,234', 'is not a number such as 12.5'],
  ['Numeric', '1.23E+10', 'has an exponent (E+), as spreadsheets write numbers that they cut'],
  ['Numeric', '12,34,567', 'is not a number such as 12.5', { locale: 'en-US' }],
  ['Numeric', '12 %', 'is not a number such as 12.5'],
  ['Numeric', 'NaN', 'is not a number such as 12.5'],
  ['Date', '03/04/2026', 'is not a date such as 2026-11-21 (--locale or --dates say how others are written)'],
  ['Date', '03/04/26', 'is not a date such as 11/21/2026', { locale: 'en-US' }],
  ['Date', '03.04.2026', 'is not a date such as 21/11/2026', { dates: 'DD/MM/YYYY' }],
  ['Date', '30.02.2026', 'is not a date such as 21.11.2026', { locale: 'de-DE' }],
  ['Date', '2026-11-21 17:05', 'has a time of day, and the column takes none'],
  ['Timestamp', '2026-11-21', 'has no time of day'],
  ['Timestamp', '2026-03-29 02:30', 'is not a moment that exists: clocks in Europe/Paris were set forward'],
  ['Time', '25:00', 'is not a time of day such as 17:05:00'],
  ['Checkbox', 'maybe', 'is neither yes nor no, true nor false, 1 nor 0'],
  ['Text', 'half \ud83d', 'has half a character'],
];

test.each(REFUSED.map((each) => ({ each })))('$each.0 $each.1 is refused', ({ each: [type, cell, problem, how] }) => {
  expect(read(type, cell, how)).toBe(`! ${problem}`);
});

test('a time without an offset is not read where the zone is not known', () => {
  expect(read('Timestamp', '2026-11-21 17:05', { zone: null })).toBe('! has no offset, such as Z or +02:00');
});

test.each(['nonsense!', 'xx-INVALID-'])('the locale %s is refused', (locale) => {
  expect(() => read('Text', 'x', { locale })).toThrow(`--locale: "${locale}" is not a locale`);
});

test.each(['DD.MM.YY', 'DDMMYYYY', 'DD.MM.MM'])('the form of dates %s is refused', (dates) => {
  expect(() => read('Text', 'x', { dates })).toThrow(`--dates: "${dates}" is not a form of dates`);
});
