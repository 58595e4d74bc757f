/**
 * Which cells of two rows differ. Values are canonical (wire/schema.ts), so equal values are identical ones. Pure.
 */
import type { Value } from '../wire/schema.ts';

/** Indexes of the values that differ; both rows have the same columns in the same order. */
export function changedIndexes(one: readonly Value[], other: readonly Value[]): readonly number[] {
  return one.flatMap((value, index) => (value === other[index] ? [] : [index]));
}
