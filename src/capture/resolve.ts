/**
 * Carrying out what a person decides about a conflict or an edit: by `rowsync resolve` and `rowsync discard`, or by SQL on `sync_conflicts`. Any
 * version that was kept can be taken, also long after a policy decided otherwise; taking one is an edit like any other, and goes
 * to the origin with the next push. What cannot be done is returned in words, and nothing is changed then.
 */
import { isSameValue } from '../reconcile/diff.ts';
import { isChanged } from '../reconcile/merge.ts';
import { isInFlight } from '../reconcile/row-state.ts';
import { isGivenThere, lockedEdit, valuesTaken } from '../reconcile/taken.ts';
import { valuePutBack } from '../reconcile/uploads.ts';
import { attempt } from '../replica/attempt.ts';
import { readOlderConflicts } from '../replica/copies.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { readKeptRow } from '../replica/kept-rows.ts';
import { findTable } from '../replica/ledger.ts';
import {
  carryKept,
  evidenceText,
  removeRows,
  storedFromValue,
  valueFromStored,
  writeRows,
  type Stored,
} from '../replica/rows.ts';
import { numericFromText } from '../wire/decimal.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { diffRows, readAllChanges, readVersions } from './changes.ts';
import {
  closeConflict,
  hasOpenConflict,
  keptValues,
  readConflict,
  readWishes,
  storeLocalVersion,
  storeDiscarded,
  type Resolution,
  type StoredConflict,
} from './conflicts.ts';
import { doubtLateCreate, isFromOlderCopy } from './doubt.ts';
import { moveRows, readRowStates, renumberRow, takeLocalId } from './marks.ts';
import { putBackToBase } from './mode.ts';
import { settleQuestions } from './questions.ts';
import { readRawTexts, writeKeepingRaw } from './raw-text.ts';
import { findTwoWayTable, type TwoWayTable } from './table.ts';

/** What a person takes; `value` counts only with `take: 'value'`. */
export interface Decision {
  readonly take: Resolution;
  readonly value: Stored;
}

/** Carries out what was decided by SQL; what cannot be done is said in `sync_conflicts`. */
export function carryOutWishes(tx: Tx, table: TwoWayTable, at: string): void {
  for (const { id } of readWishes(tx, table.id)) {
    // Read again, since the wish before may have given the row another id.
    const conflict = readConflict(tx, id);
    if (conflict === null || conflict.resolution === null) continue; // the statement leaves these out
    const problem = decide(tx, table, { conflict, take: conflict.resolution, value: conflict.value }, at);
    if (problem !== null) closeConflict(tx, conflict.id, { problem });
  }
}

/** Says of what was decided by SQL why it is not carried out: once the table is two-way again, it might surprise. */
export function refuseWishes(tx: Tx, tableId: number): void {
  for (const { id } of readWishes(tx, tableId)) closeConflict(tx, id, { problem: whyNot(tx, tableId) });
}

/** Carries out one decision. @returns why it cannot be done, or null when it was. */
export function resolveConflict(tx: Tx, id: number, decision: Decision, at: string): string | null {
  const conflict = readConflict(tx, id);
  if (conflict === null) return `there is no conflict ${id}`;
  const table = findTwoWayTable(tx, conflict.tableId);
  if (table === null) return whyNot(tx, conflict.tableId);
  return decide(tx, table, { ...decision, conflict }, at);
}

/** Puts one row back to what the origin last confirmed; its edits are kept. @returns why it cannot be done, or null. */
export function discardRow(tx: Tx, table: TwoWayTable, rowId: number, at: string): string | null {
  const [change] = diffRows(tx, table, [rowId]);
  if (change === undefined) return `row ${rowId} of ${table.localName} has no edit that the origin does not have`;
  if (isInFlight(change.state)) return `row ${rowId} of ${table.localName} ${WAITS}`;
  putBackToBase(tx, table, change, at);
  moveRows(tx, table.id, [rowId], { event: 'discarded', at });
  settleQuestions(tx, table, at);
  return null;
}

/** Puts every edited row of a table back, but for those that were sent and wait for an answer; says how many of each. */
export function discardAll(
  tx: Tx,
  table: TwoWayTable,
  at: string,
): { readonly discardedCount: number; readonly waitingCount: number } {
  const changes = [...readAllChanges(tx, table)];
  const discarded = changes.filter(({ state }) => !isInFlight(state));
  for (const change of discarded) putBackToBase(tx, table, change, at);
  const ids = discarded.map(({ rowId }) => rowId);
  moveRows(tx, table.id, ids, { event: 'discarded', at });
  settleQuestions(tx, table, at);
  return { discardedCount: ids.length, waitingCount: changes.length - ids.length };
}

