/**
 * Functions that turn one type into another, and those that ask who calls and which row this is (origin facts 5.6).
 * An instant becomes a date, a time or text in the calling user's zone unless another is named (only literals are in
 * GMT). Text that names no number, date, time, user or place is null. The origin's variants with a culture are absent.
 * `Format` takes the patterns of the origin's help, in the culture en-US.
 * Pure but for a bounded memory of zone names.
 */
import { emailOfUser } from '../../wire/column-types.ts';
import { numericFromText, type Numeric } from '../../wire/decimal.ts';
import { isZone } from '../../wire/time-zones.ts';
import {
  dateFromText,
  instantFromLocal,
  localFromInstant,
  textFromDate,
  textFromSeconds,
  timeFromText,
  type LocalTime,
  civilFromDay,
  weekdayOf,
} from './calendar.ts';
import { compareNumeric, fixedText, integerOf, negate, multiply } from './numbers.ts';
import { foldCase } from './operators.ts';
import { overload, type FunctionTable, type Overload } from './signatures.ts';
import type { DataType, FormulaUser, Moment } from './types.ts';

/** The functions. */
export const SESSION_FUNCTIONS: FunctionTable = {
  ToText: [
    overload(['text'], 'text', ([text]) => text),
    overload(['number'], 'text', ([value]) => fixedText(value, 6)),
    overload(['boolean'], 'text', ([value]) => (value ? '1' : '0')),
    overload(['date'], 'text', ([days]) => textFromDate(days)),
    overload(['time'], 'text', ([seconds]) => textFromSeconds(seconds)),
    overload(['timestamp'], 'text', ([instant], moment) => textFromLocal(inUserZone(instant, moment)), ['user']),
    overload(['duration'], 'text', ([duration]) => textFromDuration(duration)),
    overload(['user'], 'text', ([user]) => nameOfUser(user)),
    overload(['location'], 'text', ([location]) => location),
  ],
  ToNumber: [
    overload(['text'], 'number', ([text]) => numberFromText(text)),
    overload(['boolean'], 'number', ([value]) => (value ? 1 : 0)),
  ],
  ToBoolean: [
    overload(['number'], 'boolean', ([value]) => compareNumeric(value, 0) !== 0),
    overload(['text'], 'boolean', ([text]) => ['1', 'true', 'yes'].includes(foldCase(text))),
  ],
  ToDate: [
    overload(['text'], 'date', ([text]) => dateFromText(text)),
    ...inZones('date', (local) => local?.days ?? null),
  ],
  ToTimeOfDay: [
    overload(['text'], 'time', ([text]) => timeFromText(text) ?? timeFromClock(text)),
    ...inZones('time', (local) => local?.seconds ?? null),
  ],
  ToTimestamp: [
    overload(['date'], 'timestamp', ([days], moment) => instantFromLocal({ days, seconds: 0 }, zoneOf(moment)), [
      'user',
    ]),
    overload(
      ['date', 'time'],
      'timestamp',
      ([days, seconds], moment) => instantFromLocal({ days, seconds }, zoneOf(moment)),
      ['user'],
    ),
    overload(['date', 'time', 'text'], 'timestamp', ([days, seconds, zone]) =>
      isKnownZone(zone) ? instantFromLocal({ days, seconds }, zone) : null,
    ),
  ],
  ToUser: [overload(['text'], 'user', ([email], { session }) => userText(session.findUser(email)), ['user'])],
  ToLocation: [
    overload(['number', 'number'], 'location', ([latitude, longitude]) => locationText(latitude, longitude)),
    overload(['text'], 'location', ([text]) => locationFromText(text)),
  ],
  Latitude: [overload(['location'], 'number', ([location]) => coordinates(location)?.[0] ?? null)],
  Longitude: [overload(['location'], 'number', ([location]) => coordinates(location)?.[1] ?? null)],
  Format: [
    overload(['text'], 'text', ([text]) => text),
    overload(['number'], 'text', ([value]) => formatNumber(value, '0.######', '$')),
    overload(['number', 'text'], 'text', ([value, pattern]) => formatNumber(value, pattern, '$')),
    overload(['number', 'text', 'text'], 'text', ([value, pattern, unit]) => formatNumber(value, pattern, unit)),
    overload(['date'], 'text', ([days]) => formatTime({ days, seconds: 0 }, 'd')),
    overload(['date', 'text'], 'text', ([days, pattern]) => formatTime({ days, seconds: 0 }, pattern)),
    overload(['time'], 'text', ([seconds]) => formatTime({ days: 0, seconds }, 't')),
    overload(['time', 'text'], 'text', ([seconds, pattern]) => formatTime({ days: 0, seconds }, pattern)),
    overload(['timestamp'], 'text', ([instant], moment) => formatInstant(instant, 'g', moment), ['user']),
    overload(['timestamp', 'text'], 'text', ([instant, pattern], moment) => formatInstant(instant, pattern, moment), [
      'user',
    ]),
  ],
  User: [overload([], 'user', (_none, { session }) => userText(session.user), ['user'])],
  Role: [
    overload([], 'text', (_none, { session }) => session.user.role, ['role']),
    overload(['user'], 'text', ([user], { session }) => session.findUser(emailOfUser(user))?.role ?? null, ['role']),
  ],
  UserToEmail: [overload(['user'], 'text', ([user]) => emailOfUser(user))],
  UserToName: [
    overload(['user'], 'text', ([user]) => nameOfUser(user)),
    overload(['user', 'text'], 'text', ([user, format]) => nameInOrder(nameOfUser(user), format.toUpperCase())),
  ],
  IsUserEmail: [
    overload(['text'], 'boolean', ([email], { session }) => session.findUser(email) !== undefined, ['user']),
  ],
  RecordId: [overload([], 'text', (_none, { row }) => String(row.id))],
  AppId: [overload([], 'text', (_none, { session }) => session.databaseId)],
};

