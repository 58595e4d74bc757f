/**
 * Shared by following and sweeping, about times of modification: which column has them, which table holds the confirmed rows, and the delay of rows
 * that only a sweep found.
 */
import { latenessMs, stampColumn } from '../reconcile/follow.ts';
import { baseTarget } from '../replica/compare.ts';
import { readRowsById, type RowTarget } from '../replica/rows.ts';
import type { RowPage } from '../wire/schema.ts';
import type { LocalShape, PreparedTable, PullContext } from './context.ts';
import { readFollowing } from '../replica/bookkeeping/following.ts';

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

/** The longest delay, in milliseconds, of rows on a page that following had missed; 0 for none. Called before the page is stored. */
export function lateRowsMs({ replica }: PullContext, table: PreparedTable, page: RowPage): number {
  const stamps = stampsOf(table);
  const { watermark, lateMs } = readFollowing(replica, table.target.id);
  if (stamps === null || watermark === null) return 0;
  const late = new Map(
    page.rows.flatMap(({ id, values }) => {
      const stamp = values[stamps.index];
      const ms = typeof stamp === 'string' ? latenessMs(stamp, { watermark, lateMs }) : 0;
      return ms === 0 ? [] : [[id, { stamp, ms }] as const];
    }),
  );
  if (late.size === 0) return 0;
  for (const { id, values } of readRowsById(replica, confirmedRows(table), [...late.keys()]))
    if (values[stamps.index] === late.get(id)?.stamp) late.delete(id);
  return Math.max(0, ...[...late.values()].map(({ ms }) => ms));
}
