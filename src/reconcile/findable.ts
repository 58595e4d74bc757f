/**
 * By which values rows can be asked for at the origin: a filter has to say the value so that it compares exactly, within the length that the
 * origin takes. Pure.
 */
import { numericToPlain } from '../wire/decimal.ts';
import {
  columnReference,
  dateLiteral,
  numberLiteral,
  textLiteral,
  timeLiteral,
  timestampLiteral,
} from '../wire/formula.ts';
import { DECIMALS_MAX } from './diff.ts';
import type { ColumnShape, ColumnType, Value } from '../wire/schema.ts';

/** Bytes of a filter as it is encoded; with the columns' names it stays below what the origin takes (origin facts 4.1). */
export const FILTER_BYTES_MAX = 8_000;

/** A filter for the rows that have a value in a column; null where there is none that compares exactly, or it would be too long. */
export function filterOfValue({ name, type }: ColumnShape, value: Value): string | null {
  const literal = literalOf(type, value);
  const filter = literal === null ? null : `${columnReference(name)} = ${literal}`;
  return filter === null || encodeURIComponent(filter).length > FILTER_BYTES_MAX ? null : filter;
}

/** Whether the origin keeps another number than this one. */
function isRounded(value: Exclude<Value, null | boolean>): boolean {
  return (numericToPlain(value).split('.')[1]?.length ?? 0) > DECIMALS_MAX;
}

/** A value as a filter says it; null where it has no form there that compares exactly. */
function literalOf(type: ColumnType, value: Value): string | null {
  if (value === null) return null;
  switch (type) {
    case 'Numeric':
      return typeof value === 'boolean' || isRounded(value) ? null : numberLiteral(value);
    case 'Date':
      return dateLiteral(String(value));
    case 'Time':
      return timeLiteral(String(value));
    case 'Timestamp':
      // Literals have no fraction: the rows of that very instant are not those of its second.
      return String(value).includes('.') ? null : timestampLiteral(String(value));
    case 'Duration':
      // A number and its unit; literals have no sign.
      return typeof value === 'number' && value >= 0 ? `${numberLiteral(value)}s` : null;
    case 'Checkbox':
    case 'Attachment':
    // Of a type of its own in formulas: compared with a text, the whole filter would be refused.
    case 'User':
    case 'Unknown':
      return null;
    default:
      return textLiteral(String(value));
  }
}
