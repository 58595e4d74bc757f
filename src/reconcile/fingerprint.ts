/**
 * Fingerprints: totals of the rows of each day of creation, at the origin and here. Days are in the calling user's time
 * zone, as the origin groups them. Equal measures never make a row fresh, and misleading ones only cost requests. Pure.
 */
import { must } from '../base/assert.ts';
import { TYPE_RULES } from '../wire/column-types.ts';
import {
  columnType,
  type ColumnDescriptor,
  type ColumnShape,
  type TableDescriptor,
  type Value,
} from '../wire/schema.ts';
import { utcFromInputText } from '../wire/time-zones.ts';
import { laterStamp, stampColumn } from './follow.ts';
import { createdColumn, endOfWindow, NO_STAMP_WINDOW, secondOf } from './windows.ts';

/** Requests for the days of one table; a table of more days has no fingerprint. */
export const FINGERPRINT_PAGES_MAX = 10;

/** The day of rows without a time of creation. */
export const NO_DAY = '';

/** Columns that are summed: the names of all of them have to fit into one address. */
const SUMS_MAX = 24;

/** The tolerance between sums: both sides add doubles. The origin keeps six decimals (origin facts 2.1). */
const RELATIVE_TOLERANCE = 1e-9;
const TOLERANCE = 5e-7;

/** One measure of a day. */
export interface Measure {
  /** Its name in the list of useless measures. */
  readonly id: string;
  readonly of: 'count' | 'modified' | 'sum';
  /** Name of the column at the origin. */
  readonly column: string;
  /** The column of the request. */
  readonly shape: ColumnShape;
}

/** The measures of a table. */
export interface MeasurePlan {
  /** Name of the creation time. */
  readonly created: string;
  /** The number of rows comes first. */
  readonly measures: readonly Measure[];
}

/** The totals of a day, in the order of the measures: numbers, and the latest time of modification to the second. */
export type DayMeasures = readonly (number | string | null)[];

/** Days as `YYYY-MM-DD`, or NO_DAY. */
export type Days = ReadonlyMap<string, DayMeasures>;

/** A day that differs. */
export interface DayDifference {
  readonly day: string;
  /** Ids of measures. */
  readonly measures: readonly string[];
}

/** The measures that a table allows; null if the calling user does not see its creation time or its key. */
export function planMeasures({ key, columns }: Pick<TableDescriptor, 'key' | 'columns'>): MeasurePlan | null {
  const created = createdColumn(columns);
  // The suffix of a column with two slashes in its name is ambiguous.
  if (created === null || !columns.some(({ name }) => name === key) || key.includes('//')) return null;
  const modified = stampColumn(columns);
  const sums = columns.filter(isSummed).slice(0, SUMS_MAX);
  return {
    created: created.name,
    measures: [
      { id: 'count', of: 'count', column: key, shape: { name: `${key}//COUNT`, type: 'Numeric' } },
      ...(modified === null ? [] : [latest(modified)]),
      ...sums.map(sumMeasure),
    ],
  };
}

/** Masked values have other totals here. */
function isSummed({ name, type, mask }: ColumnDescriptor): boolean {
  return mask === undefined && TYPE_RULES[columnType(type)].form === 'number' && !name.includes('//');
}

function latest({ name }: ColumnDescriptor): Measure {
  return { id: 'modified', of: 'modified', column: name, shape: { name: `${name}//MAX`, type: 'Timestamp' } };
}

function sumMeasure({ name, type }: ColumnDescriptor): Measure {
  return { id: `sum of ${name}`, of: 'sum', column: name, shape: { name: `${name}//SUM`, type: columnType(type) } };
}

/** A day of the origin's answer; `values` in the order of the measures. */
export function readMeasures(measures: readonly Measure[], values: readonly Value[]): DayMeasures {
  return measures.map(({ of }, index) => {
    const value = values[index];
    if (of !== 'modified') return Number(value ?? 0);
    return typeof value === 'string' ? secondOf(value) : null;
  });
}

/** Sums rows by day, in any order. */
export class DayTally {
  readonly #measures: readonly Measure[];
  readonly #dayOf: (stamp: string) => string;
  readonly #days = new Map<string, (number | string | null)[]>();

  constructor(measures: readonly Measure[], zone: string) {
    this.#measures = measures;
    this.#dayOf = dayFinder(zone);
  }