/** Why nothing can be taken in a table that is not two-way; one that was pruned is not even known. */
function whyNot(from: Connection, tableId: number): string {
  return findTable(from, tableId) === null
    ? 'the table does not stand here any more'
    : 'the table is not two-way any more';
}

const WAITS = 'was sent, and waits for an answer; try again after the next run';

const GONE = 'the row was deleted here; take local to delete it at the origin too, or discard the delete first';

type Wish = Decision & { readonly conflict: StoredConflict };

function decide(tx: Tx, table: TwoWayTable, wish: Wish, at: string): string | null {
  const { conflict } = wish;
  const { rowId } = conflict;
  if (isInFlight(readRowStates(tx, table.id, [rowId]).get(rowId) ?? 'clean')) return `the row ${WAITS}`;
  const outcome = attempt(tx, () => {
    return conflict.kind === 'cell' ? decideCell(tx, table, wish, at) : decideRow(tx, table, wish, at);
  });
  if ('problem' in outcome) return outcome.problem;
  if (isAsItStands(wish)) storeLocalVersion(tx, conflict, readLocalVersion(tx, table, outcome.rowId, conflict));
  closeConflict(tx, conflict.id, { resolution: wish.take, value: wish.take === 'value' ? wish.value : null });
  if (hasOpenConflict(tx, table.id, outcome.rowId)) return null;
  const [row] = readVersions(tx, table, [outcome.rowId]);
  const event = isChanged(row?.base ?? null, row?.local ?? null, table.columns) ? 'resolved' : 'discarded';
  moveRows(tx, table.id, [outcome.rowId], { event, at });
  if (conflict.id <= readOlderConflicts(tx) || isFromOlderCopy(tx, table.id, outcome.rowId)) {
    doubtLateCreate(tx, table, outcome.rowId, at);
  }
  return null;
}

/** While a person is asked, what stands in the table is the local version, also if it was edited or deleted since. */
function isAsItStands({ conflict, take }: Wish): boolean {
  return take === 'local' && conflict.state === 'open';
}

/** What stands here of what a conflict is about, as it is kept. */
function readLocalVersion(tx: Tx, table: TwoWayTable, rowId: number, { kind, columnSeq }: StoredConflict): Stored {
  const local = readVersions(tx, table, [rowId])[0]?.local ?? null;
  if (local === null) return null;
  if (kind !== 'cell') return evidenceText(table, local);
  return storedFromValue(local.values[table.columns.findIndex(({ seq }) => seq === columnSeq)] ?? null);
}

/** The row that a decision left, or why it could not be carried out. */
type Outcome = { readonly rowId: number } | { readonly problem: string };

function decideCell(tx: Tx, table: TwoWayTable, wish: Wish, at: string): Outcome {
  const { conflict, take, value } = wish;
  const { rowId } = conflict;
  const index = table.columns.findIndex(({ seq }) => seq === conflict.columnSeq);
  const column = table.columns[index];
  const [row] = readVersions(tx, table, [rowId]);
  const local = row?.local ?? null;
  if (local === null) return isAsItStands(wish) ? { rowId } : { problem: GONE };
  if (column === undefined || !column.writable) return { problem: 'the column cannot be written any more' };
  if (isAsItStands(wish)) return { rowId };
  const taken = take === 'value' ? typedValue(column.type, value) : valueFromStored(conflict[take], column.type);
  const values = local.values.map((old, other) => (other === index ? taken : old));
  const here = local.values[index] ?? null;
  const isKept = [taken, valueFromStored(conflict.local, column.type)].some((kept) => {
    return isSameValue(column.type, here, kept);
  });
  if (!isKept) {
    keepOverwritten(tx, table, { rowId, at, columns: [index] });
  }
  const before = problemsOf(tx, table, rowId);
  const raw = readRawTexts(tx, table, local);
  writeKeepingRaw(tx, table, { ...local, values }, raw);
  const problem = problemsOf(tx, table, rowId).find((sentence) => !before.includes(sentence));
  return problem === undefined ? { rowId } : { problem };
}

/** What was edited since the question was asked is kept like anything that somebody gives up: the decision may be older. */
function keepOverwritten(
  tx: Tx,
  table: TwoWayTable,
  overwritten: { readonly rowId: number; readonly at: string; readonly columns?: readonly number[] },
): void {
  const { rowId, at, columns: among } = overwritten;
  for (const change of diffRows(tx, table, [rowId])) {
    const columns = change.columns.filter((column) => among?.includes(column) !== false);
    if (columns.length > 0) storeDiscarded(tx, table, { ...change, columns }, at);
  }
}

