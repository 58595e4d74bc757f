/**
 * Instants and local times of IANA zones (specification 2.4: timestamps travel in the calling user's zone). Instants are
 * epoch milliseconds inside this file and UTC text `YYYY-MM-DDThh:mm:ss[.fff…]Z` outside of it. Built on Intl alone, so
 * that it runs wherever Node does. Pure but for caches of zone offsets.
 */
import { must } from '../base/assert.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Offsets are constant within a bucket unless a transition falls into it; those buckets are never cached. */
const BUCKET_MS = 15 * MINUTE_MS;
/** Buckets kept per zone; one entry is a few bytes, and a table rarely spans more than a few thousand quarter hours. */
const BUCKETS_MAX = 50_000;

const PLUS = 0x2b;
const MINUS = 0x2d;
const COLON = 0x3a;

const LOCAL = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?$/;

/** A parsed date and time: its fields read as if they were UTC, the fraction's digits, and the offset if one was given. */
interface ParsedTime {
  readonly localMs: number;
  /** Digits behind the point, without trailing zeros; empty where there are none. */
  readonly fraction: string;
  readonly offsetMinutes: number | null;
}

/** Days since 1970-01-01 of a proleptic Gregorian date (Howard Hinnant, "chrono-compatible low-level date algorithms"). */
function daysFromDate(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Whether a `YYYY-MM-DD` text names a day that exists. */
export function isDate(text: string): boolean {
  return text.length === 10 && beginsWithDate(text);
}

function beginsWithDate(text: string): boolean {
  if (text.charCodeAt(4) !== MINUS || text.charCodeAt(7) !== MINUS) return false;
  return dateExists(twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8));
}

/** Whether an `hh:mm:ss` text names a time of day. */
export function isTimeOfDay(text: string): boolean {
  return /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text);
}

function dateExists(year: number, month: number, day: number): boolean {
  const last = MONTH_DAYS[month - 1];
  if (last === undefined || !(year >= 0 && day >= 1 && day <= last)) return false;
  return month !== 2 || day < 29 || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0));
}

function parseTime(text: string): ParsedTime | undefined {
  const match = LOCAL.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '', zone] = match;
  const h = Number(hour);
  const m = Number(minute);
  const s = Number(second);
  if (!dateExists(Number(year), Number(month), Number(day)) || h > 23 || m > 59 || s > 59) return undefined;
  const offsetMinutes = zone === undefined ? null : parseOffset(zone);
  if (offsetMinutes === undefined) return undefined;
  const localMs = daysFromDate(Number(year), Number(month), Number(day)) * DAY_MS + ((h * 60 + m) * 60 + s) * 1000;
  return { localMs, fraction: fraction.replace(/0+$/, ''), offsetMinutes };
}

