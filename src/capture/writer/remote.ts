/**
 * Stores what the origin has of many rows at once, in the transaction of the caller (I6). Rows that nobody edited here take one statement for the
 * base and one for the table; edited ones go through decisions (apply.ts). A mirror is the case without a base. Comparing a row with its base shows
 * whether it was edited, not its mark.
 */
import { decideRemote } from '../../reconcile/outcome.ts';
import type { ConflictPolicy } from '../../reconcile/merge.ts';
import { suspectPushedRows } from '../../replica/bookkeeping/suspects.ts';
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
import type { TwoWayTable } from '../table.ts';
import { apply, readFacts } from './apply.ts';

/** A table whose rows are written. */
export interface RemoteTable {
  readonly target: RowTarget;
  /** The input for merging edits; null for a table that cannot have edits. */
  readonly twoWay: { readonly table: TwoWayTable; readonly policy: ConflictPolicy } | null;
  /** Whether a row that is new here may be old at the origin, because the table has or had a filter. */
  readonly mayEnter?: boolean;
}

/** When rows were read. */
export interface RemoteOrder {
  /** Stamp of now. */
  readonly at: string;
  /** Rows that were read, or are changed, outside of a sweep: no page vouches for them. */
  readonly offPage?: readonly number[] | undefined;
}

const NO_CHANGES: RowChanges = { insertedCount: 0, updatedCount: 0 };

/** Stores rows as the origin returned them; returns how many were new and how many changed there. */
export function storeRemoteRows(
  tx: Tx,
  table: RemoteTable,
  rows: readonly Row[],
  { at, offPage = [] }: RemoteOrder,
): RowChanges {
  const changes = table.mayEnter === true ? storeByFilter(tx, table, rows, at) : storeRows(tx, table, rows, at);
  if (offPage.length > 0) suspectPushedRows(tx, table.target.id, offPage);
  return changes;
}

/** A row that entered the filter of its table is not a created row. */
function storeByFilter(tx: Tx, table: RemoteTable, rows: readonly Row[], at: string): RowChanges {
  const confirmed = table.twoWay === null ? table.target : baseTarget(table.target);
  const ids = rows.map(({ id }) => id);
  const here = new Set(readRowsById(tx, confirmed, ids).map(({ id }) => id));
  const [before, added] = [rows.filter(({ id }) => here.has(id)), rows.filter(({ id }) => !here.has(id))];
  const { updatedCount } = storeRows(tx, table, before, at);
  const { insertedCount } = storeRows(tx.because('filter'), table, added, at);
  return { insertedCount, updatedCount };
}

function storeRows(tx: Tx, { target, twoWay }: RemoteTable, rows: readonly Row[], at: string): RowChanges {
  if (rows.length === 0) return NO_CHANGES;
  if (twoWay === null) return upsertRows(tx, target, rows);
  const { table, policy } = twoWay;
  const ids = rows.map(({ id }) => id);
  const edited = new Set(readDifferingIds(tx, table, ids));
  const unedited = edited.size === 0 ? rows : rows.filter(({ id }) => !edited.has(id));
  const plain = storeUnedited(tx, table, unedited);
  if (edited.size === 0) return plain;
  const remoteById = new Map(rows.map((row) => [row.id, row]));
  const rules = { columns: table.columns, policy, isSent: false, reason: '' };
  const outcomes = readFacts(tx, table, [...edited]).map((facts) =>
    decideRemote(facts, remoteById.get(facts.id) ?? null, rules),
  );
  const merged = apply(tx, table, { outcomes, nowMs: Date.parse(at) });
  return {
    insertedCount: plain.insertedCount + merged.insertedCount,
    updatedCount: plain.updatedCount + merged.updatedCount,
  };
}

function storeUnedited(tx: Tx, table: TwoWayTable, rows: readonly Row[]): RowChanges {
  const base = baseTarget(table);
  const changes = upsertRows(tx, base, rows);
  if (changes.insertedCount + changes.updatedCount === 0) return changes;
  // They were equal before, so those that differ are the changed ones.
  const ids = rows.map(({ id }) => id);
  copyRows(tx, { from: base, to: table }, readDifferingIds(tx, table, ids));
  return changes;
}

/**
 * Deletes rows that are proven to be gone at the origin, or outside of the filter, and keeps their last values in `sync_deleted`; edits of them are
 * kept as conflicts. Returns how many the origin had confirmed.
 */
export function storeMissingRows(
  tx: Tx,
  { target, twoWay }: RemoteTable,
  ids: readonly number[],
  { at, reason }: { readonly at: string; readonly reason: string },
): number {
  const edited = new Set(twoWay === null ? [] : readDifferingIds(tx, target, ids));
  const unedited = ids.filter((id) => !edited.has(id));
  let count = 0;
  if (unedited.length > 0) {
    keepEvidence(tx, target, readRowsById(tx, target, unedited), { reason, at });
    if (twoWay !== null) removeRows(tx, baseTarget(target), unedited);
    count = removeRows(tx, target, unedited);
    forgetGone(tx, target.id, unedited);
    if (count > 0) addToRowCount(tx, target.id, -count);
  }
  if (twoWay === null || edited.size === 0) return count;
  const { table, policy } = twoWay;
  const rules = { columns: table.columns, policy, isSent: false, reason };
  // A row without a base was inserted under this id by another client, and the origin never had it.
  const known = readFacts(tx, table, [...edited]).filter(({ base }) => base !== null);
  const outcomes = known.map((facts) => decideRemote(facts, null, rules));
  apply(tx, table, { outcomes, nowMs: Date.parse(at) });
  return count + known.length;
}
