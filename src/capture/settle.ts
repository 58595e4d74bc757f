/**
 * Settling rows that a push looked up, read back or found: base, local, id, conflicts and marks, in the transaction of the
 * caller. Each row is merged once (reconcile/merge.ts), from a base that the caller decided (reconcile/push-settle.ts), so
 * that an edit made while the row was in flight stays a change (I12). A row that the origin knows under another id takes that
 * id, also where a pull has brought that row in meanwhile.
 */
import { isChanged, mergeRow, type Conflict, type ConflictPolicy, type MergeDecision } from '../reconcile/merge.ts';
import { isSameValue } from '../reconcile/diff.ts';
import type { SentCell } from '../reconcile/push-plan.ts';
import type { RowEvent } from '../reconcile/row-state.ts';
import { rowAsNew } from '../reconcile/uploads.ts';
import { baseTarget } from '../replica/compare.ts';
import type { Tx } from '../replica/connection.ts';
import {
  addToRowCount,
  carryKept,
  copyRows,
  keepEvidence,
  readKept,
  removeRows,
  upsertRows,
  writeRows,
  type Pair,
} from '../replica/rows.ts';
import { carryOwnCells, readOwnCells } from '../replica/own-columns.ts';
import { suspectNewRows, suspectPushedRows } from '../replica/pages.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { makeRoom, readVersions } from './changes.ts';
import { hasOpenConflict, storeConflicts, storeKeptOfNew } from './conflicts.ts';
import { doubtLateCreate, isFromOlderCopy } from './doubt.ts';
import { moveRows, renumberRow, takeLocalId } from './marks.ts';
import { settleQuestions } from './questions.ts';
import { putRawBack, readRawTexts } from './raw-text.ts';
import type { TwoWayTable } from './table.ts';

/** A row as the origin last confirmed it and as it stands here, at the time when it is settled. */
export interface VersionsNow {
  readonly base: Row | null;
  readonly local: Row | null;
}

/** A row and what the origin says of it. */
export interface RowToSettle {
  /** The id that it has here. */
  readonly rowId: number;
  /** What to merge with; null for a row that had no base. */
  readonly base: (now: VersionsNow) => Row | null;
  /** As the origin has it; null where it has no such row. */
  readonly remote: Row | null;
  /** The cells as they were sent; absent for a row that was not. Whatever differs from them was edited since. */
  readonly sent?: readonly SentCell[] | undefined;
  /** Conflicts that the caller knows of besides those of the merge; `there` is what stands here under the origin's id. */
  readonly known?: ((now: VersionsNow, there: VersionsNow) => readonly Conflict[]) | undefined;
}

/** What became of a settled row. */
export interface SettledRow {
  /** The id that it had here. */
  readonly rowId: number;
  /** The id that it has now. */
  readonly newId: number;
  readonly state: MergeDecision['state'];
  readonly conflictCount: number;
}

/** How rows are settled. */
export interface SettleOptions {
  readonly policy: ConflictPolicy;
  /** Stamp of now. */
  readonly at: string;
  /** Whether the rows were sent (marked sending or unknown), or are about to be (edited). */
  readonly isSent: boolean;
  /** Why rows that the origin does not have go, for `sync_deleted`. */
  readonly reason: string;
}

const EVENTS: Readonly<Record<'sent' | 'unsent', Readonly<Record<MergeDecision['state'], RowEvent>>>> = {
  sent: { settled: 'accepted', changed: 'acceptedEdited', parked: 'conflicted' },
  unsent: { settled: 'settled', changed: 'changed', parked: 'conflicted' },
};

