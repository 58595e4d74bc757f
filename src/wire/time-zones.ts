/**
 * Instants and local times of IANA zones (specification 2.4: timestamps travel in the calling user's zone). Instants
 * are epoch milliseconds inside this file and UTC text `YYYY-MM-DDThh:mm:ss[.fff…]Z` outside of it. Uses only Intl, so
 * that it runs wherever Node does. Pure except for a cache of zone offsets.
 */
import { must } from '../base/assert.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** The offset is constant within a bucket, except in one with a transition; those are never cached. */
const BUCKET_MS = 15 * MINUTE_MS;
/** Buckets kept per zone; one entry is a few bytes, and a table rarely spans more than a few thousand quarter hours. */
const BUCKETS_MAX = 50_000;

const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME_OF_DAY = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;
const DATE_AND_TIME =
  /^(\d{4}-\d\d-\d\d)[T ]((?:[01]\d|2[0-3]):[0-5]\d)(?:(:[0-5]\d)(\.\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$/;
/** As the origin sends it: `YYYY-MM-DDThh:mm:ss±hh:mm`. */
const USUAL = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d[+-](?:[01]\d|2[0-3]):[0-5]\d$/;

/** A parsed date and time: its fields as if they were UTC, the fraction of the second, and the offset, if any. */
interface ParsedTime {
  readonly localMs: number;
  /** The point and the digits after it, without trailing zeros; empty if none are left. */
  readonly fraction: string;
  readonly offsetMinutes: number | null;
}

const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Whether a `YYYY-MM-DD` text names a day that exists. */
export function isDate(text: string): boolean {
  return DATE.test(text) && hasDay(text);
}

/** Whether the day at the beginning of a text of the right form exists. */
function hasDay(text: string): boolean {
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const last = MONTH_DAYS[month - 1];
  if (last === undefined || day < 1 || day > last) return false;
  if (month !== 2 || day < 29) return true;
  const year = Number(text.slice(0, 4));
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Whether an `hh:mm:ss` text names a time of day. */
export function isTimeOfDay(text: string): boolean {
  return TIME_OF_DAY.test(text);
}

function parseTime(text: string): ParsedTime | undefined {
  const [, date = '', minute, second = '', fraction = '', zone] = DATE_AND_TIME.exec(text) ?? [];
  if (!isDate(date)) return undefined;
  const localMs = Date.parse(`${date}T${minute}${second}Z`);
  const offsetMinutes = zone === undefined ? null : minutesOf(zone);
  return { localMs, fraction: fraction.replace(/\.?0+$/, ''), offsetMinutes };
}

/** Minutes east of UTC. */
function minutesOf(zone: string): number {
  if (zone === 'Z') return 0;
  return (zone.startsWith('-') ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2)));
}

/** `YYYY-MM-DDThh:mm:ss` of epoch milliseconds; undefined outside of the years 0 to 9999. */
function textFromMs(ms: number): string | undefined {
  const text = new Date(ms).toISOString();
  return text.length === 24 ? text.slice(0, 19) : undefined;
}

/** UTC text of a timestamp with an offset or `Z`; undefined for any other. A fraction loses only trailing zeros. */
export function utcFromOffsetText(text: string): string | undefined {
  if (USUAL.test(text)) {
    // Every row has at least two such values. If UTC is in the same month, this is five times faster than the general
    // way below.
    if (!hasDay(text)) return undefined;
    const shift = twoDigits(text, 20) * 60 + twoDigits(text, 23);
    const minute = twoDigits(text, 11) * 60 + twoDigits(text, 14) + (text.charAt(19) === '-' ? shift : -shift);
    const days = Math.floor(minute / 1440);
    const day = twoDigits(text, 8) + days;
    if (days === 0 || (day > 0 && day < 29)) {
      return onSameMonth(text, day, minute - days * 1440);
    }
  }
  const parsed = parseTime(text);
  if (parsed === undefined || parsed.offsetMinutes === null) return undefined;
  const utc = textFromMs(parsed.localMs - parsed.offsetMinutes * MINUTE_MS);
  return utc === undefined ? undefined : `${utc}${parsed.fraction}Z`;
}

/** A plain timestamp with another day and minute, in UTC. SQLite's driver would copy a concatenated text once more. */
function onSameMonth(text: string, day: number, minute: number): string {
  const at = (index: number): number => text.charCodeAt(index);
  const tens = (number: number): number => 48 + Math.floor(number / 10);
  const ones = (number: number): number => 48 + (number % 10);
  const [hour, rest] = [Math.floor(minute / 60), minute % 60];
  // oxfmt-ignore
  return String.fromCharCode(
    at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), tens(day), ones(day), at(10),
    tens(hour), ones(hour), at(13), tens(rest), ones(rest), at(16), at(17), at(18), 0x5a,
  );
}

/** The number that two digits name. */
function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}

/**
 * UTC text of a timestamp as callers write it: with an offset, or local to `zone`. Of two possible instants, the
 * earlier one. A local time that the zone skips has the offset before the gap (RFC 5545, 3.3.5).
 */
