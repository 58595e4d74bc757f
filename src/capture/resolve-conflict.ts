/**
 * Carries out a person's decision about a conflict or an edit: by `rowsync resolve` and `rowsync discard`, or by SQL on
 * `sync_conflicts`. Any kept version can be taken, also long after a policy decided otherwise. Taking one is an edit
 * like any other, and goes to the origin with the next push. If that cannot be, the reason is returned.
 */
import { must } from '../base/assert.ts';
import { isChanged, isSameValue } from '../reconcile/merge.ts';
import {
  decideAsBase,
  decideCell,
  decideMadeAgain,
  decideNoRow,
  type RowFacts,
  type RowOutcome,
} from '../reconcile/row-outcome.ts';
import { sql } from '../base/sql.ts';
import { refusalWords } from '../replica/sqlite-errors.ts';
import { readVersions } from '../replica/base-comparison.ts';
import { readKeptRow } from '../replica/rows-as-json.ts';
import type { Tx, Stored } from '../replica/connection.ts';
import { findTable } from '../replica/bookkeeping/tables.ts';
import { evidenceText, storedFromValue, valueFromStored } from '../replica/rows.ts';
import { TYPE_RULES } from '../wire/column-types.ts';
import type { ColumnType, Value } from '../wire/schema.ts';
import { diffRows, readAllChanges, settleQuestions, type RowChange } from './find-edits.ts';
import {
  closeConflict,
  hasOpenConflict,
  storeVersions,
  type Resolution,
  readConflict,
  readRequests,
  type StoredConflict,
} from '../replica/bookkeeping/conflicts.ts';
import { readRowStates, takeLocalId } from '../replica/bookkeeping/row-states.ts';
import { discardChanges } from './sync-mode.ts';
import { findTwoWayTable, type TwoWayTable } from './two-way-table.ts';
import { applyOutcome, applyEvent, readRowFacts } from './writer/apply-outcome.ts';
import { valuePutBack } from '../reconcile/files.ts';

/** What a person takes; `value` counts only with `take: 'value'`. */
export interface Decision {
  readonly take: Resolution;
  readonly value: Stored;
}

/** Carries out decisions by SQL. One that cannot be is closed with its problem: later, it might surprise. */
export function carryOutRequests(tx: Tx, tableId: number, at: string): void {
  for (const { id, resolution, value } of readRequests(tx, tableId)) {
    const take = must(resolution, 'a request names a version');
    const problem = resolveConflict(tx.because('decision'), id, { take, value }, at);
    if (problem !== null) closeConflict(tx, id, { problem });
  }
}

/** Carries out one decision. @returns why it cannot be done, or null when it was. */
export function resolveConflict(tx: Tx, id: number, { take, value }: Decision, at: string): string | null {
  const conflict = readConflict(tx, id);
  if (conflict === null) return `there is no conflict ${id}`;
  const table = findTwoWayTable(tx, conflict.tableId);
  if (table === null && findTable(tx, conflict.tableId) === null) return 'the table is no longer in the replica';
  if (table === null) return 'the table is not two-way any more';
  if (readRowStates(tx, table.id, [conflict.rowId]).get(conflict.rowId) === 'sending') return `the row ${WAITS}`;
  // While a question is open, the row in the table is the local version, also if it was edited or deleted since.
  const isAsItStands = take === 'local' && conflict.state === 'open';
  const carryOut = conflict.kind === 'cell' ? takeCell : takeRow;
  const outcome = isAsItStands ? conflict : attempt(tx, () => carryOut(tx, table, { conflict, take, value }, at));
  if ('problem' in outcome) return outcome.problem;
  // Taking it again gives the same.
  if (isAsItStands) storeVersions(tx, id, { local: readLocalVersion(tx, table, conflict) });
  closeConflict(tx, id, { resolution: take, value: take === 'value' ? value : null });
  if (hasOpenConflict(tx, table.id, outcome.rowId)) return null;
  const [row] = readVersions(tx, table, [outcome.rowId]);
  const event = isChanged(row?.base ?? null, row?.local ?? null, table.columns) ? 'resolved' : 'discarded';
  applyEvent(tx, table.id, [outcome.rowId], { event, at });
  return null;
}

/**
 * Puts one row back to its base, or with null every edited one but those in conflict or refused, which a person decides
 * one by one. A row on its way waits. The edits are kept.
 */
export function discardEdits(
  tx: Tx,
  table: TwoWayTable,
  rowId: number | null,
  at: string,
): Record<'waitingCount' | 'undecidedCount', number> & { readonly discarded: readonly RowChange[] } {
  const changes = rowId === null ? [...readAllChanges(tx, table)] : diffRows(tx, table, [rowId]);
  const isMeant = ({ state }: RowChange): boolean => rowId !== null || (state !== 'conflicted' && state !== 'refused');
  const meant = changes.filter(isMeant);
  const discarded = meant.filter(({ state }) => state !== 'sending');
  discardChanges(tx, table, discarded, at);
  settleQuestions(tx, table, at);
  return {
    discarded,
    waitingCount: meant.length - discarded.length,
    undecidedCount: changes.length - meant.length,
  };
}

/** Why a row cannot be decided, behind what it is called. */
export const WAITS = 'was sent, and waits for an answer; try again after the next run';

type RequestedDecision = Decision & { readonly conflict: StoredConflict };

/** The row that a decision left, or why it could not be carried out. */
type Outcome = { readonly rowId: number } | { readonly problem: string };

