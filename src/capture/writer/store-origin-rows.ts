/**
 * Stores what the origin has of many rows at once, in the transaction of the caller (I6). Rows without an edit here
 * take one statement for the base and one for the table; edited ones go through decisions (apply-outcome.ts). A mirror
 * is the case without a base. Comparing a row with its base shows whether it was edited, not its mark.
 */
import { decideRemote } from '../../reconcile/row-outcome.ts';
import { type ConflictPolicy, isChanged } from '../../reconcile/merge.ts';
import { suspectPushedRows } from '../../replica/bookkeeping/suspects.ts';
import { addToRowCount, readTable } from '../../replica/bookkeeping/tables.ts';
import { baseTarget, readDifferingIds, readVersions } from '../../replica/base-comparison.ts';
import type { Tx, Connection } from '../../replica/connection.ts';
import {
  changedAmong,
  copyFromBase,
  forgetGone,
  keepEvidence,
  readRowsById,
  removeRows,
  upsertRows,
  writeRows,
  type RowChanges,
  type RowTarget,
  storeRowColors,
} from '../../replica/rows.ts';
import type { Row, RowPage, UnreadableRow } from '../../wire/schema.ts';
import type { TwoWayTable } from '../two-way-table.ts';
import { applyEvent, applyOutcome, readRowFacts } from './apply-outcome.ts';
import { forgetRefusals } from '../../replica/bookkeeping/refusals.ts';
import { readRowStates } from '../../replica/bookkeeping/row-states.ts';
import { storeUnreadable } from '../../replica/bookkeeping/unreadable-rows.ts';

export interface RemoteTable {
  readonly target: RowTarget;
  /** The input for merging edits; null for a table that cannot have edits. */
  readonly twoWay: { readonly table: TwoWayTable; readonly policy: ConflictPolicy } | null;
}

type ReadTable = RemoteTable & { readonly shapes: readonly { readonly name: string }[] };

/** The rows that the origin last confirmed. */
export function confirmedRows({ target, twoWay }: Pick<RemoteTable, 'target' | 'twoWay'>): RowTarget {
  return twoWay === null ? target : baseTarget(target);
}

export interface RemoteOrder {
  /** Stamp of now. */
  readonly at: string;
  /** Rows that were read, or are changed, outside of a sweep: no page vouches for them. */
  readonly offPage: readonly number[];
}

/** Stores rows as the origin returned them; returns how many were new and how many changed there. */
export function storeRemoteRows(
  tx: Tx,
  { target, twoWay }: RemoteTable,
  rows: readonly Row[],
  { at, offPage }: RemoteOrder,
): RowChanges {
  if (offPage.length > 0) suspectPushedRows(tx, target.id, offPage);
  if (rows.length === 0) return { insertedCount: 0, updatedCount: 0 };
  if (twoWay === null) return upsertRows(tx, target, rows);
  const { table, policy } = twoWay;
  const ids = rows.map(({ id }) => id);
  const edited = new Set(readDifferingIds(tx, table, ids));
  const unedited = edited.size === 0 ? rows : rows.filter(({ id }) => !edited.has(id));
  const plain = storeUnedited(tx, table, unedited);
  if (edited.size === 0) return plain;
  const remoteById = new Map(rows.map((row) => [row.id, row]));
  const rules = { columns: table.columns, policy, isSent: false, reason: '' };
  const outcomes = readRowFacts(tx, table, [...edited]).map((facts) =>
    decideRemote(facts, remoteById.get(facts.id) ?? null, rules),
  );
  const merged = applyOutcome(tx, table, { outcomes, nowMs: Date.parse(at) });
  return {
    insertedCount: plain.insertedCount + merged.insertedCount,
    updatedCount: plain.updatedCount + merged.updatedCount,
  };
}

function storeUnedited(tx: Tx, table: TwoWayTable, rows: readonly Row[]): RowChanges {
  const changes = upsertRows(tx, baseTarget(table), rows);
  if (changes.insertedCount + changes.updatedCount === 0) return changes;
  // They were equal before, so those that differ are the changed ones.
  const ids = rows.map(({ id }) => id);
  copyFromBase(tx, table, readDifferingIds(tx, table, ids));
  return changes;
}

