/**
 * Which values can be used to request rows. A filter has to compare the value exactly, within the length that the origin accepts. Pure.
 */
import { TYPE_RULES } from '../wire/column-types.ts';
import { columnReference } from '../wire/formula.ts';
import type { ColumnShape, Value } from '../wire/schema.ts';

/** Bytes of an encoded filter; with the columns' names it stays below the origin's limit (origin facts 4.1). */
export const FILTER_BYTES_MAX = 8_000;

/** As many clauses together as filters of so many bytes take. */
export function joinClauses(clauses: readonly string[], bytesMax = FILTER_BYTES_MAX): readonly string[] {
  const filters: string[][] = [];
  let bytes = 0;
  for (const clause of clauses) {
    const clauseBytes = encodeURIComponent(` or ${clause}`).length;
    const last = filters.at(-1);
    if (last === undefined || bytes + clauseBytes > bytesMax) {
      filters.push([clause]);
      bytes = 0;
    } else {
      last.push(clause);
    }
    bytes += clauseBytes;
  }
  return filters.map((together) => together.join(' or '));
}

/** A filter for the rows with a value in a column; null if none compares exactly, or it would be too long. */
export function filterOfValue({ name, type }: ColumnShape, value: Value): string | null {
  const literal = value === null ? null : TYPE_RULES[type].filterLiteral(value);
  const filter = literal === null ? null : `${columnReference(name)} = ${literal}`;
  return filter === null || encodeURIComponent(filter).length > FILTER_BYTES_MAX ? null : filter;
}