/** Settles rows; returns what became of each, in their order. */
export function settleRows(
  tx: Tx,
  table: TwoWayTable,
  rows: readonly RowToSettle[],
  options: SettleOptions,
): readonly SettledRow[] {
  const merged = mergeAll(tx, table, rows, options);
  const base = baseTarget(table);
  upsertRows(
    tx,
    base,
    merged.flatMap(({ remote }) => remote ?? []),
  );
  const created = merged.flatMap(({ remote, isNewThere }) => (remote !== null && isNewThere ? [remote.id] : []));
  if (created.length > 0) suspectNewRows(tx, table.id, created);
  // Pages may still show the row under the id that it had, also where the origin made another one of it.
  const known = merged.flatMap(({ rowId, remote, isNewThere, hadBase }) => [
    ...(hadBase || !isNewThere ? [rowId] : []),
    ...(remote === null || isNewThere ? [] : [remote.id]),
  ]);
  suspectPushedRows(
    tx,
    table.id,
    known.filter((id) => id > 0),
  );
  const unbased = merged.filter(({ rowId, remote, hadBase }) => hadBase && remote?.id !== rowId);
  const unbasedIds = unbased.map(({ rowId }) => rowId);
  if (unbasedIds.length > 0) addToRowCount(tx, table.id, -removeRows(tx, base, unbasedIds));
  keepEvidence(
    tx,
    table,
    merged.flatMap(({ remote, last, decision }) => (remote === null && decision.local === null ? (last ?? []) : [])),
    { reason: options.reason, at: options.at },
  );
  const replaced = merged.flatMap(({ rowId, newId }) => (newId === rowId ? [] : [rowId]));
  const keptById = readKept(tx, table, table.keptColumns.length === 0 ? [] : replaced);
  const ownById = readOwnCells(tx, table, replaced);
  const rawById = new Map(merged.map(({ newId, last }) => [newId, readRawTexts(tx, table, last)]));
  const leaving = merged.flatMap(({ rowId, newId, decision: { local } }) => [
    ...(rowId !== newId || local === null ? [rowId] : []),
    // Deleted under the id that it had here, and brought in under the origin's by a pull.
    ...(rowId !== newId && local === null ? [newId] : []),
  ]);
  if (leaving.length > 0) removeRows(tx, table, leaving);
  // A settled row is its base; SQLite copies it faster than it takes the same values from here a second time.
  const isCopy = ({ decision: { state, local } }: MergedRow): boolean => state === 'settled' && local !== null;
  const copied = merged.filter(isCopy).map(({ newId }) => newId);
  if (copied.length > 0) copyRows(tx, { from: base, to: table }, copied);
  const written = merged.flatMap((row) => {
    const { local } = row.decision;
    if (local === null || isCopy(row)) return [];
    return row.newId < 0 ? rowAsNew(local, row.newId, table.columns) : { ...local, id: row.newId };
  });
  writeRows(tx, table, written);
  for (const { rowId, newId } of merged) if (newId < 0) carryKept(tx, table, newId, keptById.get(rowId));
  for (const { rowId, newId } of merged) if (newId !== rowId) carryOwnCells(tx, table, newId, ownById.get(rowId));
  for (const row of written) putRawBack(tx, table, row, rawById.get(row.id) ?? []);
  noteOutcomes(tx, table, merged, { ...options, keptById });
  return merged.map(({ rowId, newId, decision, conflicts }) => {
    return { rowId, newId, state: decision.state, conflictCount: conflicts.length };
  });
}

interface MergedRow {
  readonly rowId: number;
  readonly newId: number;
  readonly remote: Row | null;
  readonly hadBase: boolean;
  /** No pull has seen the row yet. */
  readonly isNewThere: boolean;
  /** The row as it stood here, while there was one. */
  readonly last: Row | null;
  readonly decision: MergeDecision;
  readonly conflicts: readonly Conflict[];
}

const NOWHERE: VersionsNow = { base: null, local: null };

function mergeAll(
  tx: Tx,
  table: TwoWayTable,
  rows: readonly RowToSettle[],
  { policy, at }: SettleOptions,
): readonly MergedRow[] {
  const given = rows.flatMap(({ rowId, remote }) => (remote === null || remote.id === rowId ? [] : [remote.id]));
  makeRoom(tx, table, given, at);
  const ids = new Set(rows.flatMap(({ rowId, remote }) => (remote === null ? [rowId] : [rowId, remote.id])));
  const versions = new Map(readVersions(tx, table, [...ids]).map((version) => [version.rowId, version]));
  return rows.map(({ rowId, remote, sent, ...row }) => {
    const own = versions.get(rowId) ?? NOWHERE;
    const twin = remote === null || remote.id === rowId ? undefined : versions.get(remote.id);
    const known = row.known?.(own, twin ?? own) ?? [];
    const { base, local, lost } = withTwin(table, { base: row.base(own), local: own.local, sent, remote }, twin);
    const decision = mergeRow({ base, local, remote }, table.columns, policy);
    // The origin forgot the row, and here it goes on: as a new one.
    const isLost = decision.local !== null && decision.base === null && rowId > 0;
    return {
      rowId,
      newId: isLost ? takeLocalId(tx, table.id) : (remote?.id ?? rowId),
      remote,
      hadBase: own.base !== null,
      isNewThere: (twin ?? own).base === null,
      last: own.local,
      decision,
      conflicts: [...known.filter((conflict) => isLeft(conflict, decision)), ...lost, ...decision.conflicts],
    };
  });
}

/** Whether a conflict that the caller knows of is one: a delete is none where the merge judged it, or brought the row back. */
function isLeft({ kind }: Conflict, { local, conflicts }: MergeDecision): boolean {
  return kind !== 'deletedHere' || (local === null && conflicts.length === 0);
}

