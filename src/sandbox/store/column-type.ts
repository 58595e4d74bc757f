/**
 * Which column type holds every value of a column of a SQLite file. SQLite takes any value in any column, so the declared type
 * only proposes. A column gets a type only if all of its values survive in it, and falls back to Text or Multiline, which hold
 * everything. A BLOB anywhere makes the column an Attachment; its other values become text files.
 *
 * Timestamps without an offset are taken as UTC, and their trailing zeros are dropped.
 */
import { numericToPlain } from '../../wire/decimal.ts';
import type { ColumnType, Value } from '../../wire/schema.ts';
import { isDate, isTimeOfDay, utcFromInputText } from '../../wire/zone.ts';
import type { SqlValue } from './cells.ts';

/** A value as it is read from the file, integers as bigint. */
export type SourceValue = SqlValue | Buffer;

/** What the declaration proposes; `any` where it says nothing that we know. */
type Family = 'Checkbox' | 'Timestamp' | 'Date' | 'Time' | 'Attachment' | 'Numeric' | 'Text' | 'any';

/** What all values of a column have in common; filled by `lookAt`. */
export interface Profile {
  readonly family: Family;
  nullCount: number;
  /** Values that are not null. */
  valueCount: number;
  integerCount: number;
  /** Finite ones; an infinity has no decimal. */
  realCount: number;
  blobCount: number;
  /** Integers 0 and 1. */
  bitCount: number;
  dateCount: number;
  timestampCount: number;
  timeCount: number;
  /** Characters of the longest text. */
  longest: number;
  hasLineBreak: boolean;
}

/** Longer texts become Multiline, which has no width. */
const TEXT_LENGTH_MAX = 250;

/** In this order, because DATETIME contains DATE and TIMESTAMP contains TIME. */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/BOOL|^BIT\b/i, 'Checkbox'],
  [/DATETIME|TIMESTAMP/i, 'Timestamp'],
  [/^DATE/i, 'Date'],
  [/^TIME/i, 'Time'],
  [/BLOB|BINARY|IMAGE|BYTEA/i, 'Attachment'],
  [/CHAR|CLOB|TEXT|STRING/i, 'Text'],
  [/INT|REAL|FLOA|DOUB|NUM|DEC|MONEY|CURRENCY/i, 'Numeric'],
];

/** A profile that has seen nothing yet. */
export function emptyProfile(declared: string): Profile {
  return {
    family: FAMILIES.find(([pattern]) => pattern.test(declared))?.[1] ?? 'any',
    nullCount: 0,
    valueCount: 0,
    integerCount: 0,
    realCount: 0,
    blobCount: 0,
    bitCount: 0,
    dateCount: 0,
    timestampCount: 0,
    timeCount: 0,
    longest: 0,
    hasLineBreak: false,
  };
}

/** Adds one value to a profile. */
export function lookAt(profile: Profile, value: SourceValue): void {
  if (value === null) {
    profile.nullCount += 1;
    return;
  }
  profile.valueCount += 1;
  if (typeof value === 'bigint') {
    profile.integerCount += 1;
    if (value === 0n || value === 1n) profile.bitCount += 1;
  } else if (typeof value === 'number') {
    if (Number.isFinite(value)) profile.realCount += 1;
  } else if (typeof value === 'string') {
    lookAtText(profile, value);
  } else {
    profile.blobCount += 1;
  }
}

function lookAtText(profile: Profile, text: string): void {
  profile.longest = Math.max(profile.longest, text.length);
  profile.hasLineBreak ||= /[\r\n]/.test(text);
  if (profile.family !== 'Date' && profile.family !== 'Timestamp' && profile.family !== 'Time') return;
  if (isDate(text)) profile.dateCount += 1;
  else if (isTimeOfDay(text)) profile.timeCount += 1;
  else if (utcFromInputText(text, 'UTC') !== undefined) profile.timestampCount += 1;
}

/** The type that loses nothing. */
export function chooseType(profile: Profile): ColumnType {
  const { family, valueCount } = profile;
  if (profile.blobCount > 0) return 'Attachment';
  if (valueCount === 0) return family === 'any' ? 'Text' : family;
  if (family === 'Checkbox' && profile.bitCount === valueCount) return 'Checkbox';
  if (profile.timestampCount === valueCount) return 'Timestamp';
  if (profile.dateCount === valueCount) return 'Date';
  if (profile.timeCount === valueCount) return 'Time';
  if (family !== 'Text' && profile.integerCount + profile.realCount === valueCount) return 'Numeric';
  return profile.hasLineBreak || profile.longest > TEXT_LENGTH_MAX ? 'Multiline' : 'Text';
}

/** A value of the file as a value of the chosen type, or null where the type cannot hold it (which `chooseType` rules out). */
export function convert(type: string, value: SqlValue): Value {
  if (value === null) return null;
  switch (type) {
    case 'Checkbox':
      return value === 1n;
    case 'Numeric':
      return typeof value === 'string' ? null : value;
    case 'Timestamp':
      return utcFromInputText(String(value), 'UTC') ?? null;
    case 'Multiline':
      return textOf(value).replaceAll('\r\n', '\n'); // the wire's line break is `\r\n` for all of them
    default:
      return textOf(value);
  }
}

function textOf(value: string | number | bigint): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : numericToPlain(value);
}