/** Minutes east of UTC; undefined where the digits are no hours and minutes. */
function parseOffset(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** The day and the time of day of a full date and time, in the zone that it names; undefined for other texts. */
export function dateAndTimeOf(text: string): { readonly date: string; readonly time: string } | undefined {
  const parsed = parseTime(text);
  const local = parsed && textFromMs(parsed.localMs);
  return local === undefined ? undefined : { date: local.slice(0, 10), time: local.slice(11) };
}

/** `YYYY-MM-DDThh:mm:ss` of epoch milliseconds; undefined outside of the years 0 to 9999. */
function textFromMs(ms: number): string | undefined {
  if (!(ms >= -62_167_219_200_000 && ms <= 253_402_300_799_999)) return undefined;
  return new Date(ms).toISOString().slice(0, 19);
}

/**
 * UTC text of a timestamp that carries an offset or `Z`; undefined when it has none, or names no instant. A fraction is
 * kept to its last digit, without trailing zeros.
 */
export function utcFromOffsetText(text: string): string | undefined {
  const usual = utcFromUsualText(text);
  if (usual !== undefined) return usual;
  const parsed = parseTime(text);
  if (parsed === undefined || parsed.offsetMinutes === null) return undefined;
  const utc = textFromMs(parsed.localMs - parsed.offsetMinutes * MINUTE_MS);
  return utc === undefined ? undefined : `${utc}${fractionText(parsed)}Z`;
}

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/**
 * The same for `YYYY-MM-DDThh:mm:ss±hh:mm` where the UTC time is in the same month. Every row has two such values or more, and
 * this is ten times as fast as taking them apart. Undefined where the text has another shape, or is no time.
 */
function utcFromUsualText(text: string): string | undefined {
  const sign = text.charCodeAt(19);
  if (text.length !== 25 || (sign !== PLUS && sign !== MINUS)) return undefined;
  if (text[10] !== 'T' || !beginsWithDate(text)) return undefined;
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON || text.charCodeAt(22) !== COLON) return undefined;
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const offsetHours = twoDigits(text, 20);
  const offsetMinutes = twoDigits(text, 23);
  const isTime = hour <= 23 && minute <= 59 && twoDigits(text, 17) <= 59 && offsetHours <= 23 && offsetMinutes <= 59;
  const shift = offsetHours * 60 + offsetMinutes;
  const ofDay = hour * 60 + minute + (sign === PLUS ? -shift : shift);
  if (!isTime) return undefined;
  const days = Math.floor(ofDay / 1440);
  // The 28th is in every month.
  if (days !== 0 && (day + days < 1 || day + days > 28)) return undefined;
  const date = days === 0 ? text.slice(0, 10) : `${text.slice(0, 8)}${TWO_DIGITS[day + days]}`;
  const utcOfDay = ofDay - days * 1440;
  return `${date}T${TWO_DIGITS[Math.floor(utcOfDay / 60)]}:${TWO_DIGITS[utcOfDay % 60]}${text.slice(16, 19)}Z`;
}

/** The number that two digits name; NaN, which no comparison lets through, where they are none. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

function fractionText({ fraction }: ParsedTime): string {
  return fraction === '' ? '' : `.${fraction}`;
}

/**
 * UTC text of a timestamp as callers write it: with an offset, or local to `zone`. The earlier instant where two fit. A local
 * time that the zone skips is moved forward by the length of the gap (RFC 5545, 3.3.5: the offset before the gap).
 */
export function utcFromInputText(text: string, zone: string): string | undefined {
  const parsed = parseTime(text);
  if (parsed === undefined) return undefined;
  if (parsed.offsetMinutes !== null) return utcFromOffsetText(text);
  const instant =
    instantsOfLocal(parsed.localMs, zone)[0] ?? parsed.localMs - offsetMsAt(parsed.localMs - DAY_MS, zone);
  const utc = textFromMs(instant);
  return utc === undefined ? undefined : `${utc}${fractionText(parsed)}Z`;
}

/** A UTC text as `YYYY-MM-DDThh:mm:ss[.fff]±hh:mm` in `zone` (the output form of Timestamp). */
export function offsetTextFromUtc(utc: string, zone: string): string {
  let minutes = minutesByZone.get(zone);
  if (minutes === undefined) minutesByZone.set(zone, (minutes = new Map()));
  const minute = utc.slice(0, 16);
  const known = utc.length === 20 ? minutes.get(minute) : undefined;
  if (known !== undefined) return known.slice(0, 16) + utc.slice(16, 19) + known.slice(16);
  const { ms, rest } = splitUtc(utc);
  const text = localWithOffset(ms, rest, offsetMsAt(ms, zone));
  if (minutes.size >= BUCKETS_MAX) minutes.clear();
  // In earlier years, clocks could change within a minute.
  if (utc >= '1972') minutes.set(minute, text.slice(0, 16) + text.slice(-6));
  return text;
}

/** The same with milliseconds always, as in descriptions of files and changes (specification 2.8, origin facts 1.3). */
export function millisecondTextFromUtc(utc: string, zone: string): string {
  const text = offsetTextFromUtc(utc, zone);
  const fraction = /^\.(\d+)/.exec(text.slice(19))?.[1] ?? '';
  return `${text.slice(0, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}${text.slice(-6)}`;
}

/**
 * A UTC text as a caller writes it (the input form of Timestamp). Local to `zone` without an offset. With the offset where the
 * local time alone does not name the instant, or where the time in the zone is not known here.
 */