interface OwnRow {
  readonly base: Row | null;
  readonly local: Row | null;
  readonly sent: readonly SentCell[] | undefined;
  readonly remote: Row | null;
}

/**
 * The row that was sent, and the same row as a pull brought it in under the origin's id: an edit of either one counts. Where both
 * were edited, the one under the origin's id is taken, since people see it as the row that is there; the other is kept (I2). What is done
 * under that id is done to what the pull brought, so that is its base: a default that was seen is in no conflict with what is written over it.
 */
function withTwin(
  { columns }: TwoWayTable,
  own: OwnRow,
  twin: VersionsNow | undefined,
): { readonly base: Row | null; readonly local: Row | null; readonly lost: readonly Conflict[] } {
  const { base, local } = own;
  if (twin === undefined || (twin.base === null && twin.local === null)) return { base, local, lost: [] };
  const there = twin.local;
  // Deleted here under the id that the pull gave it; an edit under the first one may be newer than that, and is not lost for it.
  if (there === null) {
    const goesOn = columns.some(({ type }, column) => isEditedSince(own, column, type));
    return goesOn ? { base, local, lost: [] } : { base: twin.base, local: null, lost: [] };
  }
  // Deleted under its first id; an edit under the other one is newer than that, since the pull came in between.
  // It is an edit of what that pull saw, not of what the origin says by now.
  if (local === null) {
    const goesOn = isChanged(twin.base, there, columns);
    return goesOn ? { base: twin.base, local: there, lost: [] } : { base, local: null, lost: [] };
  }
  const lost: Conflict[] = [];
  const seen = base?.values.slice() ?? columns.map((): Value => null);
  const values = local.values.map((value, column): Value => {
    const type = columns[column]?.type ?? 'Text';
    const edited = there.values[column] ?? null;
    const before = twin.base?.values[column] ?? null;
    if (isSameValue(type, edited, before) || isSameValue(type, edited, value)) return value;
    if (isEdited(own, column, type)) {
      lost.push({ kind: 'cell', column, base: before, local: value, remote: edited, winner: 'origin' });
    }
    // What the origin made of the value that was sent is no edit of anybody else's, whichever came first.
    if (!isSameValue(type, own.remote?.values[column] ?? null, seen[column] ?? null)) seen[column] = before;
    return edited;
  });
  return { base: { ...(base ?? there), values: seen }, local: { ...local, values }, lost };
}

/** Whether a cell says something else than what is taken for confirmed: edited, or sent and not taken. */
function isEdited({ base, local }: OwnRow, column: number, type: ColumnType): boolean {
  return local !== null && !isSameValue(type, local.values[column] ?? null, base?.values[column] ?? null);
}

/** Whether a cell was edited since it was sent; where it was not, since it was confirmed. */
function isEditedSince(own: OwnRow, column: number, type: ColumnType): boolean {
  const cell = own.sent?.find((sent) => sent.column === column);
  if (cell === undefined) return isEdited(own, column, type);
  return own.local !== null && !isSameValue(type, own.local.values[column] ?? null, cell.value);
}

/** Conflicts, marks and the ids under which both are kept. */
function noteOutcomes(
  tx: Tx,
  table: TwoWayTable,
  merged: readonly MergedRow[],
  options: SettleOptions & { readonly keptById: ReadonlyMap<number, readonly Pair[]> },
): void {
  const events = EVENTS[options.isSent ? 'sent' : 'unsent'];
  const idsByEvent = new Map<RowEvent, number[]>();
  for (const { rowId, newId, hadBase, decision, conflicts } of merged) {
    if (newId !== rowId) renumberRow(tx, table.id, rowId, newId);
    const kept = options.keptById.get(rowId);
    if (!hadBase && kept !== undefined) storeKeptOfNew(tx, table, { rowId: newId, kept, at: options.at });
    if (conflicts.length > 0) storeConflicts(tx, table, { rowId: newId, conflicts, at: options.at, kept });
    // A question about the row that a pull brought in under this id is one about both.
    const isAsked = newId !== rowId && decision.state === 'changed' && hasOpenConflict(tx, table.id, newId);
    const event = events[isAsked ? 'parked' : decision.state];
    idsByEvent.set(event, [...(idsByEvent.get(event) ?? []), newId]);
  }
  for (const [event, ids] of idsByEvent) moveRows(tx, table.id, ids, { event, at: options.at });
  // Sent and deleted there: after a restore it may have become a new row there before.
  const lost = merged.flatMap(({ rowId, newId }) => (newId < 0 && newId !== rowId ? [newId] : []));
  for (const id of lost) if (isFromOlderCopy(tx, table.id, id)) doubtLateCreate(tx, table, id, options.at);
  settleQuestions(tx, table, options.at);
}