export function utcFromInputText(text: string, zone: string): string | undefined {
  const parsed = parseTime(text);
  if (parsed === undefined) return undefined;
  if (parsed.offsetMinutes !== null) return utcFromOffsetText(text);
  const instant =
    instantsOfLocal(parsed.localMs, zone)[0] ?? parsed.localMs - offsetMsAt(parsed.localMs - DAY_MS, zone);
  const utc = textFromMs(instant);
  return utc === undefined ? undefined : `${utc}${parsed.fraction}Z`;
}

/** A UTC text as `YYYY-MM-DDThh:mm:ss[.fff]±hh:mm` in `zone` (the output form of Timestamp). */
export function offsetTextFromUtc(utc: string, zone: string): string {
  const { localMs: ms, fraction } = parsedUtc(utc);
  return localWithOffset(ms, fraction, offsetMsAt(ms, zone));
}

/**
 * A UTC text as a caller writes it (the input form of Timestamp). It is local to `zone` without an offset, or with the
 * offset if the local time is ambiguous or the zone's time is unknown here.
 */
export function inputTextFromUtc(utc: string, zone: string): string {
  const { localMs: ms, fraction } = parsedUtc(utc);
  if (!isZone(zone)) return offsetTextFromUtc(utc, 'UTC');
  const offsetMs = offsetMsAt(ms, zone);
  const local = textFromMs(ms + offsetMs);
  const isPlain =
    local !== undefined && offsetMs % MINUTE_MS === 0 && instantsOfLocal(ms + offsetMs, zone).length === 1;
  return isPlain ? `${local}${fraction}` : localWithOffset(ms, fraction, offsetMs);
}

/**
 * Local time and offset that together name the instant exactly. Offsets on the wire have whole minutes, but local mean
 * times before 1972 had seconds: then the local time is adjusted. So it is for a year without four digits.
 */
function localWithOffset(ms: number, fraction: string, offsetMs: number): string {
  const wholeMs = Math.trunc(offsetMs / MINUTE_MS) * MINUTE_MS;
  const local = textFromMs(ms + wholeMs);
  return local === undefined ? localWithOffset(ms, fraction, 0) : `${local}${fraction}${offsetText(wholeMs)}`;
}

/** `utc` was returned by a reader in this file, or passed the replica's own checks. */
function parsedUtc(utc: string): ParsedTime {
  return must(parseTime(utc), 'a Timestamp value is UTC text');
}

function offsetText(offsetMs: number): string {
  const pad = (number: number): string => String(number).padStart(2, '0');
  const minutes = Math.abs(offsetMs) / MINUTE_MS;
  return `${offsetMs < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

/** The instants that a local time names, in their order: none in a spring gap, two in an autumn fold, else one. */
export function instantsOfLocal(localMs: number, zone: string): readonly number[] {
  const before = localMs - offsetMsAt(localMs - DAY_MS, zone);
  const after = localMs - offsetMsAt(localMs + DAY_MS, zone);
  const candidates = before === after ? [before] : [before, after];
  return candidates.filter((ms) => ms + offsetMsAt(ms, zone) === localMs);
}

interface ZoneOffsets {
  readonly format: Intl.DateTimeFormat;
  /** Keyed by the beginning of a bucket. */
  readonly offsets: Map<number, number>;
}

const offsetsByZone = new Map<string, ZoneOffsets>();

/** @throws RangeError where Intl does not know the zone. */
function offsetsOf(zone: string): ZoneOffsets {
  let known = offsetsByZone.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  known = { format, offsets: new Map() };
  offsetsByZone.set(zone, known);
  return known;
}

/** Whether Intl knows the zone. */
export function isZone(zone: string): boolean {
  try {
    offsetMsAt(0, zone);
    return true;
  } catch {
    return false; // a RangeError: Intl does not know it
  }
}

/** Milliseconds by which clocks in a zone are ahead of UTC. @throws RangeError where Intl does not know the zone. */
export function offsetMsAt(ms: number, zone: string): number {
  if (zone === 'UTC') return 0; // avoids Intl, which loads eight megabytes on first use
  const { format, offsets } = offsetsOf(zone);
  const from = Math.floor(ms / BUCKET_MS) * BUCKET_MS;
  const known = offsets.get(from);
  if (known !== undefined) return known;
  const first = intlOffsetMs(from, format);
  if (first !== intlOffsetMs(from + BUCKET_MS, format)) return intlOffsetMs(ms, format);
  if (offsets.size >= BUCKETS_MAX) offsets.clear();
  offsets.set(from, first);
  return first;
}

function intlOffsetMs(ms: number, format: Intl.DateTimeFormat): number {
  // Ends with `GMT+02:00`, or with seconds for local mean times before zones existed: `GMT-00:25:21`.
  const [, sign, hours = '', minutes = '', seconds = ''] =
    /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(format.format(ms)) ?? [];
  const size = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return (sign === '-' ? -size : size) * 1000;
}