function problemsOf(tx: Tx, table: TwoWayTable, rowId: number): readonly string[] {
  return diffRows(tx, table, [rowId]).flatMap(({ problems }) => problems);
}

function decideRow(tx: Tx, table: TwoWayTable, wish: Wish, at: string): Outcome {
  const { conflict, take } = wish;
  const { rowId } = conflict;
  const [row] = readVersions(tx, table, [rowId]);
  const isHere = (row?.local ?? null) !== null;
  if (take === 'value') return { problem: 'a conflict about a whole row takes local, remote or base' };
  if (isAsItStands(wish)) return { rowId };
  const kept = conflict[take];
  const locked = take === 'local' ? lockedColumn(tx, table, conflict, row?.base ?? null) : null;
  if (locked !== null)
    return { problem: `the column "${locked}" cannot be written now, and the row would come without it` };
  const isKept = row?.local === undefined || row.local === null || isKeptAs(tx, table, row.local, conflict.local);
  const base = row?.base ?? null;
  if (!isKept && (kept === null || base === null)) keepOverwritten(tx, table, { rowId, at });
  if (kept === null) {
    // The version that is taken has no such row: deleted here, deleted there, or never there.
    removeRows(tx, table, [rowId]);
    return { rowId };
  }
  const values = keptValues(tx, table, String(kept), base);
  if (base !== null) {
    const versions = [conflict.base, conflict.local, conflict.remote].flatMap((text) =>
      text === null ? [] : [keptValues(tx, table, String(text), base)],
    );
    const stays = row?.local?.values ?? null;
    const merged = valuesTaken({ taken: values, versions, base: base.values, local: stays }, table.columns);
    if (stays !== null && !isKept) {
      const overwritten = table.columns.flatMap(({ type }, index) =>
        isSameValue(type, stays[index] ?? null, merged[index] ?? null) ? [] : [index],
      );
      keepOverwritten(tx, table, { rowId, at, columns: overwritten });
    }
    const raw = readRawTexts(tx, table, row?.local ?? null);
    writeKeepingRaw(tx, table, { id: rowId, allow: base.allow, values: merged }, raw);
    return { rowId };
  }
  // The origin has no such row: it is a new one, without what only the origin can give. What is locked now stays in it: an empty cell would
  // count as an edit once the column may be written again.
  const id = isHere && rowId < 0 ? rowId : takeLocalId(tx, table.id);
  const own = table.columns.map((column, index) => {
    const isOurs = (column.writable || column.locked) && !isGivenThere(column);
    return isOurs ? valuePutBack(column.type, values[index] ?? null, null) : null;
  });
  const fresh: Row = { id, allow: null, values: own };
  writeRows(tx, table, [fresh]);
  carryKept(tx, table, id, [...readKeptRow(tx, String(kept))]);
  // From now on all that is kept is about this row: taken once more, it comes back into it, and not beside it.
  if (id !== rowId) renumberRow(tx, table.id, rowId, id);
  return { rowId: id };
}

/** A column that was edited in the row as it stood here, and may not be written by now; null where there is none. */
function lockedColumn(tx: Tx, table: TwoWayTable, { local, base }: StoredConflict, now: Row | null): string | null {
  if (local === null) return null;
  const edited = keptValues(tx, table, String(local), now);
  // Kept without a base: a new row, or one that was kept whole since nobody knew what was edited in it.
  const before = base === null ? (now?.values ?? []) : keptValues(tx, table, String(base), now);
  return table.columns[lockedEdit({ edited, before }, table.columns) ?? -1]?.localName ?? null;
}

/** Whether a row holds what was kept of it, under whatever id. */
function isKeptAs(tx: Tx, table: TwoWayTable, row: Row, text: Stored): boolean {
  if (text === null) return false;
  const kept = keptValues(tx, table, String(text), row);
  return table.columns.every(({ type }, index) => isSameValue(type, row.values[index] ?? null, kept[index] ?? null));
}

/** A value as a person wrote it, on the command line as text; what it must look like is judged by the rules of the column. */
function typedValue(type: ColumnType, value: Stored): Value {
  if (typeof value !== 'string') return valueFromStored(value, type);
  if (type === 'Checkbox' && /^(0|1|true|false)$/.test(value)) return value === '1' || value === 'true';
  if (type === 'Numeric' || type === 'Duration')
    return valueFromStored(storedFromValue(numericFromText(value) ?? value), type);
  return value;
}
