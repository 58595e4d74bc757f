/**
 * Functions on dates, times of day and instants (origin facts 5.6). `Today()` and the parts of an instant are those of
 * the calling user's zone; `Timestamp(…)` is in UTC. What names no day of the years 1 to 9999 is null. Pure but for the
 * session's clock, which the caller injects.
 */
import type { Numeric } from '../../wire/decimal.ts';
import {
  civilFromDay,
  DAY_SECONDS,
  dayFromCivil,
  dayInRange,
  dayOfYear,
  dayPlusMonths,
  isLeapYear,
  isoWeek,
  localFromInstant,
  monthLength,
  weekdayOf,
  weekOfYear,
} from './calendar.ts';
import { fromDouble, integerOf } from './numbers.ts';
import { overload, type FunctionTable, type Overload } from './signatures.ts';
import type { Moment } from './types.ts';

/** The functions. */
export const DATE_FUNCTIONS: FunctionTable = {
  Today: [overload([], 'date', (_none, moment) => today(moment), ['time', 'user'])],
  Now: [overload([], 'timestamp', (_none, { session }) => now(session.nowMs), ['time'])],
  Date: [overload(['number', 'number', 'number'], 'date', ([year, month, day]) => date(year, month, day))],
  Day: partOfDate((days) => civilFromDay(days).day),
  Month: partOfDate((days) => civilFromDay(days).month),
  Year: partOfDate((days) => civilFromDay(days).year),
  Quarter: partOfDate((days) => Math.ceil(civilFromDay(days).month / 3)),
  Week: [
    overload(['date'], 'number', ([days]) => weekOfYear(days, 0)),
    overload(['date', 'number'], 'number', ([days, weekday]) => weekOfYear(days, integerOf(weekday))),
  ],
  ISOWeek: partOfDate(isoWeek),
  DayOfWeek: partOfDate(weekdayOf),
  DayOfYear: partOfDate(dayOfYear),
  IsLeapDay: [
    overload(['date'], 'boolean', ([days]) => civilFromDay(days).month === 2 && civilFromDay(days).day === 29),
  ],
  IsLeapYear: [
    overload(['date'], 'boolean', ([days]) => isLeapYear(civilFromDay(days).year)),
    overload(['number'], 'boolean', ([year]) => isLeapYear(integerOf(year))),
  ],
  AdjustMonth: [overload(['date', 'number'], 'date', ([days, months]) => dayPlusMonths(days, integerOf(months)))],
  AdjustYear: [overload(['date', 'number'], 'date', ([days, years]) => dayPlusMonths(days, integerOf(years) * 12))],
  FirstDayOfWeek: movedDate((days) => days - weekdayOf(days)),
  LastDayOfWeek: movedDate((days) => days - weekdayOf(days) + 6),
  FirstDayOfMonth: movedDate((days) => firstDay(days, 1)),
  LastDayOfMonth: movedDate((days) => lastDay(days, 1)),
  FirstDayOfQuarter: movedDate((days) => firstDay(days, 3)),
  LastDayOfQuarter: movedDate((days) => lastDay(days, 3)),
  FirstDayOfYear: movedDate((days) => firstDay(days, 12)),
  LastDayOfYear: movedDate((days) => lastDay(days, 12)),
  FirstDayOfPeriod: [
    overload(['date', 'duration', 'date'], 'date', ([days, period, reference]) => periodStart(days, period, reference)),
  ],
  LastDayOfPeriod: [
    overload(['date', 'duration', 'date'], 'date', ([days, period, reference]) => {
      const start = periodStart(days, period, reference);
      return start === null ? null : dayInRange(start + daysOf(period) - 1);
    }),
  ],
  NextDayOfWeek: [
    overload(['date', 'number'], 'date', ([days, weekday]) =>
      dayInRange(days + cycle(integerOf(weekday) - weekdayOf(days), 7)),
    ),
  ],
  PrevDayOfWeek: [
    overload(['date', 'number'], 'date', ([days, weekday]) =>
      dayInRange(days - cycle(weekdayOf(days) - integerOf(weekday), 7)),
    ),
  ],
  Workday: [overload(['date', 'number'], 'date', ([days, count]) => workday(days, integerOf(count)))],
  Workdays: [overload(['date', 'date'], 'number', ([from, to]) => workdaysBefore(to + 1) - workdaysBefore(from))],
  MonthsBetween: between(1),
  QuartersBetween: between(3),
  YearsBetween: between(12),
  Hour: partOfTime((seconds) => Math.floor(seconds / 3600)),
  Minute: partOfTime((seconds) => Math.floor(seconds / 60) % 60),
  Second: partOfTime((seconds) => seconds % 60),
  Time: [
    overload(['number'], 'time', ([seconds]) => timeInRange(integerOf(seconds))),
    overload(['number', 'number'], 'time', ([hour, minute]) => time(hour, minute, 0)),
    overload(['number', 'number', 'number'], 'time', ([hour, minute, second]) => time(hour, minute, second)),
  ],
  Timestamp: [
    overload(['number', 'number', 'number', 'number', 'number', 'number'], 'timestamp', (parts) => {
      const days = date(parts[0], parts[1], parts[2]);
      const seconds = time(parts[3], parts[4], parts[5]);
      return days === null || seconds === null ? null : days * DAY_SECONDS + seconds;
    }),
  ],
};