/** `User[…]`: what the origin knows of every user. The table of user properties is part of a database of its own. */
export const USER_PROPERTIES: ReadonlyMap<string, (user: FormulaUser) => string> = new Map([
  ['email', (user) => user.email],
  ['name', (user) => user.name],
  ['role', (user) => user.role],
  ['time zone', (user) => user.timeZone],
]);

/** Zone names that were looked at; formulas name few, and looking costs a thousand times a map's access. */
const ZONES_MAX = 1_000;
const knownZones = new Map<string, boolean>();

function isKnownZone(zone: string): boolean {
  let isKnown = knownZones.get(zone);
  if (isKnown === undefined) {
    if (knownZones.size >= ZONES_MAX) knownZones.clear();
    isKnown = isZone(zone);
    knownZones.set(zone, isKnown);
  }
  return isKnown;
}

function zoneOf(moment: Moment): string {
  return moment.session.user.timeZone;
}

function inUserZone(instant: Numeric, moment: Moment): LocalTime | null {
  return localFromInstant(instant, zoneOf(moment));
}

/** A part of an instant, in the user's zone or in a named one. */
function inZones(result: DataType, read: (local: LocalTime | null) => number | null): readonly Overload[] {
  return [
    overload(['timestamp'], result, ([instant], moment) => read(inUserZone(instant, moment)), ['user']),
    overload(['timestamp', 'text'], result, ([instant, zone]) =>
      isKnownZone(zone) ? read(localFromInstant(instant, zone)) : null,
    ),
  ];
}

function textFromLocal(local: LocalTime | null): string | null {
  return local === null ? null : `${textFromDate(local.days)} ${textFromSeconds(local.seconds)}`;
}

function formatInstant(instant: Numeric, pattern: string, moment: Moment): string | null {
  const local = inUserZone(instant, moment);
  return local === null ? null : formatTime(local, pattern);
}

/** `hh:mm:ss` with as many hours as there are; a part of a second is cut. */
function textFromDuration(duration: Numeric): string {
  const isNegative = compareNumeric(duration, 0) < 0;
  const text = textFromSeconds(integerOf(isNegative ? negate(duration) : duration));
  return isNegative && text !== '00:00:00' ? `-${text}` : text;
}

