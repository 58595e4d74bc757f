/**
 * One value of the model: as it is stored, as a write gives it, as Select shows it (specification 2.4, JSON). Stored
 * are the values of `Value` in src/wire/schema.ts; everything else here is written anew. Pure.
 */
import type { ColumnType, Value } from '../../../src/wire/schema.ts';
import { compareDecimals, decimalFromText, digitsOf } from './decimal.ts';
import { valueTypeOf, type ModelColumn } from './state.ts';
import { dayAndClock, instantFromInput, isClock, isDay, msFromInstant, shownInstant } from './time.ts';

/** A number of a JSON text, with its digits. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Parses JSON with every digit kept; undefined where it is none. */
export function parseJson(text: string): unknown {
  const keepDigits = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
    typeof value === 'number' ? new JsonNumber(source ?? String(value)) : value;
  try {
    return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
  } catch {
    return undefined; // a SyntaxError: JSON itself never gives undefined
  }
}

/** Whether a parsed value is an object with fields. */
export function isFields(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json) && !(json instanceof JsonNumber);
}

/** A value as a write gives it to a column, for a caller in `zone`; undefined where it has no meaning there. */
export function valueFromInput(column: ModelColumn, raw: unknown, zone: string): Value | undefined {
  if (raw === null) return null;
  const type = valueTypeOf(column);
  switch (type) {
    case 'Checkbox':
      return typeof raw === 'boolean' ? raw : undefined;
    case 'Numeric':
    case 'Duration':
      if (raw instanceof JsonNumber) return decimalFromText(raw.text);
      return typeof raw === 'string' ? decimalFromText(raw) : undefined;
    case 'Autonumber':
    case 'Unknown':
      if (raw instanceof JsonNumber) return decimalText(raw.text);
      if (type === 'Unknown' && typeof raw !== 'string') return jsonText(raw);
      break;
    default:
  }
  if (typeof raw !== 'string' || !raw.isWellFormed()) return undefined;
  switch (type) {
    case 'Multiline':
      return raw.replaceAll('\r\n', '\n');
    case 'Date':
      return isDay(raw) ? raw : dayAndClock(raw)?.day;
    case 'Time':
      return [raw, `${raw}:00`].find(isClock) ?? dayAndClock(raw)?.clock;
    case 'Timestamp':
      return instantFromInput(raw, zone);
    default:
      return raw;
  }
}

function decimalText(text: string): string | undefined {
  const decimal = decimalFromText(text);
  return decimal === undefined ? undefined : digitsOf(decimal);
}

/** Objects and lists in a column whose type nobody knows are kept as they came. */
function jsonText(raw: unknown): string {
  if (raw instanceof JsonNumber) return raw.text;
  if (Array.isArray(raw)) return `[${raw.map(jsonText).join(',')}]`;
  if (!isFields(raw)) return JSON.stringify(raw);
  const fields = Object.entries(raw).map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`);
  return `{${fields.join(',')}}`;
}

/** A value as colleagues give it, brought to the one form in which it is stored. */
export function storedValue(column: ModelColumn, value: Value): Value {
  if (value === null) return null;
  switch (valueTypeOf(column)) {
    case 'Checkbox':
      if (typeof value !== 'boolean') throw new Error(`The cell for "${column.name}" is not true or false`);
      return value;
    case 'Numeric':
    case 'Duration': {
      const decimal = decimalFromText(String(value));
      if (decimal === undefined) throw new Error(`The cell for "${column.name}" is not a number`);
      return decimal;
    }
    default:
      return String(value);
  }
}

/** A value as JSON text, as Select shows it to a caller in `zone`. */
export function shownValue(type: ColumnType, value: Value, zone: string): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  switch (type) {
    case 'Numeric':
    case 'Duration':
      return digitsOf(value);
    case 'Date':
      return `"${value}T00:00:00+00:00"`;
    case 'Time':
      return `"0001-01-01T${value}+00:00"`;
    case 'Timestamp':
      return `"${shownInstant(String(value), zone)}"`;
    case 'Multiline':
      return JSON.stringify(String(value).replaceAll('\r\n', '\n').replaceAll('\n', '\r\n'));
    default:
      return JSON.stringify(String(value));
  }
}

/** A value as the `key` of a status shows it; null for none. */
export function keyText(value: Value): string | null {
  if (value === null) return null;
  return typeof value === 'number' || typeof value === 'bigint' ? digitsOf(value) : String(value);
}

/** Orders two values of a column for Select: null first, texts without regard to the case of A to Z. */
export function compareValues(type: ColumnType, one: Value, other: Value): number {
  if (one === null || other === null) return Number(one !== null) - Number(other !== null);
  switch (type) {
    case 'Checkbox':
      return Number(one) - Number(other);
    case 'Numeric':
    case 'Duration':
      if (typeof one === 'boolean' || typeof other === 'boolean') return 0;
      return compareDecimals(one, other);
    case 'Timestamp':
      return compareInstants(String(one), String(other));
    default:
      return compareTexts(foldAscii(String(one)), foldAscii(String(other)));
  }
}

/** Two instants in time; parts of a millisecond count. */
export function compareInstants(one: string, other: string): number {
  const [a, b] = [msFromInstant(one), msFromInstant(other)];
  return a === b ? compareTexts(one.slice(19, -1), other.slice(19, -1)) : a - b;
}

function foldAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** By code points, as UTF-8 bytes compare. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const [one, other] = [Array.from(a), Array.from(b)];
  for (const [index, character] of one.entries()) {
    const difference = (character.codePointAt(0) ?? 0) - (other[index]?.codePointAt(0) ?? -1);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}