/** Stores rows that the origin took, as it returned them. Here they are as sent; `known` are their bases until now. */
export function storeTaken(
  tx: Tx,
  table: TwoWayTable,
  rows: readonly Row[],
  {
    at,
    known,
    sent,
  }: { readonly at: string; readonly known: ReadonlyMap<number, Row>; readonly sent: ReadonlySet<number> },
): void {
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  const changed = changedAmong(rows, known).union(sent);
  const indexes = [...table.columns.keys()].filter((index) => changed.has(index));
  const narrow = { ...table, columns: table.columns.filter((_column, index) => changed.has(index)) };
  const bases = rows.map(({ id, allow, values }) => ({
    id,
    allow,
    values: indexes.map((index) => values[index] ?? null),
  }));
  writeRows(tx, baseTarget(narrow), bases);
  copyFromBase(tx, narrow, ids);
  applyEvent(tx, table.id, ids, { event: 'accepted', at });
  forgetRefusals(tx, table.id, ids);
  suspectPushedRows(tx, table.id, ids);
}

/** Deletes missing rows, with evidence; their edits become conflicts. Returns how many the origin had confirmed. */
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
    keepEvidence(tx, target, [...readRowsById(tx, target, unedited).values()], { reason, at });
    if (twoWay !== null) removeRows(tx, baseTarget(target), unedited);
    count = removeRows(tx, target, unedited);
    forgetGone(tx, target.id, unedited);
    if (count > 0) addToRowCount(tx, target.id, -count);
  }
  if (twoWay === null || edited.size === 0) return count;
  const { table, policy } = twoWay;
  const rules = { columns: table.columns, policy, isSent: false, reason };
  // A row without a base was inserted under this id by another client, and the origin never had it.
  const known = readRowFacts(tx, table, [...edited]).filter(({ base }) => base !== null);
  const outcomes = known.map((facts) => decideRemote(facts, null, rules));
  applyOutcome(tx, table, { outcomes, nowMs: Date.parse(at) });
  return count + known.length;
}

/** Stores a page as the origin returned it, and which of its rows could not be read. */
export function storeAnswer(
  tx: Tx,
  table: ReadTable,
  { rows: readable, ids, unreadable }: RowPage,
  order: RemoteOrder,
): RowChanges {
  storeUnreadable(tx, table.target.id, { ids, unreadable }, order.at);
  const rows = unreadable.length === 0 ? readable : [...readable, ...readableParts(tx, table, unreadable)];
  const changes = storeRemoteRows(tx, table, rows, order);
  storeRowColors(tx, table.target, rows);
  return changes;
}

/** Rows of a mirror, their one unreadable cell as it was. Never with a base: an empty cell might be pushed. */
function readableParts(tx: Tx, table: ReadTable, unreadable: readonly UnreadableRow[]): readonly Row[] {
  const { target, shapes } = table;
  if (readTable(tx, target.id).push !== 'off') return [];
  const ids = unreadable.map(({ id }) => id);
  const known = readRowsById(tx, target, ids);
  return unreadable.flatMap(({ id, column, rest }) => {
    if (rest === undefined) return [];
    const before = known.get(id)?.values;
    const values = rest.values.map((value, index) =>
      shapes[index]?.name === column ? (before?.[index] ?? null) : value,
    );
    return [{ ...rest, values }];
  });
}

/** Removes rows outside of the filter; returns how many. One with an edit stays: the origin still accepts it. */
export function storeOutside(tx: Tx, table: ReadTable, ids: readonly number[], at: string): number {
  const leaving = table.twoWay === null ? ids : readIdleIds(tx, table.twoWay.table, ids);
  if (leaving.length === 0) return 0;
  return storeMissingRows(tx.because('filter'), table, leaving, { reason: 'filtered', at });
}

/** The given rows without an edit that waits, is on its way, or is parked. */
function readIdleIds(from: Connection, table: TwoWayTable, ids: readonly number[]): readonly number[] {
  const differing = readVersions(from, table, readDifferingIds(from, table, ids));
  const edited = differing.flatMap(({ id, base, local }) => (isChanged(base, local, table.columns) ? [id] : []));
  const busy = new Set([...edited, ...readRowStates(from, table.id, ids).keys()]);
  return ids.filter((id) => !busy.has(id));
}
