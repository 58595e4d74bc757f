/**
 * Writing what the origin says of rows into a two-way table: base, local, conflicts and marks, in the transaction of the caller
 * (I6). Rows that nobody edited take the fast way; the others go through reconcile/merge.ts, one by one. Whether somebody edited a
 * row is found by comparing it with its base, whatever the marks say. Rows that wait for an answer are left alone: push looks
 * them up and merges them against the values that it sent (I12).
 */
import { isSameRow } from '../reconcile/diff.ts';
import {
  hasLostEdit,
  mergeRow,
  type ConflictPolicy,
  type MergeDecision,
  type RowVersions,
} from '../reconcile/merge.ts';
import { isInFlight, type RowState } from '../reconcile/row-state.ts';
import { baseTarget, readDifferingIds } from '../replica/compare.ts';
import { losesFile, rowAsNew } from '../reconcile/uploads.ts';
import { carryOwnCells, readOwnCells } from '../replica/own-columns.ts';
import type { Tx } from '../replica/connection.ts';
import {
  deleteRows,
  forgetGone,
  keepEvidence,
  readKept,
  removeRows,
  upsertRows,
  writeRows,
  addToRowCount,
  carryKept,
  type RowChanges,
} from '../replica/rows.ts';
import type { Row } from '../wire/schema.ts';
import { makeRoom, readVersions } from './changes.ts';
import { storeConflicts } from './conflicts.ts';
import { doubtLateCreate, isFromOlderCopy } from './doubt.ts';
import { moveRows, readRowStates, renumberRow, takeLocalId } from './marks.ts';
import { settleQuestions } from './questions.ts';
import { readRawTexts, writeKeepingRaw } from './raw-text.ts';
import type { TwoWayTable } from './table.ts';

/** How rows of an answer are merged. */
export interface MergeOptions {
  readonly policy: ConflictPolicy;
  /** Stamp of now. */
  readonly at: string;
}

/** Stores rows as the origin returned them; returns how many were new and how many changed at the origin. */
export function storeRemoteRows(tx: Tx, table: TwoWayTable, rows: readonly Row[], options: MergeOptions): RowChanges {
  const ids = rows.map(({ id }) => id);
  const base = baseTarget(table);
  const { states, edited } = readEdited(tx, table, ids);
  if (edited.size === 0) return storeUnedited(tx, table, rows);
  if (makeRoom(tx, table, [...edited], options.at)) return storeRemoteRows(tx, table, rows, options); // once: now there is room
  const changes = storeUnedited(
    tx,
    table,
    rows.filter(({ id }) => !edited.has(id)),
  );
  const remoteById = new Map(rows.map((row) => [row.id, row]));
  let merged: RowChanges = changes;
  let waitingCount = 0;
  for (const { rowId, base: before, local } of readVersions(tx, table, [...edited])) {
    const remote = remoteById.get(rowId) ?? null;
    if (remote === null) continue; // cannot be: the ids are theirs
    if (isInFlight(states.get(rowId) ?? 'clean')) {
      if (before === null || !isSameRow(before, remote)) waitingCount += 1;
      continue;
    }
    const counts = upsertRows(tx, base, [remote]);
    merged = {
      insertedCount: merged.insertedCount + counts.insertedCount,
      updatedCount: merged.updatedCount + counts.updatedCount,
    };
    applyDecision(tx, table, { rowId, local, base: before, remote }, options);
  }
  settleQuestions(tx, table, options.at);
  return { ...merged, waitingCount };
}

function storeUnedited(tx: Tx, table: TwoWayTable, rows: readonly Row[]): RowChanges {
  const changes = upsertRows(tx, baseTarget(table), rows);
  if (changes.insertedCount + changes.updatedCount > 0) writeRows(tx, table, rows);
  return changes;
}

/**
 * Deletes rows that the origin proved to be gone, with their last values as evidence; edited ones are merged. Returns how many the
 * origin had confirmed. Rows that wait for an answer stay suspects, and are asked for again.
 */
