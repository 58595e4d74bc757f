/**
 * Writes the origin's rows into a two-way table: base, local, conflicts and marks, in the transaction of the caller (I6). Unedited rows take a fast
 * path; the others go through reconcile/merge.ts. Comparing a row with its base shows whether it was edited, not its mark. Pull calls it with rows of
 * pages, push with rows that it sent.
 */
import {
  hasLostEdit,
  isChanged,
  mergeRow,
  type ConflictPolicy,
  type MergeDecision,
  type RowVersions,
} from '../reconcile/merge.ts';
import type { RowEvent } from '../reconcile/row-state.ts';
import { baseTarget, readDifferingIds } from '../replica/compare.ts';
import type { Tx } from '../replica/connection.ts';
import { carryOwnCells, readOwnCells } from '../replica/own-columns.ts';
import { addToRowCount } from '../replica/bookkeeping/tables.ts';
import {
  copyRows,
  deleteRows,
  forgetGone,
  keepEvidence,
  removeRows,
  upsertRows,
  writeRows,
  type RowChanges,
} from '../replica/rows.ts';
import type { Row } from '../wire/schema.ts';
import { makeRoom, readVersions } from './changes.ts';
import { storeConflicts } from './conflicts.ts';
import { moveRows, readRowStates, renumberRow } from './marks.ts';
import { settleQuestions } from './questions.ts';
import { putRawBack, readRawTexts } from './raw-text.ts';
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
  const edited = new Set(readDifferingIds(tx, table, ids));
  if (edited.size === 0) return storeUnedited(tx, table, rows);
  if (makeRoom(tx, table, [...edited], options.at)) return storeRemoteRows(tx, table, rows, options); // once: now there is room
  const unedited = storeUnedited(
    tx,
    table,
    rows.filter(({ id }) => !edited.has(id)),
  );
  const remoteById = new Map(rows.map((row) => [row.id, row]));
  const versions = readVersions(tx, table, [...edited]);
  const merged = versions.map((row) => ({ ...row, remote: remoteById.get(row.rowId) ?? null }));
  const { changes } = mergeRows(tx, table, merged, { ...options, isSent: false, reason: '' });
  return {
    insertedCount: unedited.insertedCount + changes.insertedCount,
    updatedCount: unedited.updatedCount + changes.updatedCount,
  };
}

function storeUnedited(tx: Tx, table: TwoWayTable, rows: readonly Row[]): RowChanges {
  const changes = upsertRows(tx, baseTarget(table), rows);
  if (changes.insertedCount + changes.updatedCount > 0) writeRows(tx, table, rows);
  return changes;
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
  removeRows(tx, baseTarget(table), unedited);
  const deletedCount = deleteRows(tx, table, unedited, options);
  // A row without a base was inserted under this id by another client, and the origin never had it.
  const known = readVersions(tx, table, edited).filter(({ base }) => base !== null);
  const gone = known.map((row) => ({ ...row, remote: null }));
  mergeRows(tx, table, gone, { ...options, isSent: false });
  return deletedCount + gone.length;
}

/** The given rows without an edit that waits, is on its way, or is parked. */
export function readIdleIds(tx: Tx, table: TwoWayTable, ids: readonly number[]): readonly number[] {
  const differing = readVersions(tx, table, readDifferingIds(tx, table, ids));
  const edited = differing.flatMap(({ rowId, base, local }) => (isChanged(base, local, table.columns) ? [rowId] : []));
  const busy = new Set([...edited, ...readRowStates(tx, table.id, ids).keys()]);
  return ids.filter((id) => !busy.has(id));
}

/** A row to merge, with the `base` for the merge. If the origin's id is another one, no row has it here. */
export interface RowToMerge extends RowVersions {
  readonly rowId: number;
}

/** How such rows are merged. */
export interface MergeRowsOptions extends MergeOptions {
  /** Whether the rows were sent, and their answer is known. */
  readonly isSent: boolean;
  /** The reason in `sync_deleted` for rows that the origin does not have. */
  readonly reason: string;
}

/** The result for a row. */
export interface MergedRow extends RowToMerge {
  /** The id that it has now: the origin's, once it has the row. */
  readonly newId: number;
  readonly decision: MergeDecision;
}

const EVENTS: Readonly<Record<'sent' | 'unsent', Readonly<Record<MergeDecision['state'], RowEvent>>>> = {
  sent: { settled: 'accepted', changed: 'acceptedEdited', parked: 'conflicted' },
  unsent: { settled: 'settled', changed: 'changed', parked: 'conflicted' },
};

