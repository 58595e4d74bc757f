/**
 * Days, times and zones of formulas at their edges: the years 1 and 9999, leap days, weeks across years, hours that
 * clocks skip or show twice.
 */
import { expect, test } from 'vitest';
import {
  dateFromText,
  dayFromCivil,
  dayOfYear,
  dayPlusMonths,
  instantFromLocal,
  instantFromUtc,
  isoWeek,
  localFromInstant,
  monthLength,
  textFromDate,
  textFromSeconds,
  timeFromText,
  weekdayOf,
  weekOfYear,
} from '../../../src/sandbox/formula/calendar.ts';

const day = (text: string): number => dateFromText(text) ?? Number.NaN;

test.each([
  [{ year: 2024, month: 2, day: 29 }, '2024-02-29'],
  [{ year: 1, month: 1, day: 1 }, '0001-01-01'],
  [{ year: 9999, month: 12, day: 31 }, '9999-12-31'],
  [{ year: 2023, month: 2, day: 29 }, null],
  [{ year: 1900, month: 2, day: 29 }, null],
  [{ year: 0, month: 1, day: 1 }, null],
  [{ year: 10_000, month: 1, day: 1 }, null],
  [{ year: 2024, month: 13, day: 1 }, null],
  [{ year: 2024, month: 4, day: 31 }, null],
  [{ year: 2024, month: 4, day: 0 }, null],
])('%j is the day %s', (civil, text) => {
  const days = dayFromCivil(civil);

  expect(days === null ? null : textFromDate(days)).toBe(text);
});

test.each([
  ['2024-01-31', 1, '2024-02-29'],
  ['2024-03-31', -1, '2024-02-29'],
  ['2024-12-31', 2, '2025-02-28'],
  ['2024-01-15', -13, '2022-12-15'],
  ['0001-01-31', -1, null],
  ['9999-12-01', 1, null],
])('%s and %i months is %s', (text, months, expected) => {
  const days = dayPlusMonths(day(text), months);

  expect(days === null ? null : textFromDate(days)).toBe(expected);
});

test.each([
  // The weeks of ISO 8601 are those of the standard's own examples.
  ['2024-12-30', { weekday: 1, ofYear: 365, iso: 1, week: 53 }],
  ['2021-01-03', { weekday: 0, ofYear: 3, iso: 53, week: 2 }],
  ['2021-01-04', { weekday: 1, ofYear: 4, iso: 1, week: 2 }],
  ['2000-12-31', { weekday: 0, ofYear: 366, iso: 52, week: 54 }],
  ['0001-01-01', { weekday: 1, ofYear: 1, iso: 1, week: 1 }],
])('%s in its week and year', (text, { weekday, ofYear, iso, week }) => {
  const days = day(text);

  expect([weekdayOf(days), dayOfYear(days), isoWeek(days), weekOfYear(days, 0)]).toEqual([weekday, ofYear, iso, week]);
});

test('months have their lengths, and February that of its year', () => {
  expect(Array.from({ length: 12 }, (_, index) => monthLength(2023, index + 1))).toEqual([
    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
  ]);
  expect([1900, 2000, 2024].map((year) => monthLength(year, 2))).toEqual([28, 29, 29]);
});

test.each([
  ['07:05', 25_500, '07:05:00'],
  ['23:59:59', 86_399, '23:59:59'],
])('the time %s is %i seconds', (text, seconds, written) => {
  expect(timeFromText(text)).toBe(seconds);
  expect(textFromSeconds(seconds)).toBe(written);
});

test.each(['24:00', '7:05', '07:60', '07:05:60', ''])('%j is no time', (text) => {
  expect(timeFromText(text)).toBeNull();
});

test.each(['2023-02-29', '2023-2-1', '0000-01-01', '10000-01-01', ''])('%j is no date', (text) => {
  expect(dateFromText(text)).toBeNull();
});

test('a duration may have more than a day of hours', () => {
  expect(textFromSeconds(100 * 3600 + 61)).toBe('100:01:01');
});

test.each([
  ['an hour that clocks show twice is the earlier one', '2024-10-27', '02:30', '2024-10-27T00:30:00Z'],
  ['winter', '2024-01-15', '12:00', '2024-01-15T11:00:00Z'],
  ['summer', '2024-07-15', '12:00', '2024-07-15T10:00:00Z'],
])('in Paris, %s', (_what, date, time, utc) => {
  const local = { days: day(date), seconds: timeFromText(time) ?? Number.NaN };

  expect(instantFromLocal(local, 'Europe/Paris')).toBe(instantFromUtc(utc));
});

test('clocks show the day of their zone, and nothing outside of the years 1 to 9999', () => {
  const late = instantFromUtc('2024-07-15T23:30:00.9Z') ?? 0;
  const last = instantFromUtc('9999-12-31T23:30:00Z') ?? 0;

  expect(localFromInstant(late, 'Asia/Kolkata')).toEqual({ days: day('2024-07-16'), seconds: 5 * 3600 });
  expect(localFromInstant(last, 'Asia/Kolkata')).toBeNull();
});
