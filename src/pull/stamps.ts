/**
 * What following and sweeping share about times of modification: which column has them, where the rows stand that the origin confirmed, and how late
 * rows were that only a sweep found.
 */
import { latenessMs, stampColumn } from '../reconcile/follow.ts';
import { baseTarget } from '../replica/compare.ts';
import { readTable } from '../replica/ledger.ts';
import { readRowsById, type RowTarget } from '../replica/rows.ts';
import type { ColumnShape, RowPage } from '../wire/schema.ts';
import type { PreparedTable, PullContext } from './context.ts';

/** What following a table needs to know of it; null where it has not the columns for it. */
export interface Stamps {
  readonly shape: ColumnShape;
  readonly index: number;
  readonly key: string;
}

/** The stamps of a table; null where it has not the columns for it. */
export function stampsOf({ descriptor, shapes }: PreparedTable): Stamps | null {
  const column = stampColumn(descriptor.columns);
  const index = shapes.findIndex(({ name }) => name === column?.name);
  const shape = shapes[index];
  const key = descriptor.columns.find(({ name }) => name === descriptor.key)?.name;
  return shape === undefined || key === undefined ? null : { shape, index, key };
}

/** Where rows stand as the origin confirmed them last. */
export function confirmedRows({ target, twoWay }: PreparedTable): RowTarget {
  return twoWay === null ? target : baseTarget(target);
}

/** How late the latest row of a page was that a sweep found and following had missed, in milliseconds; 0 for none. Asked before it is stored. */
export function lateRowsMs({ replica }: PullContext, table: PreparedTable, page: RowPage): number {
  const stamps = stampsOf(table);
  const { watermark, lateMs } = readTable(replica, table.target.id);
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
