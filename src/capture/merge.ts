/**
 * Writes the origin's rows into a two-way table: base, local, conflicts and marks, in the transaction of the caller (I6). Unedited rows take a fast
 * path; the others go through reconcile/merge.ts. Comparing a row with its base shows whether it was edited, not its mark. Pull calls it with rows of
 * pages, push with rows that it sent.
 */
import { isChanged, type ConflictPolicy } from '../reconcile/merge.ts';
import { decideRemote } from '../reconcile/outcome.ts';
import { readDifferingIds } from '../replica/compare.ts';
import type { Tx } from '../replica/connection.ts';
import type { RowChanges } from '../replica/rows.ts';
import type { Row } from '../wire/schema.ts';
import { makeRoom, readVersions } from './changes.ts';
import { readRowStates } from './marks.ts';
import type { TwoWayTable } from './table.ts';
import { apply, readFacts } from './writer/apply.ts';
import { deleteUnedited, storeUnedited } from './writer/unedited.ts';

/** How rows of an answer are merged. */
export interface MergeOptions {
  readonly policy: ConflictPolicy;
  /** Stamp of now. */
  readonly at: string;
}

/** Stores rows as the origin returned them; returns how many were new and how many changed at the origin. */
export function storeRemoteRows(tx: Tx, table: TwoWayTable, rows: readonly Row[], options: MergeOptions): RowChanges {
  const ids = rows.map(({ id }) => id);
  const edited = new Set(readDifferingIds(tx, table, ids));
  const target = { target: table, hasBase: true };
  if (edited.size === 0) return storeUnedited(tx, target, rows);
  if (makeRoom(tx, table, [...edited], options.at)) return storeRemoteRows(tx, table, rows, options); // once: now there is room
  const unedited = storeUnedited(
    tx,
    target,
    rows.filter(({ id }) => !edited.has(id)),
  );
  const remoteById = new Map(rows.flatMap((row) => (edited.has(row.id) ? [[row.id, row] as const] : [])));
  const changes = mergeRows(tx, table, remoteById, { ...options, reason: '' });
  return {
    insertedCount: unedited.insertedCount + changes.insertedCount,
    updatedCount: unedited.updatedCount + changes.updatedCount,
  };
}

/**
 * Deletes rows that are proven to be gone at the origin, keeping their last values; edits of them are kept as conflicts. Returns how many the origin
 * had confirmed.
 */
export function storeMissingRows(
  tx: Tx,
  table: TwoWayTable,
  ids: readonly number[],
  options: MergeOptions & { readonly reason: string },
): number {
  const edited = readDifferingIds(tx, table, ids);
  const unedited = ids.filter((id) => !edited.includes(id));
  const deletedCount = deleteUnedited(tx, { target: table, hasBase: true }, unedited, options);
  // A row without a base was inserted under this id by another client, and the origin never had it.
  const known = readVersions(tx, table, edited).filter(({ base }) => base !== null);
  mergeRows(tx, table, new Map(known.map(({ rowId }) => [rowId, null])), options);
  return deletedCount + known.length;
}

/** The given rows without an edit that waits, is on its way, or is parked. */
export function readIdleIds(tx: Tx, table: TwoWayTable, ids: readonly number[]): readonly number[] {
  const differing = readVersions(tx, table, readDifferingIds(tx, table, ids));
  const edited = differing.flatMap(({ rowId, base, local }) => (isChanged(base, local, table.columns) ? [rowId] : []));
  const busy = new Set([...edited, ...readRowStates(tx, table.id, ids).keys()]);
  return ids.filter((id) => !busy.has(id));
}

/** Merges rows with what the origin has of each, null for no such row, and carries out what is decided. Returns the changes of the base. */
function mergeRows(
  tx: Tx,
  table: TwoWayTable,
  remoteById: ReadonlyMap<number, Row | null>,
  { at, policy, reason }: MergeOptions & { readonly reason: string },
): RowChanges {
  const rules = { columns: table.columns, policy, isSent: false, reason };
  const facts = readFacts(tx, table, [...remoteById.keys()]);
  const outcomes = facts.map((known) => decideRemote(known, remoteById.get(known.id) ?? null, rules));
  return apply(tx, table, { outcomes, nowMs: Date.parse(at) });
}