function factsOf(tx: Tx, table: TwoWayTable, rowId: number): RowFacts {
  return must(readRowFacts(tx, table, [rowId])[0], 'facts come for each id');
}

function applyOne(tx: Tx, table: TwoWayTable, outcome: RowOutcome, at: string): void {
  applyOutcome(tx, table, { outcomes: [outcome], nowMs: Date.parse(at) });
}

/** The present version of a conflict's cell or row, in the form in which it is kept. */
function readLocalVersion(tx: Tx, table: TwoWayTable, { rowId, kind, columnSeq }: StoredConflict): Stored {
  const local = readVersions(tx, table, [rowId])[0]?.local ?? null;
  if (local === null) return null;
  if (kind !== 'cell') return evidenceText(table, local);
  return storedFromValue(local.values[table.columns.findIndex(({ seq }) => seq === columnSeq)] ?? null);
}

function takeCell(tx: Tx, table: TwoWayTable, { conflict, take, value }: RequestedDecision, at: string): Outcome {
  const { rowId } = conflict;
  const index = table.columns.findIndex(({ seq }) => seq === conflict.columnSeq);
  const column = table.columns[index];
  const facts = factsOf(tx, table, rowId);
  const { local } = facts;
  if (local === null)
    return {
      problem: 'the row was deleted here; take local to delete it at the origin too, or discard the delete first',
    };
  if (column === undefined || !column.writable) return { problem: 'the column cannot be written any more' };
  const { type } = column;
  const here = local.values[index] ?? null;
  const taken = take === 'value' ? typedValue(type, value) : valueFromStored(conflict[take], type);
  const isKept = [taken, valueFromStored(conflict.local, type)].some((kept) => isSameValue(type, here, kept));
  const changes = diffRows(tx, table, [rowId]);
  // An edit after the question is kept like any discarded one: the decision may be older.
  const overwrites = changes.some(({ columns }) => !isKept && columns.includes(index));
  applyOne(tx, table, decideCell({ ...facts, local }, { column: index, value: taken, overwrites }), at);
  const before = changes.flatMap(({ problems }) => problems);
  const after = diffRows(tx, table, [rowId]).flatMap(({ problems }) => problems);
  const problem = after.find((sentence) => !before.includes(sentence));
  return problem === undefined ? { rowId } : { problem };
}

/** Takes a version of a whole row: the row is removed, or comes back. It is not merged with a row that is here. */
function takeRow(tx: Tx, table: TwoWayTable, { conflict, take }: RequestedDecision, at: string): Outcome {
  const { rowId } = conflict;
  if (take === 'value') return { problem: 'a conflict about a whole row takes local, remote or base' };
  const facts = factsOf(tx, table, rowId);
  const { base, local } = facts;
  const kept = conflict[take];
  if (base !== null && take !== (kept === null ? 'local' : 'remote'))
    return { problem: `the origin has row ${rowId}; edit that one (rowsync discard brings it back if you deleted it)` };
  if (kept !== null && local !== null && isChanged(base, local, table.columns))
    return { problem: `the row exists here as row ${rowId}; edit its cells instead` };
  const decide = (): RowOutcome => {
    // The taken version has no such row: deleted here, deleted there, or never there.
    if (kept === null) return decideNoRow(facts, diffRows(tx, table, [rowId])[0]?.columns ?? null);
    if (base !== null) return decideAsBase(facts);
    // A new row; everything kept about it moves to its new id, so taking it again finds it.
    return decideMadeAgain(facts, takeLocalId(tx, table.id), ownValues(tx, table, String(kept)));
  };
  const outcome = decide();
  applyOne(tx, table, outcome, at);
  return { rowId: outcome.newId };
}

/** The values of a row kept as JSON, without what only the origin gives. An empty locked cell would count as edited. */
function ownValues(tx: Tx, table: TwoWayTable, text: string): readonly Value[] {
  const kept = readKeptRow(tx, text);
  return table.columns.map(({ localName, type, writable, locked, automatic }) => {
    const isGiven = automatic && (type === 'Autonumber' || type === 'User');
    const isTaken = (writable || locked) && !isGiven;
    return isTaken ? valuePutBack(type, valueFromStored(kept.get(localName) ?? null, type)) : null;
  });
}

/** A value as a person wrote it, on the command line as text; the rules of the column judge its form. */
function typedValue(type: ColumnType, value: Stored): Value {
  if (typeof value !== 'string') return valueFromStored(value, type);
  if (type === 'Checkbox' && /^(0|1|true|false)$/.test(value)) return value === '1' || value === 'true';
  return TYPE_RULES[type].valueFromText(value);
}

/** Runs a write in a savepoint, and returns in words what SQLite refuses. @throws every other error. */
function attempt<T extends object>(tx: Tx, action: () => T): T | { readonly problem: string } {
  tx.history.flush(); // or what is taken back would take along entries of what came before
  tx.prepare(sql`SAVEPOINT _rowsync_attempt`).run();
  let done: T | { readonly problem: string };
  try {
    done = action();
  } catch (thrown) {
    const problem = refusalWords(thrown);
    if (problem === null) throw thrown;
    done = { problem };
  }
  if ('problem' in done) tx.prepare(sql`ROLLBACK TO _rowsync_attempt`).run();
  tx.prepare(sql`RELEASE _rowsync_attempt`).run();
  return done;
}