/** Merges rows, and writes base, local, conflicts and marks. Returns the result of each in order, and the changes of the base. */
export function mergeRows(
  tx: Tx,
  table: TwoWayTable,
  rows: readonly RowToMerge[],
  options: MergeRowsOptions,
): { readonly merged: readonly MergedRow[]; readonly changes: RowChanges } {
  const merged = rows.map((row): MergedRow => ({
    ...row,
    newId: row.remote?.id ?? row.rowId,
    decision: mergeRow(row, table.columns, options.policy),
  }));
  const changes = writeBases(tx, table, merged);
  writeLocals(tx, table, merged, options);
  noteOutcomes(tx, table, merged, options);
  return { merged, changes };
}

/** The base is what the origin says now. */
function writeBases(tx: Tx, table: TwoWayTable, merged: readonly MergedRow[]): RowChanges {
  const base = baseTarget(table);
  const changes = upsertRows(
    tx,
    base,
    merged.flatMap(({ remote }) => remote ?? []),
  );
  const gone = merged.flatMap(({ rowId, remote }) => (remote === null && rowId > 0 ? [rowId] : []));
  if (gone.length > 0) {
    addToRowCount(tx, table.id, -removeRows(tx, base, gone));
    forgetGone(tx, table.id, gone);
  }
  return changes;
}

function writeLocals(
  tx: Tx,
  table: TwoWayTable,
  merged: readonly MergedRow[],
  { reason, at, isSent }: Omit<MergeRowsOptions, 'policy'>,
): void {
  const lost = merged.flatMap(({ remote, base, local, decision }) => {
    const last = local ?? (isSent ? null : base);
    return remote === null && last !== null && decision.local === null ? [last] : [];
  });
  keepEvidence(tx, table, lost, { reason, at });
  const isRenumbered = ({ rowId, newId }: MergedRow): boolean => rowId !== newId;
  const renumbered = merged.filter(isRenumbered).map(({ rowId }) => rowId);
  const ownById = readOwnCells(tx, table, renumbered);
  const isLeaving = (row: MergedRow): boolean => isRenumbered(row) || row.decision.local === null;
  // A settled row equals its base, and SQLite copies it faster than it binds the same values again.
  const isCopy = ({ decision: { state, local } }: MergedRow): boolean => state === 'settled' && local !== null;
  const rewritten = merged.filter((row) => row.decision.local !== null && !isCopy(row));
  const raw = new Map(rewritten.map((row) => [row.newId, readRawTexts(tx, table, row.local)]));
  const leaving = merged.filter(isLeaving).map(({ rowId }) => rowId);
  if (leaving.length > 0) removeRows(tx, table, leaving);
  const copied = merged.filter(isCopy).map(({ newId }) => newId);
  if (copied.length > 0) copyRows(tx, { from: baseTarget(table), to: table }, copied);
  const written = rewritten.flatMap(({ newId, decision: { local } }) =>
    local === null ? [] : [{ ...local, id: newId }],
  );
  writeRows(tx, table, written);
  for (const row of written) putRawBack(tx, table, row, raw.get(row.id) ?? []);
  for (const row of merged.filter(isRenumbered)) {
    if (row.decision.local !== null) carryOwnCells(tx, table, row.newId, ownById.get(row.rowId));
  }
}

/** Conflicts, marks, and the ids under which both are kept. */
function noteOutcomes(tx: Tx, table: TwoWayTable, merged: readonly MergedRow[], options: MergeRowsOptions): void {
  const events = EVENTS[options.isSent ? 'sent' : 'unsent'];
  const idsByEvent = new Map<RowEvent, number[]>();
  for (const row of merged) {
    const { rowId, newId, decision } = row;
    if (newId !== rowId) renumberRow(tx, table.id, rowId, newId);
    const { conflicts } = decision;
    if (conflicts.length > 0) storeConflicts(tx, table, { rowId: newId, conflicts, at: options.at });
    const known = events[decision.state];
    const event = known === 'changed' && hasLostEdit(row, decision, table.columns) ? 'localEdit' : known;
    const ids = idsByEvent.get(event);
    if (ids === undefined) idsByEvent.set(event, [newId]);
    else ids.push(newId);
  }
  const ids = merged.map(({ newId }) => newId);
  const states = readRowStates(tx, table.id, ids);
  for (const [event, moved] of idsByEvent) moveRows(tx, table.id, moved, { event, at: options.at }, states);
  // Only rows with an open question may have one to close.
  const isAsked = [...states.values()].some((state) => state === 'conflicted' || state === 'inDoubt');
  if (isAsked || merged.some(({ decision }) => decision.conflicts.length > 0)) settleQuestions(tx, table, options.at);
}
