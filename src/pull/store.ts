/**
 * Where a pull writes rows: straight into a mirror, and into its base where one is begun early (capture/mode.ts); through the merge
 * into a two-way table (capture/merge.ts). Always in the transaction of the caller, with the page and its ETag (I6).
 */
import { readIdleIds, storeMissingRows, storeRemoteRows } from '../capture/merge.ts';
import { earlyBase } from '../capture/mode.ts';
import type { Tx } from '../replica/connection.ts';
import { deleteRows, removeRows, upsertRows, writeRows, type RowChanges } from '../replica/rows.ts';
import type { Row } from '../wire/schema.ts';
import type { PreparedTable } from './context.ts';

/** Stores rows as the origin returned them. */
export function storeRows(tx: Tx, { target, twoWay }: PreparedTable, rows: readonly Row[], at: string): RowChanges {
  if (twoWay !== null) return storeRemoteRows(tx, twoWay.table, rows, { policy: twoWay.policy, at });
  const base = earlyBase(tx, target);
  if (base !== null) writeRows(tx, base, rows);
  return upsertRows(tx, target, rows);
}

/** Deletes rows that the origin does not have, keeping their last values; returns how many was here. */
export function storeMissing(
  tx: Tx,
  { target, twoWay }: PreparedTable,
  ids: readonly number[],
  why: { readonly reason: string; readonly at: string },
): number {
  if (twoWay !== null) return storeMissingRows(tx, twoWay.table, ids, { ...why, policy: twoWay.policy });
  const base = earlyBase(tx, target);
  if (base !== null) removeRows(tx, base, ids);
  return deleteRows(tx, target, ids, why);
}

/**
 * Lets rows leave that the origin has and the filter of the table does not select, with their last values kept; returns how many did. A row
 * of which an edit waits stays until that is settled: the origin still takes it.
 */
export function storeOutside(tx: Tx, table: PreparedTable, ids: readonly number[], at: string): number {
  const leaving = table.twoWay === null ? ids : readIdleIds(tx, table.twoWay.table, ids);
  if (leaving.length === 0) return 0;
  const { work } = tx.journal;
  tx.journal.work = { ...work, cause: 'filter' };
  try {
    return storeMissing(tx, table, leaving, { reason: 'filtered', at });
  } finally {
    tx.journal.work = work;
  }
}
