/**
 * Days, times of day and instants for formulas: from and to text, civil dates, weeks, and a user's zone. A date is a
 * count of days, a time a count of seconds, an instant an exact count of seconds, all since 1970-01-01 or midnight.
 *
 * Dates end with the years 1 and 9999, like the origin's; what falls outside is null. A week begins on Sunday: at the
 * origin that follows the database's location, and the sandbox is in the United States (its default culture is en-US).
 */
import type { Numeric } from '../../wire/decimal.ts';
import { isDate, isTimeOfDay, offsetMsAt, utcFromInputText } from '../../wire/time-zones.ts';
import { add, integerOf, roundToMultiple } from './numbers.ts';

/** Seconds of a day. */
export const DAY_SECONDS = 86_400;
const DAY_MS = 86_400_000;
/** 0001-01-01 and 9999-12-31. */
const FIRST_DAY = -719_162;
const LAST_DAY = 2_932_896;

/** A date by its parts; the month is 1 to 12. */
export interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** A count of days, or null where it falls outside of the years 1 to 9999. */
export function dayInRange(days: number): number | null {
  return days >= FIRST_DAY && days <= LAST_DAY ? days : null;
}

/** The day of a civil date; null where there is no such day. */
export function dayFromCivil({ year, month, day }: CivilDate): number | null {
  if (!(year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1)) return null;
  return day > monthLength(year, month) ? null : dayOfMonthStart(year, month) + day - 1;
}

/** The civil date of a day in range. */
export function civilFromDay(days: number): CivilDate {
  const date = new Date(days * DAY_MS);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** Whether the year has a February 29. */
export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Days of a month. */
export function monthLength(year: number, month: number): number {
  return month === 2
    ? isLeapYear(year)
      ? 29
      : 28
    : month === 4 || month === 6 || month === 9 || month === 11
      ? 30
      : 31;
}

/** The same day some months later; the last day of that month where it has no such day. */
export function dayPlusMonths(days: number, months: number): number | null {
  const { year, month, day } = civilFromDay(days);
  const index = year * 12 + month - 1 + months;
  const target = { year: Math.floor(index / 12), month: (((index % 12) + 12) % 12) + 1 };
  return dayFromCivil({ ...target, day: Math.min(day, monthLength(target.year, target.month)) });
}

/** 0 for Sunday to 6 for Saturday. */
export function weekdayOf(days: number): number {
  return (((days + 4) % 7) + 7) % 7;
}

/** 1 for January 1. */
export function dayOfYear(days: number): number {
  return days - dayOfMonthStart(civilFromDay(days).year, 1) + 1;
}

/** The week of the year where week 1 begins on January 1 and later ones on `firstWeekday`. */
export function weekOfYear(days: number, firstWeekday: number): number {
  const firstDay = dayOfMonthStart(civilFromDay(days).year, 1);
  const offset = (((weekdayOf(firstDay) - firstWeekday) % 7) + 7) % 7;
  return Math.floor((days - firstDay + offset) / 7) + 1;
}

/** The week by ISO 8601: Monday first, week 1 has the year's first Thursday. */
export function isoWeek(days: number): number {
  const thursday = days - ((weekdayOf(days) + 6) % 7) + 3;
  return Math.floor((dayOfYear(thursday) - 1) / 7) + 1;
}

/** A day from `YYYY-MM-DD`; null where the text names none. */
export function dateFromText(text: string): number | null {
  return isDate(text) ? dayInRange(Date.parse(text) / DAY_MS) : null;
}

/** `YYYY-MM-DD`. */
export function textFromDate(days: number): string {
  return new Date(days * DAY_MS).toISOString().slice(0, 10);
}

/** Seconds of the day from `hh:mm` or `hh:mm:ss`; null where the text names no time. */
export function timeFromText(text: string): number | null {
  const full = text.length === 5 ? `${text}:00` : text;
  if (!isTimeOfDay(full)) return null;
  return Number(full.slice(0, 2)) * 3600 + Number(full.slice(3, 5)) * 60 + Number(full.slice(6, 8));
}

/** `hh:mm:ss`, or more than two digits of hours for a duration. */
export function textFromSeconds(seconds: number): string {
  const pad = (part: number): string => String(part).padStart(2, '0');
  return `${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`;
}

/** An instant from UTC text `YYYY-MM-DDThh:mm:ss[.fff]Z`, the form of a timestamp value; null for anything else. */
export function instantFromUtc(utc: string): Numeric | null {
  const days = dateFromText(utc.slice(0, 10));
  const seconds = timeFromText(utc.slice(11, 19));
  if (days === null || seconds === null) return null;
  const whole = days * DAY_SECONDS + seconds;
  return utc[19] === '.' ? add(whole, `0${utc.slice(19, -1)}`) : whole;
}

/** An instant in range; null where its day is not. */
export function instantInRange(instant: Numeric | null): Numeric | null {
  if (instant === null) return null;
  return dayInRange(Math.floor(secondsBelow(instant) / DAY_SECONDS)) === null ? null : instant;
}

/** A date and a time of day. */
export interface LocalTime {
  readonly days: number;
  readonly seconds: number;
}

/** What clocks show in a zone at an instant; the fraction of a second is cut. */
export function localFromInstant(instant: Numeric, zone: string): LocalTime | null {
  const utc = secondsBelow(instant);
  if (dayInRange(Math.floor(utc / DAY_SECONDS)) === null) return null;
  // Offsets before zones existed have seconds (`-04:56:02`); none has a part of one.
  const local = utc + offsetMsAt(utc * 1000, zone) / 1000;
  const days = dayInRange(Math.floor(local / DAY_SECONDS));
  return days === null ? null : { days, seconds: local - days * DAY_SECONDS };
}

/** The instant at which clocks in a zone show a date and time; the earlier one where there are two. */
export function instantFromLocal({ days, seconds }: LocalTime, zone: string): Numeric | null {
  const utc = utcFromInputText(`${textFromDate(days)}T${textFromSeconds(seconds)}`, zone);
  return utc === undefined ? null : instantFromUtc(utc);
}

function secondsBelow(instant: Numeric): number {
  return integerOf(roundToMultiple(instant, 1, 'down') ?? 0);
}

function dayOfMonthStart(year: number, month: number): number {
  // Date.UTC would take the years 0 to 99 for 1900 to 1999.
  return Math.round(new Date(0).setUTCFullYear(year, month - 1, 1) / DAY_MS);
}