function partOfDate(read: (days: number) => number): readonly Overload[] {
  return [overload(['date'], 'number', ([days]) => read(days))];
}

function partOfTime(read: (seconds: number) => number): readonly Overload[] {
  return [overload(['time'], 'number', ([seconds]) => read(seconds))];
}

function movedDate(move: (days: number) => number): readonly Overload[] {
  return [overload(['date'], 'date', ([days]) => dayInRange(move(days)))];
}

/** Boundaries of months, quarters or years between two dates; positive where the first is the later one. */
function between(monthCount: number): readonly Overload[] {
  const index = (days: number): number => {
    const { year, month } = civilFromDay(days);
    return Math.floor((year * 12 + month - 1) / monthCount);
  };
  return [overload(['date', 'date'], 'number', ([later, earlier]) => index(later) - index(earlier))];
}

function today({ session }: Moment): number | null {
  return localFromInstant(Math.floor(session.nowMs / 1000), session.user.timeZone)?.days ?? null;
}

function now(nowMs: number): Numeric | null {
  return fromDouble(Math.floor(nowMs) / 1000);
}

function date(year: Numeric, month: Numeric, day: Numeric): number | null {
  return dayFromCivil({ year: integerOf(year), month: integerOf(month), day: integerOf(day) });
}

function time(hour: Numeric, minute: Numeric, second: Numeric): number | null {
  const [h, m, s] = [integerOf(hour), integerOf(minute), integerOf(second)];
  return h < 0 || m < 0 || m > 59 || s < 0 || s > 59 ? null : timeInRange(h * 3600 + m * 60 + s);
}

function timeInRange(seconds: number): number | null {
  return seconds >= 0 && seconds < DAY_SECONDS ? seconds : null;
}

/** The first day of the block of months (1, 3 or 12, counted from January) that a day falls into. */
function firstDay(days: number, monthCount: number): number {
  const { year, month } = civilFromDay(days);
  return dayFromCivil({ year, month: month - ((month - 1) % monthCount), day: 1 }) ?? days;
}

function lastDay(days: number, monthCount: number): number {
  const { year, month } = civilFromDay(firstDay(days, monthCount));
  const last = month + monthCount - 1;
  return dayFromCivil({ year, month: last, day: monthLength(year, last) }) ?? days;
}

function daysOf(period: Numeric): number {
  return Math.floor(integerOf(period) / DAY_SECONDS);
}

/** The day 1970-01-01 was a Thursday: three days after a Monday. */
const DAYS_SINCE_MONDAY = 3;

/** Days from Monday to Friday between a Monday of long ago and a day, that one left out. */
function workdaysBefore(days: number): number {
  const since = days + DAYS_SINCE_MONDAY;
  return Math.floor(since / 7) * 5 + Math.min(5, cycle(since, 7));
}

/** The day that many working days later, or earlier; weekends do not count. Null outside of the years. */
function workday(days: number, count: number): number | null {
  const step = count < 0 ? -1 : 1;
  const isWorkday = (day: number): boolean => cycle(day + DAYS_SINCE_MONDAY, 7) < 5;
  if (count === 0) return days;
  let at = days;
  while (!isWorkday(at)) at -= step;
  at += Math.trunc(count / 5) * 7;
  for (let left = Math.abs(count % 5); left > 0;) {
    at += step;
    if (isWorkday(at)) left -= 1;
  }
  return dayInRange(at);
}

/** Periods of whole days repeat from the reference date, backwards too; null where a period is shorter than a day. */
function periodStart(days: number, period: Numeric, reference: number): number | null {
  const length = daysOf(period);
  return length < 1 ? null : dayInRange(days - cycle(days - reference, length));
}

function cycle(value: number, length: number): number {
  return ((value % length) + length) % length;
}
