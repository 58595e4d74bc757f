/**
 * Finds the column with the time of modification, and the table with the confirmed rows, for following and sweeping.
 */
import { stampColumn } from '../reconcile/follow.ts';
import { baseTarget } from '../replica/compare.ts';
import type { RowTarget } from '../replica/rows.ts';
import type { LocalShape, PreparedTable } from './context.ts';

/** The facts for following a table; null if it lacks the columns. */
export interface Stamps {
  readonly shape: LocalShape;
  readonly index: number;
  readonly key: string;
}

/** The stamp columns of a table; null if it lacks them. */
export function stampsOf({ descriptor, shapes }: PreparedTable): Stamps | null {
  const column = stampColumn(descriptor.columns);
  const index = shapes.findIndex(({ name }) => name === column?.name);
  const shape = shapes[index];
  const key = descriptor.columns.find(({ name }) => name === descriptor.key)?.name;
  return shape === undefined || key === undefined ? null : { shape, index, key };
}

/** The table with the rows that the origin last confirmed. */
export function confirmedRows({ target, twoWay }: PreparedTable): RowTarget {
  return twoWay === null ? target : baseTarget(target);
}
