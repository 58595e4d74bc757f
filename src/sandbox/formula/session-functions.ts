/**
 * Functions that turn one type into another, and those that ask who calls and which row this is (origin facts 5.6).
 * An instant becomes a date, a time or text in the calling user's zone unless another is named (only literals are in
 * GMT). Text that names no number, date, time, user or place is null. The origin's variants with a culture are absent.
 * Pure but for a bounded memory of zone names.
 */
import { emailOfUser } from '../../wire/column-types.ts';
import { numericFromText, type Numeric } from '../../wire/decimal.ts';
import { isZone } from '../../wire/zone.ts';
import {
  dateFromText,
  instantFromLocal,
  localFromInstant,
  textFromDate,
  textFromSeconds,
  timeFromText,
  type LocalTime,
} from './calendar.ts';
import { formatNumber, formatTime } from './format.ts';
import { compareNumeric, fixedText, integerOf, negate } from './numbers.ts';
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
    overload(['text'], 'time', ([text]) => timeFromText(text)),
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
  UserToName: [overload(['user'], 'text', ([user]) => nameOfUser(user))],
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
