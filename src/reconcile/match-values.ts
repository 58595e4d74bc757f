/**
 * Values by which rows are looked up. Some can be compared exactly by a filter, within the length that the origin accepts. Others may be one and the
 * same at the origin although they differ here. Pure.
 */
import { TYPE_RULES } from '../wire/column-types.ts';
import { columnReference } from '../wire/formula.ts';
import { QUERY_BYTES_MAX, retrieveQuery } from '../wire/request-paths.ts';
import type { ColumnShape, Value, ColumnType } from '../wire/schema.ts';
import { isSameValue } from './merge.ts';

/** Bytes of an encoded filter about one value; with the columns' names it stays below the origin's limit (origin facts 4.1). */
export const FILTER_BYTES_MAX = 8_000;

/** The other characters of a request with a filter: names of parameters, parentheses. */
const OVERHEAD_BYTES = 100;

/** Bytes that an encoded filter may have in a request for these columns. */
export function filterRoom(columns: readonly string[]): number {
  return QUERY_BYTES_MAX - retrieveQuery(columns, { ids: [] }).length - OVERHEAD_BYTES;
}

/** As many clauses together as filters of so many bytes take. */
export function joinClauses(clauses: readonly string[], bytesMax: number): readonly string[] {
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

/** Whether two values may be one at the origin, whose uniqueness may ignore case, accents, width, and blanks at the ends. */
export function isSameAtOrigin(type: ColumnType, one: Value, other: Value): boolean {
  if (isSameValue(type, one, other)) return true;
  return typeof one === 'string' && typeof other === 'string' && matchKey(one) === matchKey(other);
}

/** Letters that Unicode does not take apart, and that an origin may treat as others. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
  đ: 'd',
  ø: 'o',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
};

/** Values with different keys are certainly different at the origin. */
export function matchKey(value: Value): string {
  if (typeof value !== 'string') return String(value ?? '');
  const bare = value.normalize('NFKD').replaceAll(/[\p{M}\p{Cf}]/gu, '');
  const folded = bare.toUpperCase().toLowerCase().trim();
  return folded.replaceAll(/[æœþðđøłħŧ]/gu, (letter) => LOOKALIKES[letter] ?? letter);
}
