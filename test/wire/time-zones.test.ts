/**
 * Instants and local times of zones. Expected values come from the zone database's published rules (the transition is
 * named beside each case) and from the timestamp forms of the specification, 2.4.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  inputTextFromUtc,
  isDate,
  isTimeOfDay,
  isZone,
  offsetTextFromUtc,
  utcFromInputText,
  utcFromOffsetText,
} from '../../src/wire/time-zones.ts';

test.each([
  ['2026-03-09T14:05:07+00:00', '2026-03-09T14:05:07Z'],
  ['2026-03-09T14:05:07-00:00', '2026-03-09T14:05:07Z'],
  ['2026-03-09T14:05:07Z', '2026-03-09T14:05:07Z'],
  ['2026-03-09T14:05:07+01:00', '2026-03-09T13:05:07Z'],
  ['2026-03-09T14:05:07-05:00', '2026-03-09T19:05:07Z'],
  ['2026-01-01T00:30:00+05:45', '2025-12-31T18:45:00Z'],
  ['2026-03-09T14:05:07.123+01:00', '2026-03-09T13:05:07.123Z'],
  ['2026-03-09T14:05:07.1230000+01:00', '2026-03-09T13:05:07.123Z'],
  ['2026-03-09T14:05:07.000Z', '2026-03-09T14:05:07Z'],
  ['2026-03-09 14:05:07+0100', '2026-03-09T13:05:07Z'],
  ['2026-03-09T14:05+00:00', '2026-03-09T14:05:00Z'],
  ['2026-03-09T14:05+01:00', '2026-03-09T13:05:00Z'],
  ['2026-03-09T14:05Z', '2026-03-09T14:05:00Z'],
  ['2024-02-29T23:59:59-01:00', '2024-03-01T00:59:59Z'],
  ['2026-03-09T23:59:59-00:01', '2026-03-10T00:00:59Z'],
  ['2026-03-09T00:05:07-23:55', '2026-03-10T00:00:07Z'],
  ['2026-03-09T20:05:07-08:00', '2026-03-10T04:05:07Z'],
  ['2026-03-02T00:00:00+00:01', '2026-03-01T23:59:00Z'],
  ['2026-03-01T00:00:00+00:01', '2026-02-28T23:59:00Z'],
  ['2026-02-27T23:59:00-00:01', '2026-02-28T00:00:00Z'],
  ['2026-02-28T23:59:00-00:01', '2026-03-01T00:00:00Z'],
  ['2026-03-31T23:59:00-00:01', '2026-04-01T00:00:00Z'],
  ['2026-03-09T00:00:00+00:01', '2026-03-08T23:59:00Z'],
  ['2026-03-09T23:59:59+23:59', '2026-03-09T00:00:59Z'],
  ['0001-01-01T00:00:00+00:00', '0001-01-01T00:00:00Z'],
  ['9999-12-31T23:59:59+00:00', '9999-12-31T23:59:59Z'],
])('reads the timestamp %s as %s', (text, utc) => {
  expect(utcFromOffsetText(text)).toBe(utc);
});

test.each([
  ['no offset', '2026-03-09T14:05:07'],
  ['month 13', '2026-13-09T14:05:07Z'],
  ['day 30 of February', '2024-02-30T14:05:07Z'],
  ['day 30 of February, and an offset', '2024-02-30T14:05:07+01:00'],
  ['day 29 of February in 1900', '1900-02-29T00:00:00Z'],
  ['hour 24', '2026-03-09T24:00:00Z'],
  ['minute 60', '2026-03-09T14:60:00Z'],
  ['a leap second, which no column can hold', '2016-12-31T23:59:60Z'],
  ['minutes of the offset above 59', '2026-03-09T14:05:07+01:60'],
  ['hours of the offset above 23', '2026-03-09T14:05:07+24:00'],
  ['an instant after the year 9999', '9999-12-31T23:59:59-00:01'],
  ['a fraction of ten digits', '2026-03-09T14:05:07.1234567890Z'],
  ['a second line', '2026-03-09T14:05:07Z\n'],
  ['a character before it', 'x2026-03-09T14:05:07+01:00'],
  ['an instant before it', '2026-03-09T14:05:07+01:002026-03-09T14:05:07+01:00'],
  ['a character behind it', '2026-03-09T14:05:07+01:00x'],
  ['words', 'yesterday'],
  ['nothing', ''],
])('finds no instant in a timestamp with %s', (_what, text) => {
  expect(utcFromOffsetText(text)).toBeUndefined();
});

test('every month has its last day, and none after it', () => {
  const days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  for (const [index, last] of days.entries()) {
    const month = `2026-${String(index + 1).padStart(2, '0')}`;

    expect([isDate(`${month}-${last}`), isDate(`${month}-${last + 1}`)]).toEqual([true, false]);
  }
});

test.each([
  ['x2026-03-09T14:05:07Z', undefined],
  ['2026-03-09T14:05:07.1002Z', '2026-03-09T14:05:07.1002Z'],
])('takes %s for the instant %s', (text, utc) => {
  expect(utcFromOffsetText(text)).toBe(utc);
});

test('a time in a zone that is not known is written in UTC', () => {
  expect(inputTextFromUtc('2026-07-01T12:00:00Z', 'Mars/Olympus')).toBe('2026-07-01T12:00:00+00:00');
});

/** [zone, UTC instant, the same as Select sends it to a user of that zone]. */
const OUTPUT_CASES = [
  ['UTC', '2026-07-01T12:00:00Z', '2026-07-01T12:00:00+00:00'],
  // Europe/Paris: +01:00, +02:00 from the last Sunday of March 01:00 UTC to the last Sunday of October 01:00 UTC.
  ['Europe/Paris', '2026-03-29T00:59:59Z', '2026-03-29T01:59:59+01:00'],
  ['Europe/Paris', '2026-03-29T01:00:00Z', '2026-03-29T03:00:00+02:00'],
  ['Europe/Paris', '2026-10-25T00:30:00Z', '2026-10-25T02:30:00+02:00'],
  ['Europe/Paris', '2026-10-25T01:30:00Z', '2026-10-25T02:30:00+01:00'],
  // America/New_York: second Sunday of March, first Sunday of November, 02:00 local.
  ['America/New_York', '2026-03-08T06:59:59Z', '2026-03-08T01:59:59-05:00'],
  ['America/New_York', '2026-03-08T07:00:00Z', '2026-03-08T03:00:00-04:00'],
  ['America/New_York', '2026-11-01T05:30:00Z', '2026-11-01T01:30:00-04:00'],
  ['America/New_York', '2026-11-01T06:30:00Z', '2026-11-01T01:30:00-05:00'],
  // Australia/Lord_Howe: half an hour of summer time, first Sundays of April and October, 02:00 local.
  ['Australia/Lord_Howe', '2026-04-04T14:59:59Z', '2026-04-05T01:59:59+11:00'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', '2026-04-05T01:30:00+10:30'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z', '2026-10-04T02:30:00+11:00'],
  // Pacific/Apia had no 30 December 2011: -10:00 until midnight, +14:00 after.
  ['Pacific/Apia', '2011-12-30T09:59:59Z', '2011-12-29T23:59:59-10:00'],
  ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31T00:00:00+14:00'],
  // America/Sao_Paulo: summer time until February 2019, never since.
  ['America/Sao_Paulo', '2018-11-04T02:59:59Z', '2018-11-03T23:59:59-03:00'],
  ['America/Sao_Paulo', '2018-11-04T03:00:00Z', '2018-11-04T01:00:00-02:00'],
  ['America/Sao_Paulo', '2026-01-15T12:00:00Z', '2026-01-15T09:00:00-03:00'],
  ['Asia/Kathmandu', '2026-01-15T12:00:00.25Z', '2026-01-15T17:45:00.25+05:45'],
] as const;