  /** One row: its creation time, and its values in the order of the measures; the value for the count is ignored. */
  add(created: unknown, values: readonly unknown[]): void {
    const day = typeof created === 'string' ? this.#dayOf(created) : NO_DAY;
    let totals = this.#days.get(day);
    if (totals === undefined) {
      totals = this.#measures.map(() => null);
      this.#days.set(day, totals);
    }
    for (const [index, { of }] of this.#measures.entries()) {
      const total = totals[index];
      const value = values[index];
      if (of === 'count') totals[index] = Number(total) + 1;
      else if (of === 'sum') totals[index] = Number(total) + Number(value);
      else if (typeof value === 'string') totals[index] = laterStamp(typeof total === 'string' ? total : null, [value]);
    }
  }

  /** The totals so far. */
  get days(): Days {
    return this.#days;
  }
}

/** Which days differ, in order; `ignored` are ids of useless measures. */
export function compareDays(
  measures: readonly Measure[],
  { there, here }: { readonly there: Days; readonly here: Days },
  ignored: readonly string[] = [],
): readonly DayDifference[] {
  const none: DayMeasures = measures.map(({ of }) => (of === 'modified' ? null : 0));
  return [...new Set([...there.keys(), ...here.keys()])].toSorted().flatMap((day) => {
    const [one, other] = [there.get(day) ?? none, here.get(day) ?? none];
    const differing = measures
      .filter(({ id }, index) => !ignored.includes(id) && !isSame(one[index] ?? null, other[index] ?? null))
      .map(({ id }) => id);
    return differing.length === 0 ? [] : [{ day, measures: differing }];
  });
}

function isSame(one: number | string | null, other: number | string | null): boolean {
  if (typeof one !== 'number' || typeof other !== 'number') return one === other;
  // A sum that is no number is ignored.
  return !(Math.abs(one - other) > Math.max(TOLERANCE, Math.abs(one) * RELATIVE_TOLERANCE));
}

/** Measures by which a day differs although its windows were read and none of its rows changed. */
export function uselessMeasures(
  measures: readonly Measure[],
  days: { readonly there: Days; readonly before: Days; readonly here: Days },
): readonly string[] {
  const { there, before, here } = days;
  const isChanged = new Set(compareDays(measures, { there: before, here }).map(({ day }) => day));
  const still = compareDays(measures, { there, here }).filter(({ day }) => !isChanged.has(day));
  return measures.map(({ id }) => id).filter((id) => still.some((difference) => difference.measures.includes(id)));
}

/** The windows that have rows of some days, in order; `windows` in their order, all of the table. */
export function windowsOfDays(days: readonly string[], windows: readonly string[], zone: string): readonly string[] {
  const ranges = days.flatMap((day) =>
    day === NO_DAY ? [] : [{ from: beginOf(day, zone), to: beginOf(dayAfter(day, 1), zone) }],
  );
  const found = windows.filter((window) => {
    const end = endOfWindow(windows, window);
    // The window of rows without a stamp sorts behind every time.
    return ranges.some(({ from, to }) => to > window && (end === null || from < end));
  });
  return days.includes(NO_DAY) ? [...found, NO_STAMP_WINDOW] : found;
}

/** The beginning of a day in a zone, as UTC to the second. If clocks skip midnight, the day begins at the skip. */
function beginOf(day: string, zone: string): string {
  return utcFromInputText(`${day}T00:00:00`, zone) ?? `${day}T00:00:00Z`;
}

const DAY_MS = 86_400_000;

/** The day so many days after one, or before it. */
function dayAfter(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10);
}

/** The day of a UTC stamp in a zone. A UTC date overlaps three days at most, which are cached. */
export function dayFinder(zone: string): (stamp: string) => string {
  const begins = new Map<string, readonly (readonly [begin: string, day: string])[]>();
  return (stamp) => {
    const date = stamp.slice(0, 10);
    let days = begins.get(date);
    if (days === undefined) {
      days = [1, 0, -1].map((count) => dayAfter(date, count)).map((day) => [beginOf(day, zone), day] as const);
      begins.set(date, days);
    }
    const second = secondOf(stamp);
    return must(
      days.find(([begin]) => begin <= second),
      'a zone is less than a day away from UTC',
    )[1];
  };
}
