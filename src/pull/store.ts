/**
 * Writes the rows of a pull (capture/writer/remote.ts). Always in the transaction of the caller, with the page and its ETag (I6).
 */
import type { TwoWayTable } from '../capture/table.ts';
import { storeMissingRows, storeRemoteRows, type RemoteOrder } from '../capture/writer/remote.ts';
import { isChanged } from '../reconcile/merge.ts';
import { readRowStates } from '../replica/bookkeeping/row-states.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import { storeUnreadable } from '../replica/bookkeeping/unreadable.ts';
import { readDifferingIds, readVersions } from '../replica/compare.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { storeRowColors, readRowsById, type RowChanges } from '../replica/rows.ts';
import type { Row, RowPage, UnreadableRow } from '../wire/schema.ts';
import type { PreparedTable } from './context.ts';

/** Stores a page as the origin returned it, and which of its rows could not be read. */
export function storeRows(
  tx: Tx,
  table: PreparedTable,
  { rows: readable, ids, unreadable }: RowPage,
  order: RemoteOrder,
): RowChanges {
  storeUnreadable(tx, table.target.id, { ids, unreadable }, order.at);
  const rows = unreadable.length === 0 ? readable : [...readable, ...readableParts(tx, table, unreadable)];
  const changes = storeRemoteRows(tx, table, rows, order);
  storeRowColors(tx, table.target, rows);
  return changes;
}

/**
 * Rows of a mirror without their one unreadable cell, which stays as it was, or empty. Never for a table that has a base, or gets one, where an
 * empty cell might be pushed, nor without more than that cell.
 */
function readableParts(tx: Tx, table: PreparedTable, unreadable: readonly UnreadableRow[]): readonly Row[] {
  const { target, shapes } = table;
  if (readTable(tx, target.id).push !== 'off') return [];
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

/**
 * Removes rows that the origin has outside of the table's filter, keeping their last values; returns how many. A row with a waiting edit stays until
 * that is settled: the origin still accepts it.
 */
export function storeOutside(tx: Tx, table: PreparedTable, ids: readonly number[], at: string): number {
  const leaving = table.twoWay === null ? ids : readIdleIds(tx, table.twoWay.table, ids);
  if (leaving.length === 0) return 0;
  return storeMissingRows(tx.because('filter'), table, leaving, { reason: 'filtered', at });
}

/** The given rows without an edit that waits, is on its way, or is parked. */
function readIdleIds(from: Connection, table: TwoWayTable, ids: readonly number[]): readonly number[] {
  const differing = readVersions(from, table, readDifferingIds(from, table, ids));
  const edited = differing.flatMap(({ rowId, base, local }) => (isChanged(base, local, table.columns) ? [rowId] : []));
  const busy = new Set([...edited, ...readRowStates(from, table.id, ids).keys()]);
  return ids.filter((id) => !busy.has(id));
}