test.each(OUTPUT_CASES)('shows a user in %s the instant %s as %s', (zone, utc, text) => {
  expect(offsetTextFromUtc(utc, zone)).toBe(text);
  expect(utcFromOffsetText(text)).toBe(utc);
});

test.each([
  // Paris mean time until 1911 was +00:09:21; an offset on the wire has whole minutes, so the local time gives way.
  ['Europe/Paris', '1905-06-01T12:00:00Z', '1905-06-01T12:09:00+00:09'],
  // Monrovia until 1972: -00:44:30.
  ['Africa/Monrovia', '1950-06-01T12:00:00Z', '1950-06-01T11:16:00-00:44'],
  // The change came within a quarter of an hour: at 00:44:30 UTC in Monrovia, at 15:54:17 UTC in Shanghai.
  ['Africa/Monrovia', '1972-01-07T00:44:00Z', '1972-01-07T00:00:00-00:44'],
  ['Africa/Monrovia', '1972-01-07T00:44:59Z', '1972-01-07T00:44:59+00:00'],
  ['Asia/Shanghai', '1900-12-31T15:54:00Z', '1900-12-31T23:59:00+08:05'],
  ['Asia/Shanghai', '1900-12-31T15:55:00Z', '1900-12-31T23:55:00+08:00'],
])('keeps the instant in %s at %s, whose offset has seconds', (zone, utc, text) => {
  expect(offsetTextFromUtc(utc, zone)).toBe(text);
  expect(utcFromOffsetText(text)).toBe(utc);
});

