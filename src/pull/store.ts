/**
 * Writes the rows of a pull: directly into a mirror, through the merge into a two-way table (capture/merge.ts). Always in the transaction of the caller, with the page and its ETag (I6).
 */
import { readIdleIds, storeMissingRows, storeRemoteRows } from '../capture/merge.ts';
import { deleteUnedited, storeUnedited } from '../capture/writer/unedited.ts';
import type { Tx } from '../replica/connection.ts';
import { storeUnreadable } from '../replica/bookkeeping/unreadable.ts';
import { storeRowColors } from '../replica/row-colors.ts';
import { readRowsById, type RowChanges } from '../replica/rows.ts';
import type { Row, RowPage, UnreadableRow } from '../wire/schema.ts';
import type { PreparedTable } from './context.ts';
import { confirmedRows } from './stamps.ts';

/** Stores a page as the origin returned it, and which of its rows could not be read. A row that entered the filter of its table is not a created row. */
export function storeRows(
  tx: Tx,
  table: PreparedTable,
  { rows: readable, ids, unreadable }: RowPage,
  at: string,
): RowChanges {
  storeUnreadable(tx, table.target.id, { ids, unreadable }, at);
  const rows = unreadable.length === 0 ? readable : [...readable, ...readableParts(tx, table, unreadable)];
  const changes = storeByFilter(tx, table, rows, at);
  storeRowColors(tx, table.target, rows);
  return changes;
}

/**
 * Rows of a mirror without their one unreadable cell, which stays as it was, or empty. Never for a table with a base, where an empty cell might be
 * pushed, nor without more than that cell.
 */
function readableParts(tx: Tx, table: PreparedTable, unreadable: readonly UnreadableRow[]): readonly Row[] {
  const { target, twoWay, shapes } = table;
  if (twoWay !== null) return [];
  const ids = unreadable.map(({ id }) => id);
  const known = new Map(readRowsById(tx, target, ids).map(({ id, values }) => [id, values]));
  return unreadable.flatMap(({ id, column, rest }) => {
    if (rest === undefined) return [];
    const before = known.get(id);
    const values = rest.values.map((value, index) =>
      shapes[index]?.name === column ? (before?.[index] ?? null) : value,
    );
    return [{ ...rest, values }];
  });
}

function storeByFilter(tx: Tx, table: PreparedTable, rows: readonly Row[], at: string): RowChanges {
  if (!table.mayEnter || rows.length === 0) return storeAsTheyCame(tx, table, rows, at);
  const ids = rows.map(({ id }) => id);
  const here = new Set(readRowsById(tx, confirmedRows(table), ids).map(({ id }) => id));
  const before = rows.filter(({ id }) => here.has(id));
  const added = rows.filter(({ id }) => !here.has(id));
  const { updatedCount } = storeAsTheyCame(tx, table, before, at);
  const { insertedCount } = storeAsTheyCame(tx.because('filter'), table, added, at);
  return { insertedCount, updatedCount };
}

function storeAsTheyCame(tx: Tx, { target, twoWay }: PreparedTable, rows: readonly Row[], at: string): RowChanges {
  if (twoWay !== null) return storeRemoteRows(tx, twoWay.table, rows, { policy: twoWay.policy, at });
  return storeUnedited(tx, { target, hasBase: false }, rows);
}

/** Deletes rows that the origin does not have, keeping their last values; returns how many were here. */
export function storeMissing(
  tx: Tx,
  { target, twoWay }: PreparedTable,
  ids: readonly number[],
  why: { readonly reason: string; readonly at: string },
): number {
  if (twoWay !== null) return storeMissingRows(tx, twoWay.table, ids, { ...why, policy: twoWay.policy });
  return deleteUnedited(tx, { target, hasBase: false }, ids, why);
}

/**
 * Removes rows that the origin has outside of the table's filter, keeping their last values; returns how many. A row with a waiting edit stays until
 * that is settled: the origin still accepts it.
 */
export function storeOutside(tx: Tx, table: PreparedTable, ids: readonly number[], at: string): number {
  const leaving = table.twoWay === null ? ids : readIdleIds(tx, table.twoWay.table, ids);
  if (leaving.length === 0) return 0;
  return storeMissing(tx.because('filter'), table, leaving, { reason: 'filtered', at });
}
