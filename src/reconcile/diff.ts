/**
 * Which cells of two rows differ. Values are canonical (wire/schema.ts), so equal values are identical. Only numbers may come from SQL in several
 * spellings, and are compared exactly by value. Pure.
 */
import { TYPE_RULES } from '../wire/column-types.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';

/** Indexes of the values that differ; both rows have the same columns in the same order. */
export function changedIndexes(one: readonly Value[], other: readonly Value[]): readonly number[] {
  return one.flatMap((value, index) => (value === other[index] ? [] : [index]));
}

/** Those of the rows that are not just so, including the caller's rights on them, among the known ones of their table. */
export function unlikeRows(rows: readonly Row[], known: readonly Row[]): readonly Row[] {
  const knownById = new Map(known.map((row) => [row.id, row]));
  return rows.filter(({ id, allow, values }) => {
    const before = knownById.get(id);
    return before?.allow !== allow || values.some((value, index) => value !== before.values[index]);
  });
}

/** Whether two values of one column are the same: null only as null, numbers exactly (1, 1.0 and the text '1.0' are one). */
export function isSameValue(type: ColumnType, one: Value, other: Value): boolean {
  if (one === other) return true;
  return one !== null && other !== null && TYPE_RULES[type].isSame(one, other);
}

/**
 * Whether a value is the origin's form of a sent value. Numbers have six decimals, a checkbox is never empty (origin facts 2.1), and an empty text
 * may be null. Another name of a user is not taken for a form: it may be a colleague's.
 */
export function isTakenAs(type: ColumnType, sent: Value, there: Value): boolean {
  return isSameValue(type, sent, there) || TYPE_RULES[type].isTakenAs(sent, there);
}