export function storeMissingRows(
  tx: Tx,
  table: TwoWayTable,
  ids: readonly number[],
  options: MergeOptions & { readonly reason: string },
): number {
  const { at, reason } = options;
  const { states, edited } = readEdited(tx, table, ids);
  const unedited = ids.filter((id) => !edited.has(id));
  removeRows(tx, baseTarget(table), unedited);
  let deletedCount = deleteRows(tx, table, unedited, { reason, at });
  for (const { rowId, base, local } of readVersions(tx, table, [...edited])) {
    if (isInFlight(states.get(rowId) ?? 'clean')) continue;
    forgetGone(tx, table.id, [rowId]);
    if (base === null) continue; // inserted here, and unknown there still
    keepEvidence(tx, table, [local ?? base], { reason, at });
    removeRows(tx, baseTarget(table), [rowId]);
    addToRowCount(tx, table.id, -1);
    deletedCount += 1;
    applyDecision(tx, table, { rowId, local, base, remote: null }, options);
  }
  settleQuestions(tx, table, options.at);
  return deletedCount;
}

/**
 * Which rows may say something else than their base, with the states of all. What was sent and edited back since looks like what nobody
 * edited; the answer to it may be here before it is settled.
 */
function readEdited(
  tx: Tx,
  table: TwoWayTable,
  ids: readonly number[],
): { readonly states: ReadonlyMap<number, RowState>; readonly edited: ReadonlySet<number> } {
  const states = readRowStates(tx, table.id, ids);
  const sent = ids.filter((id) => isInFlight(states.get(id) ?? 'clean'));
  return { states, edited: new Set([...readDifferingIds(tx, table, ids), ...sent]) };
}

/** Merges one edited row whose base table row the caller has brought up to date, and writes local, conflicts and mark. */
function applyDecision(
  tx: Tx,
  table: TwoWayTable,
  { rowId, ...versions }: RowVersions & { readonly rowId: number },
  { policy, at }: MergeOptions,
): void {
  const decision = mergeRow(versions, table.columns, policy);
  const isOlder = isFromOlderCopy(tx, table.id, rowId);
  const isReplaced = versions.remote === null && table.keptColumns.length > 0;
  const kept = isReplaced ? readKept(tx, table, [rowId]).get(rowId) : undefined;
  const newId = writeLocal(tx, table, { rowId, before: versions.local }, decision);
  if (newId !== rowId) carryKept(tx, table, newId, kept);
  storeConflicts(tx, table, { rowId: newId, conflicts: decision.conflicts, at, kept });
  const isMended =
    decision.state === 'changed' &&
    (hasLostEdit(versions, decision, table.columns) ||
      losesFile({ ...decision, before: versions.base }, table.columns));
  const byState = { settled: 'settled', changed: isMended ? 'localEdit' : 'changed', parked: 'conflicted' } as const;
  const event = byState[decision.state];
  moveRows(tx, table.id, [newId], { event, at });
  // Edited here and deleted there: after a restore it may have become a new row there before.
  if (isOlder && newId < 0) doubtLateCreate(tx, table, newId, at);
}

/** Writes the local row of a decision; one that the origin no longer knows gets an id of ours. Returns the row's id. */
function writeLocal(
  tx: Tx,
  table: TwoWayTable,
  { rowId, before }: { readonly rowId: number; readonly before: Row | null },
  { local, base }: MergeDecision,
): number {
  if (local === null) {
    removeRows(tx, table, [rowId]);
    return rowId;
  }
  const isLost = base === null && rowId > 0;
  const id = isLost ? takeLocalId(tx, table.id) : local.id;
  const raw = readRawTexts(tx, table, before);
  const own = readOwnCells(tx, table, id === rowId ? [] : [rowId]);
  if (id !== rowId) {
    removeRows(tx, table, [rowId]);
    renumberRow(tx, table.id, rowId, id);
  }
  const row = isLost ? rowAsNew(local, id, table.columns) : { ...local, id };
  writeKeepingRaw(tx, table, row, raw);
  if (id !== rowId) carryOwnCells(tx, table, id, own.get(rowId));
  return id;
}
