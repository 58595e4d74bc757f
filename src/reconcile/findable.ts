/**
 * By which values rows can be asked for at the origin. A filter has to say the value so that it compares exactly, within the
 * length that the origin takes. Pure.
 */
import { TYPE_RULES } from '../wire/column-types.ts';
import { columnReference } from '../wire/formula.ts';
import type { ColumnShape, Value } from '../wire/schema.ts';

/** Bytes of a filter as it is encoded; with the columns' names it stays below what the origin takes (origin facts 4.1). */
export const FILTER_BYTES_MAX = 8_000;

/** A filter for the rows that have a value in a column; null where there is none that compares exactly, or it would be too long. */
export function filterOfValue({ name, type }: ColumnShape, value: Value): string | null {
  const literal = value === null ? null : TYPE_RULES[type].filterLiteral(value);
  const filter = literal === null ? null : `${columnReference(name)} = ${literal}`;
  return filter === null || encodeURIComponent(filter).length > FILTER_BYTES_MAX ? null : filter;
}