/** `h:mm am`, `hh:mm:ss pm` and the like. */
function timeFromClock(text: string): number | null {
  const match = /^(1[0-2]|0?[1-9])(:[0-5]\d(?::[0-5]\d)?) ?([ap])m$/i.exec(text.trim());
  const [, hour = '', rest = '', half = ''] = match ?? [];
  const hours = (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return match === null ? null : timeFromText(`${String(hours).padStart(2, '0')}${rest}`);
}

/** Plain decimals only, blanks around them allowed: the origin takes no exponents (origin facts 2.1). */
function numberFromText(text: string): Numeric | null {
  return /^[+-]?\d+(?:\.\d+)?$/.test(text.trim()) ? (numericFromText(text.trim()) ?? null) : null;
}

function userText(user: FormulaUser | undefined): string | null {
  if (user === undefined) return null;
  return user.name === '' ? user.email : `${user.name} <${user.email}>`;
}

/** The screen name, or the e-mail where there is none. */
function nameOfUser(user: string): string {
  const open = user.lastIndexOf('<');
  const name = open > 0 && user.endsWith('>') ? user.slice(0, open).trim() : '';
  return name === '' ? emailOfUser(user) : name;
}

/** The full name with the first name first (`FF`) or last (`LF`); null for any other format. */
function nameInOrder(name: string, format: string): string | null {
  if (format !== 'FF' && format !== 'LF') return null;
  const at = name.lastIndexOf(' ');
  return format === 'FF' || at < 0 ? name : `${name.slice(at + 1)}, ${name.slice(0, at)}`;
}

function locationText(latitude: Numeric, longitude: Numeric): string | null {
  const isInRange = (value: Numeric, limit: number): boolean =>
    compareNumeric(value, -limit) >= 0 && compareNumeric(value, limit) <= 0;
  if (!isInRange(latitude, 90) || !isInRange(longitude, 180)) return null;
  return `${String(latitude)},${String(longitude)}`;
}

function coordinates(text: string): readonly [Numeric, Numeric] | null {
  const [latitude, longitude, ...others] = text.split(',').map(numberFromText);
  if (latitude === undefined || longitude === undefined || others.length > 0) return null;
  return latitude === null || longitude === null ? null : [latitude, longitude];
}

function locationFromText(text: string): string | null {
  const pair = coordinates(text);
  return pair === null ? null : locationText(...pair);
}

/** Longest pattern, and most decimals, that are taken; nobody reads more. */
const PATTERN_LENGTH_MAX = 100;

/** A date, a time of day or both, by a pattern; null where the pattern is too long. */
function formatTime(local: LocalTime, pattern: string): string | null {
  if (pattern.length > PATTERN_LENGTH_MAX) return null;
  const pieces = PATTERN_BY_LETTER[pattern] ?? pattern;
  return pieces.replaceAll(TIME_PIECE, (piece) => timePiece(local, piece));
}

/** A number by a pattern such as `#,0.00`, `$#` or `0%`; `unit` takes the place of `$`. Null where it is no pattern. */
function formatNumber(value: Numeric, pattern: string, unit: string): string | null {
  if (pattern.length > PATTERN_LENGTH_MAX) return null;
  const match = NUMBER_PATTERN.exec(pattern);
  if (!match) return null;
  const [, outerMinus = '', leftUnit = '', whole = '', decimals = '', rightUnit = ''] = match;
  const scaled = rightUnit === '%' ? multiply(value, 100) : value;
  if (scaled === null) return null;

  const isNegative = compareNumeric(scaled, 0) < 0;
  const rounded = fixedText(isNegative ? negate(scaled) : scaled, decimals.length);
  const digits = shapedDigits(rounded, whole, decimals);
  if (digits === '') return '';
  const sign = isNegative && /[1-9]/.test(digits) ? '-' : '';
  const [left, right] = [leftUnit, rightUnit].map((place) => (place === '$' ? unit : place));
  return outerMinus === '' ? `${left}${sign}${digits}${right}` : `${sign}${left}${digits}${right}`;
}

const NUMBER_PATTERN = /^(-?)(\$?)([#0][#,0]*)(?:\.([#0]+))?([$%]?)$/;

const LONG_DATE = 'dddd, MMMM d, yyyy';
const SHORT_DATE = 'M/d/yyyy';
const LONG_TIME = 'h:mm:ss tt';
const SHORT_TIME = 'h:mm tt';

const PATTERN_BY_LETTER: Readonly<Record<string, string>> = {
  d: SHORT_DATE,
  D: LONG_DATE,
  M: 'MMMM d',
  Y: 'MMMM yyyy',
  t: SHORT_TIME,
  T: LONG_TIME,
  g: `${SHORT_DATE} ${SHORT_TIME}`,
  G: `${SHORT_DATE} ${LONG_TIME}`,
  f: `${LONG_DATE} ${SHORT_TIME}`,
  F: `${LONG_DATE} ${LONG_TIME}`,
};

/** A run of one letter, a quoted text, or an escaped character. */
const TIME_PIECE = /d+|M+|y+|h+|H+|m+|s+|t+|'[^']*'|\\./g;

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

function timePiece({ days, seconds }: LocalTime, piece: string): string {
  const { year, month, day } = civilFromDay(days);
  const hour = Math.floor(seconds / 3600);
  const padded = (value: number): string => String(value).padStart(Math.min(piece.length, 2), '0');
  switch (piece[0]) {
    case 'd':
      return piece.length < 3 ? padded(day) : named(WEEKDAYS[weekdayOf(days)], piece.length);
    case 'M':
      return piece.length < 3 ? padded(month) : named(MONTHS[month - 1], piece.length);
    case 'y':
      return piece.length < 3 ? padded(year % 100) : String(year).padStart(piece.length, '0');
    case 'h':
      return padded(hour % 12 === 0 ? 12 : hour % 12);
    case 'H':
      return padded(hour);
    case 'm':
      return padded(Math.floor(seconds / 60) % 60);
    case 's':
      return padded(seconds % 60);
    case 't':
      return (hour < 12 ? 'AM' : 'PM').slice(0, Math.min(piece.length, 2));
    case '\\':
      return piece.slice(1);
    default:
      return piece.slice(1, -1);
  }
}

function named(name: string | undefined, length: number): string {
  return length === 3 ? (name ?? '').slice(0, 3) : (name ?? '');
}

/** `0` shows a digit in any case, `#` only one that counts, `,` groups by thousands. */
function shapedDigits(fixed: string, whole: string, decimals: string): string {
  const [integral = '', fraction = ''] = fixed.split('.');
  const digitsMin = whole.replaceAll(/[#,]/g, '').length;
  const significant = integral === '0' ? '' : integral;
  const padded = significant.padStart(digitsMin, '0');
  const grouped = whole.includes(',') ? padded.replaceAll(/\B(?=(?:\d{3})+$)/g, ',') : padded;
  const decimalsMin = decimals.lastIndexOf('0') + 1;
  let end = fraction.length;
  while (end > decimalsMin && fraction[end - 1] === '0') end -= 1;
  return end === 0 ? grouped : `${grouped}.${fraction.slice(0, end)}`;
}