test.each([
  ['Asia/Tokyo', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59+00:00'],
  ['America/New_York', '0000-01-01T00:00:00Z', '0000-01-01T00:00:00+00:00'],
])('falls back to UTC where the local year in %s has no four digits (%s)', (zone, utc, text) => {
  expect(offsetTextFromUtc(utc, zone)).toBe(text);
  expect(inputTextFromUtc(utc, zone)).toBe(text);
});

test.each([
  ['UTC', '2026-07-01T12:00:00', '2026-07-01T12:00:00Z'],
  ['Europe/Paris', '2026-07-01T12:00:00', '2026-07-01T10:00:00Z'],
  ['Europe/Paris', '2026-07-01 12:00:00.5', '2026-07-01T10:00:00.5Z'],
  ['Europe/Paris', '2026-07-01T12:00:00-03:00', '2026-07-01T15:00:00Z'],
  ['Europe/Paris', '2026-07-01T12:00:00Z', '2026-07-01T12:00:00Z'],
  ['Pacific/Apia', '2011-12-31T09:00:00', '2011-12-30T19:00:00Z'],
  ['Pacific/Apia', '2011-12-29T20:00:00', '2011-12-30T06:00:00Z'],
  ['Africa/Monrovia', '1950-06-01T12:00:00', '1950-06-01T12:44:30Z'],
])('takes what a user in %s writes as %s for the instant %s', (zone, text, utc) => {
  expect(utcFromInputText(text, zone)).toBe(utc);
});

test('finds no instant in a local time whose UTC has no four-digit year', () => {
  expect(utcFromInputText('9999-12-31T23:59:59', 'America/New_York')).toBeUndefined();
  expect(utcFromInputText('yesterday', 'UTC')).toBeUndefined();
});

test.each([
  ['Europe/Paris', '2026-10-25T02:30:00', '2026-10-25T00:30:00Z'],
  ['America/New_York', '2026-11-01T01:30:00', '2026-11-01T05:30:00Z'],
  ['Australia/Lord_Howe', '2026-04-05T01:45:00', '2026-04-04T14:45:00Z'],
])('takes the earlier instant where the local time in %s happens twice (%s)', (zone, text, utc) => {
  expect(utcFromInputText(text, zone)).toBe(utc);
});

test.each([
  // One rule for every zone: the offset before the gap, so that the clock reads as much later as the gap is long.
  ['Europe/Paris', '2026-03-29T02:30:00', '2026-03-29T01:30:00Z'],
  ['America/New_York', '2026-03-08T02:30:00', '2026-03-08T07:30:00Z'],
  ['Australia/Lord_Howe', '2026-10-04T02:15:00', '2026-10-03T15:45:00Z'],
  ['America/Sao_Paulo', '2018-11-04T00:30:00', '2018-11-04T03:30:00Z'],
  ['Pacific/Apia', '2011-12-30T12:00:00', '2011-12-30T22:00:00Z'],
])('moves a local time that %s skips (%s) forward by the gap', (zone, text, utc) => {
  expect(utcFromInputText(text, zone)).toBe(utc);
});

test('writes a local time without an offset where it is unambiguous', () => {
  expect(inputTextFromUtc('2026-01-01T10:00:00Z', 'Europe/London')).toBe('2026-01-01T10:00:00');
  expect(inputTextFromUtc('2026-07-01T10:00:00Z', 'Europe/Paris')).toBe('2026-07-01T12:00:00');
  expect(inputTextFromUtc('2026-07-01T10:00:00.5Z', 'Europe/Paris')).toBe('2026-07-01T12:00:00.5');
  expect(inputTextFromUtc('0001-01-01T00:00:00Z', 'UTC')).toBe('0001-01-01T00:00:00');
});

test('writes the offset where a local time happens twice', () => {
  expect(inputTextFromUtc('2026-10-25T00:30:00Z', 'Europe/Paris')).toBe('2026-10-25T02:30:00+02:00');
  expect(inputTextFromUtc('2026-10-25T01:30:00Z', 'Europe/Paris')).toBe('2026-10-25T02:30:00+01:00');
});

test('writes the offset where the zone had an offset with seconds', () => {
  expect(inputTextFromUtc('1905-06-01T12:00:00Z', 'Europe/Paris')).toBe('1905-06-01T12:09:00+00:09');
});

test('names the days that exist', () => {
  expect(['2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'].filter(isDate)).toHaveLength(4);
  expect(
    [
      '2023-02-29',
      '2024-02-292024-02-29',
      '2024-02-291',
      '1900-02-29',
      '1800-02-29',
      '2024-00-01',
      '2024-01-00',
      '2024-04-31',
      '24-01-01',
    ].filter(isDate),
  ).toEqual([]);
});

test('names the times of a day', () => {
  expect(['00:00:00', '23:59:59'].filter(isTimeOfDay)).toHaveLength(2);
  expect(['24:00:00', '12:60:00', '12:00:60', '12:00', '12:00:00.5'].filter(isTimeOfDay)).toEqual([]);
});

test('knows zones by their names', () => {
  expect(['Europe/Paris', 'UTC', 'Asia/Kathmandu'].filter(isZone)).toHaveLength(3);
  expect(['', 'Europe/Atlantis', 'Romance Standard Time', "UTC'"].filter(isZone)).toEqual([]);
});

test('reads the usual form as it reads the same time with a fraction, whatever character is wrong', () => {
  const usual = fc.tuple(
    fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
    fc.constantFrom('+00:00', '-00:00', '+02:00', '-05:30', '+14:00', '-23:59', '+24:00', '+01:60'),
  );
  const spoiled = fc.tuple(
    usual,
    fc.nat({ max: 24 }),
    fc.constantFrom('0', '1', '3', '9', ':', '-', '+', '.', ' ', 'T', 'Z', '/', '\n', '٣'),
  );
  fc.assert(
    fc.property(spoiled, fc.boolean(), ([[date, offset], at, character], isSpoiled) => {
      const good = `${date.toISOString().slice(0, 19)}${offset}`;
      const text = isSpoiled ? good.slice(0, at) + character + good.slice(at + 1) : good;

      const withFraction = `${text.slice(0, 19)}.0${text.slice(19)}`;

      expect(utcFromOffsetText(text)).toBe(utcFromOffsetText(withFraction));
    }),
    { numRuns: 5000 },
  );
});

const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC');
const instants = fc
  .integer({ min: Date.UTC(1900, 0, 1) / 1000, max: Date.UTC(2100, 11, 31) / 1000 })
  .map((seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`);
/** Instants within three hours of a change of offset, where mistakes live; found by halving a year. */
const instantsAtTransitions = fc.tuple(
  zones,
  fc.integer({ min: 1900, max: 2037 }),
  fc.integer({ min: -180, max: 180 }),
);

function offsetMinutesAt(ms: number, zone: string): string {
  return offsetTextFromUtc(`${new Date(ms).toISOString().slice(0, 19)}Z`, zone).slice(19);
}

/** The first change of the zone's offset in a year, or the middle of it where there is none. */
function transitionMs(zone: string, year: number): number {
  let low = Date.UTC(year, 0, 1);
  let high = Date.UTC(year, 6, 1);
  if (offsetMinutesAt(low, zone) === offsetMinutesAt(high, zone)) return high;
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2000) * 1000;
    if (offsetMinutesAt(middle, zone) === offsetMinutesAt(low, zone)) low = middle;
    else high = middle;
  }
  return high;
}

test('keeps every instant through the output form of every zone', () => {
  fc.assert(
    fc.property(zones, instants, (zone, utc) => {
      expect(utcFromOffsetText(offsetTextFromUtc(utc, zone))).toBe(utc);
    }),
    { numRuns: 2000 },
  );
});

test('keeps every instant through the input form of every zone, transitions included', () => {
  const nearTransitions = instantsAtTransitions.map(([zone, year, minutes]): [string, string] => {
    const ms = transitionMs(zone, year) + minutes * 60_000;
    return [zone, `${new Date(ms).toISOString().slice(0, 19)}Z`];
  });

  fc.assert(
    fc.property(fc.oneof(nearTransitions, fc.tuple(zones, instants)), ([zone, utc]) => {
      expect(utcFromInputText(inputTextFromUtc(utc, zone), zone)).toBe(utc);
    }),
    { numRuns: 1000 },
  );
});
