/**
 * Writes many rows at once that nobody edited here: of a mirror, or of a two-way table with its base. The caller names the rows; edited ones
 * go through decisions (apply.ts).
 */
import { addToRowCount } from '../../replica/bookkeeping/tables.ts';
import { baseTarget, readDifferingIds } from '../../replica/compare.ts';
import type { Tx } from '../../replica/connection.ts';
import {
  copyRows,
  forgetGone,
  keepEvidence,
  readRowsById,
  removeRows,
  upsertRows,
  type RowChanges,
  type RowTarget,
} from '../../replica/rows.ts';
import type { Row } from '../../wire/schema.ts';

/** A table whose rows are written; `hasBase` for a two-way one. */
interface Written {
  readonly target: RowTarget;
  readonly hasBase: boolean;
}

/** Stores rows as the origin returned them; returns how many were new and how many changed there. */
export function storeUnedited(tx: Tx, { target, hasBase }: Written, rows: readonly Row[]): RowChanges {
  if (!hasBase) return upsertRows(tx, target, rows);
  const base = baseTarget(target);
  const changes = upsertRows(tx, base, rows);
  if (changes.insertedCount + changes.updatedCount === 0) return changes;
  // They were equal before, so those that differ are the changed ones.
  const ids = rows.map(({ id }) => id);
  copyRows(tx, { from: base, to: target }, readDifferingIds(tx, target, ids));
  return changes;
}

/** Deletes rows that the origin proved to be gone, and keeps their last values in `sync_deleted`; returns how many were here. */
export function deleteUnedited(
  tx: Tx,
  { target, hasBase }: Written,
  ids: readonly number[],
  why: { readonly reason: string; readonly at: string },
): number {
  if (ids.length === 0) return 0;
  keepEvidence(tx, target, readRowsById(tx, target, ids), why);
  if (hasBase) removeRows(tx, baseTarget(target), ids);
  const count = removeRows(tx, target, ids);
  forgetGone(tx, target.id, ids);
  if (count > 0) addToRowCount(tx, target.id, -count);
  return count;
}