export function inputTextFromUtc(utc: string, zone: string): string {
  const { ms, rest } = splitUtc(utc);
  if (!offsetsByZone.has(zone) && !isZone(zone)) return localWithOffset(ms, rest, 0);
  const offsetMs = offsetMsAt(ms, zone);
  const local = textFromMs(ms + offsetMs);
  const isPlain =
    local !== undefined && offsetMs % MINUTE_MS === 0 && instantsOfLocal(ms + offsetMs, zone).length === 1;
  return isPlain ? `${local}${rest}` : localWithOffset(ms, rest, offsetMs);
}

/**
 * Local time and offset that name the instant exactly. Offsets on the wire have whole minutes, but local mean times of
 * before 1972 had seconds: the local time then gives way, not the instant. So does a local year outside of four digits.
 */
function localWithOffset(ms: number, rest: string, offsetMs: number): string {
  const wholeMs = Math.trunc(offsetMs / MINUTE_MS) * MINUTE_MS;
  const local = textFromMs(ms + wholeMs);
  if (local !== undefined) return `${local}${rest}${offsetText(wholeMs)}`;
  return `${must(textFromMs(ms), 'a UTC text of the replica names an instant')}${rest}+00:00`;
}

/** `utc` is a value that a reader of this file gave out, or that the replica's own checks let through. */
function splitUtc(utc: string): { ms: number; rest: string } {
  const parsed = must(parseTime(utc), 'a Timestamp value is UTC text');
  return { ms: parsed.localMs, rest: fractionText(parsed) };
}

function offsetText(offsetMs: number): string {
  const minutes = offsetMs / MINUTE_MS;
  const size = Math.abs(minutes);
  const pad = (part: number): string => String(part).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

/** The instants that a local time stands for in a zone: none in a spring gap, two in an autumn fold, else one. */
function instantsOfLocal(localMs: number, zone: string): readonly number[] {
  const before = localMs - offsetMsAt(localMs - DAY_MS, zone);
  const after = localMs - offsetMsAt(localMs + DAY_MS, zone);
  const candidates = before === after ? [before] : [before, after];
  return candidates.filter((ms) => ms + offsetMsAt(ms, zone) === localMs).toSorted((a, b) => a - b);
}

const formatByZone = new Map<string, Intl.DateTimeFormat>();
const offsetsByZone = new Map<string, Map<number, number>>();
/** Minutes of UTC as they are in a zone, without their seconds: rows that follow each other often share one. */
const minutesByZone = new Map<string, Map<string, string>>();

/** Whether Intl knows the zone. */
export function isZone(zone: string): boolean {
  if (zone === 'UTC') return true; // Intl reads eight megabytes before its first answer
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false; // a RangeError is Intl's way to say no
  }
}

/** The zone that this machine's local times are in. Node has no name for some, such as a path in TZ, and takes others for UTC. */
export function machineZone(): string {
  // Its type promises more than Node keeps.
  const { timeZone }: { readonly timeZone?: string } = Intl.DateTimeFormat().resolvedOptions();
  return timeZone !== undefined && isZone(timeZone) ? timeZone : 'UTC';
}

/** Milliseconds that clocks in a zone are ahead of UTC at an instant. @throws RangeError where Intl does not know the zone. */
export function offsetMsAt(ms: number, zone: string): number {
  if (zone === 'UTC') return 0;
  let offsets = offsetsByZone.get(zone);
  if (offsets === undefined) offsetsByZone.set(zone, (offsets = new Map()));
  const bucket = Math.floor(ms / BUCKET_MS);
  const known = offsets.get(bucket);
  if (known !== undefined) return known;
  const first = intlOffsetMs(bucket * BUCKET_MS, zone);
  const last = intlOffsetMs((bucket + 1) * BUCKET_MS - 1, zone);
  if (first !== last) return intlOffsetMs(ms, zone);
  if (offsets.size >= BUCKETS_MAX) offsets.clear();
  offsets.set(bucket, first);
  return first;
}

function intlOffsetMs(ms: number, zone: string): number {
  let format = formatByZone.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    formatByZone.set(zone, format);
  }
  // `GMT`, `GMT+02:00`, or with seconds for local mean times before zones existed: `GMT-00:25:21`.
  const name = format.formatToParts(ms).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
  const match = /^GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name);
  if (!match) return 0;
  const size = (Number(match[2]) * 60 + Number(match[3])) * 60 + Number(match[4] ?? '0');
  return (match[1] === '-' ? -size : size) * 1000;
}
