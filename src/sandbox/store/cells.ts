/**
 * One cell between `Value` (wire/schema.ts) and SQLite. Numbers are never rounded: INTEGER where they are integral and
 * within 64 bits, REAL where a double holds them, else the exact decimal as TEXT. Integers are read with
 * `safeIntegers`, so they arrive as bigint.
 */
import { createHash } from 'node:crypto';

import { assert } from '../../base/assert.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import { numericFromText, numericToPlain, type Numeric } from '../../wire/decimal.ts';
import type { ColumnType, Value } from '../../wire/schema.ts';
import type { StoreColumn } from './catalog.ts';
import type { CellInput, FileSpec } from './spec.ts';

/** What better-sqlite3 binds and, with `safeIntegers`, returns. */
export type SqlValue = null | string | number | bigint;

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** A value as it is bound. A text in a Numeric column must be a decimal. */
export function sqlFromValue(column: Pick<StoreColumn, 'valueType' | 'name'>, value: Value): SqlValue {
  if (value === null) return null;
  switch (TYPE_RULES[column.valueType].storedAs) {
    case 'INTEGER':
      assert(typeof value === 'boolean', `the cell for the Checkbox "${column.name}" is true or false`);
      return value ? 1n : 0n;
    case 'ANY':
      assert(typeof value !== 'boolean', `the cell for the number "${column.name}" is a number`);
      return sqlFromNumeric(column.name, value);
    default:
      return String(value);
  }
}

function sqlFromNumeric(name: string, value: Numeric): SqlValue {
  const exact = typeof value === 'string' ? numericFromText(value) : value;
  assert(exact !== undefined, `the cell for the number "${name}" is a decimal`);
  if (typeof exact === 'number' && !Number.isSafeInteger(exact)) {
    assert(Number.isFinite(exact), `the cell for the number "${name}" is finite`);
    return exact;
  }
  if (typeof exact === 'string') return exact;
  const integer = BigInt(exact); // better-sqlite3 binds every number as REAL, and only a bigint as INTEGER
  return integer >= INT64_MIN && integer <= INT64_MAX ? integer : integer.toString();
}

/** A value as it was read with `safeIntegers`. */
export function valueFromSql(type: ColumnType, stored: SqlValue): Value {
  if (typeof stored === 'bigint') {
    if (type === 'Checkbox') return stored === 1n;
    const number = Number(stored);
    return Number.isSafeInteger(number) ? number : stored;
  }
  return stored;
}

/** A value as plain text, for the recycle bin and for a column that changes its type. */
export function textFromValue(value: Value): string | null {
  if (value === null) return null;
  return typeof value === 'boolean' || typeof value === 'string' ? String(value) : numericToPlain(value);
}

/** The reverse of `textFromValue`, for a column that kept its type. */
export function valueFromText(type: ColumnType, text: string): Value {
  if (type === 'Checkbox') return text === 'true';
  return TYPE_RULES[type].form === 'number' ? (numericFromText(text) ?? null) : text;
}

/** Whether a cell is a file to be stored rather than a value. */
export function isFile(cell: CellInput): cell is FileSpec {
  return typeof cell === 'object' && cell !== null;
}

/** The value of an Attachment cell. */
export function fileCell(name: string, revision: number, guid: string): string {
  return `${name};${revision};${guid}`;
}

/** The guid in the value of an Attachment cell; null for an empty one. A file name may hold anything, also `;`. */
export function guidFromCell(value: Value): string | null {
  return /;\d+;([^;]+)$/.exec(String(value ?? ''))?.[1] ?? null;
}

/** A guid that depends on nothing but the place and the content of a file, so that equal starts give equal bytes. */
export function guidFromFile(place: string, bytes: Uint8Array): string {
  const hex = createHash('sha256').update(place).update(bytes).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** An Autonumber by its template: `{0}` and `{0000}` are the number, padded to so many digits. */
export function autonumber(format: string, number: number): string {
  return format.replaceAll(/\{(0+)\}/g, (_all, zeros: string) => String(number).padStart(zeros.length, '0'));
}
