/**
 * Carries out what was decided about rows of a two-way table (reconcile/row-outcome.ts): user table, base, states,
 * conflicts, refusals, evidence and suspects. All of it is in the transaction of the caller, and nothing is decided
 * here. docs/design/row.md has the picture.
 */
import { assert } from '../../base/assert.ts';
import { stampFromMs } from '../../base/clock.ts';
import { ident, joinSql, sql } from '../../base/sql.ts';
import {
  decideStray,
  writtenRow,
  type OpenQuestion,
  type RowFacts,
  type RowOutcome,
} from '../../reconcile/row-outcome.ts';
import type { RowVersion } from '../../reconcile/merge.ts';
import { nextRowState, type RowEvent } from '../../reconcile/row-state.ts';
import {
  hasOpenConflict,
  keepConflicts,
  readOpenQuestions,
  renumberConflicts,
  settleConflicts,
} from '../../replica/bookkeeping/conflicts.ts';
import {
  forgetRefusals,
  readDueIds,
  renumberRefusal,
  storeRefusal,
  type WaitingRow,
} from '../../replica/bookkeeping/refusals.ts';
import { queryNumbers } from '../../replica/query.ts';
import { readRowStates, renumberRowState, storeRowStates, takeLocalId } from '../../replica/bookkeeping/row-states.ts';
import { suspectPushedRows } from '../../replica/bookkeeping/suspects.ts';
import { addToRowCount } from '../../replica/bookkeeping/tables.ts';
import { baseTarget, readStrayIds, readVersions } from '../../replica/base-comparison.ts';
import type { Connection, Tx } from '../../replica/connection.ts';
import {
  copyFromBase,
  forgetGone,
  keepEvidence,
  readRowsById,
  readStoredById,
  removeRows,
  storedFromValue,
  upsertRows,
  writeRows,
  type RowChanges,
} from '../../replica/rows.ts';
import { requireHarmlessTriggers } from '../../replica/triggers.ts';
import type { Row } from '../../wire/schema.ts';
import type { TwoWayTable } from '../two-way-table.ts';

/** What is known of rows, in the order of their ids; `versions` if they were read before. */
export function readRowFacts(
  from: Connection,
  table: TwoWayTable,
  ids: readonly number[],
  versions?: readonly RowVersion[],
): readonly RowFacts[] {
  if (ids.length === 0) return [];
  const states = readRowStates(from, table.id, ids);
  const questions =
    states.size === 0 ? new Map<number, readonly OpenQuestion[]>() : readOpenQuestions(from, table, ids);
  return (versions ?? readVersions(from, table, ids)).map(({ id, base, local }) => ({
    id,
    base,
    local,
    state: states.get(id) ?? 'clean',
    questions: questions.get(id) ?? [],
  }));
}

/** Carries out outcomes, each about another row; returns how many rows of the base were new and how many changed. */
export function applyOutcome(
  tx: Tx,
  table: TwoWayTable,
  { outcomes, nowMs }: { readonly outcomes: readonly RowOutcome[]; readonly nowMs: number },
): RowChanges {
  if (outcomes.length === 0) return { insertedCount: 0, updatedCount: 0 };
  assert(new Set(outcomes.map(({ id }) => id)).size === outcomes.length, 'a row has one outcome');
  requireHarmlessTriggers(tx, table); // one that drops a cell would leave an edit that no user made
  const at = stampFromMs(nowMs);
  const bases = outcomes.flatMap(({ base }) => writtenRow(base) ?? []);
  const baseIds = bases.map(({ id }) => id);
  renumberStrays(tx, table, readStrayIds(tx, table, baseIds), at);
  keepLastValues(tx, table, outcomes, at);
  removeLeaving(tx, table, outcomes);
  renumber(tx, table, outcomes);
  const changes = upsertRows(tx, baseTarget(table), bases);
  // After the bases, which are copied.
  writeLocals(tx, table, outcomes);
  storeStates(tx, table.id, outcomes, at);
  storeWords(tx, table, outcomes, nowMs);
  // A page may answer "not modified" although its rows changed outside of a sweep, and changed back.
  const offPage = outcomes.filter(({ isOffPage }) => isOffPage).map(({ newId }) => newId);
  if (offPage.length > 0) suspectPushedRows(tx, table.id, offPage);
  return changes;
}

/** Something happens to rows that changes none of their values; the first mark of a row keeps its time. */
export function applyEvent(
  tx: Tx,
  tableId: number,
  ids: readonly number[],
  { event, at }: { readonly event: RowEvent; readonly at: string },
): void {
  const states = readRowStates(tx, tableId, ids);
  const moved = Map.groupBy(ids, (id) => {
    const state = states.get(id) ?? 'clean';
    const next = nextRowState(state, event);
    return next === state ? null : next;
  });
  for (const [state, group] of moved) if (state !== null) storeRowStates(tx, tableId, group, { state, at });
}

/**
 * Releases refused rows for another try: all of a table, or those with one reason. The cause may be gone: the origin
 * accepts other values, the configuration names another match column, or a trigger was missing.
 */
export function retryRefused(tx: Tx, tableId: number, at: string, reason: string | null = null): void {
  const text = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = @tableId AND state = 'refused' AND (@reason IS NULL
      OR row_id IN (SELECT row_id FROM _rowsync_refusals WHERE table_id = @tableId AND reason = @reason))`;
  applyEvent(tx, tableId, queryNumbers(tx, text, [{ tableId, reason }]), { event: 'retried', at });
}

/** Lets refused rows be tried again whose time has come. */
export function retryDue(tx: Tx, table: TwoWayTable, { nowMs, at }: { nowMs: number; at: string }): void {
  applyEvent(tx, table.id, readDueIds(tx, table.id, nowMs), { event: 'retried', at });
}

/** Lets rows be tried again at the next push, whatever they waited for; an open question still comes first. */
export function retryRows(tx: Tx, rows: readonly WaitingRow[], at: string): void {
  for (const { tableId, rowId } of rows) {
    applyEvent(tx, tableId, [rowId], { event: 'retried', at });
    if (hasOpenConflict(tx, tableId, rowId)) applyEvent(tx, tableId, [rowId], { event: 'conflicted', at });
  }
}

/** Renumbers rows that another program put under ids of the origin: they continue as new ones. Returns their ids. */
export function renumberStrays(tx: Tx, table: TwoWayTable, ids: readonly number[], at: string): readonly number[] {
  const outcomes = readRowFacts(tx, table, ids).map((facts) => decideStray(facts, takeLocalId(tx, table.id)));
  applyOutcome(tx, table, { outcomes, nowMs: Date.parse(at) });
  return outcomes.map(({ newId }) => newId);
}

/** Keeps the last values of rows before they leave: those of the table, or else what the origin confirmed. */
function keepLastValues(tx: Tx, table: TwoWayTable, outcomes: readonly RowOutcome[], at: string): void {
  const byReason = Map.groupBy(
    outcomes.filter(({ evidence }) => evidence !== null),
    ({ evidence }) => evidence ?? '',
  );
  for (const [reason, kept] of byReason) {
    const ids = kept.map(({ id }) => id);
    const rows = readRowsById(tx, table, ids);
    const others = readRowsById(
      tx,
      baseTarget(table),
      ids.filter((id) => !rows.has(id)),
    );
    keepEvidence(tx, table, [...rows.values(), ...others.values()], { reason, at });
  }
}

/** Rows leave before others come: a unique index of a user may need the place. */
function removeLeaving(tx: Tx, table: TwoWayTable, outcomes: readonly RowOutcome[]): void {
  const here = outcomes.filter(({ local }) => local === null).map(({ id }) => id);
  if (here.length > 0) removeRows(tx, table, here);
  const gone = outcomes.filter(({ base }) => base === null).map(({ id }) => id);
  if (gone.length === 0) return;
  addToRowCount(tx, table.id, -removeRows(tx, baseTarget(table), gone));
  forgetGone(tx, table.id, gone);
}

/** Rows keep their place in the file under a new id, and so columns of other programs and bytes that are no text. */
function renumber(tx: Tx, table: TwoWayTable, outcomes: readonly RowOutcome[]): void {
  const moved = outcomes.filter(({ id, newId }) => id !== newId);
  if (moved.length === 0) return;
  const bothIds = moved.flatMap(({ id, newId }) => [id, newId]);
  tx.history.willChange(table, bothIds, tx.cause);
  const update = tx.prepare(sql`UPDATE ${ident(table.localName)} SET _id = ? WHERE _id = ?`);
  for (const { id, newId } of moved) {
    update.run(newId, id);
    tx.history.renumbered(table.id, id, newId);
    for (const renumberIn of [renumberRowState, renumberConflicts, renumberRefusal])
      renumberIn(tx, table.id, id, newId);
  }
}

function writeLocals(tx: Tx, table: TwoWayTable, outcomes: readonly RowOutcome[]): void {
  const copied = outcomes.filter(({ local }) => local === 'base').map(({ newId }) => newId);
  if (copied.length > 0) copyFromBase(tx, table, copied);
  const rows = outcomes.flatMap(({ newId, local }) => {
    const row = writtenRow(local);
    return row === null ? [] : [{ ...row, id: newId }];
  });
  if (rows.length > 0) writeCells(tx, table, rows);
}

/** Writes the cells that differ, so that a text that is no UTF-8 keeps its bytes. */
function writeCells(tx: Tx, table: TwoWayTable, rows: readonly Row[]): void {
  const names = [sql`_allow`, ...table.columns.map(({ localName }) => ident(localName))];
  const ids = rows.map(({ id }) => id);
  const found = readStoredById(tx, table, ids);
  const absent = ids.filter((id) => !found.has(id));
  // Those that the origin has come back as it confirmed them.
  if (absent.length > 0) copyFromBase(tx, table, absent);
  const here = absent.length === 0 ? found : readStoredById(tx, table, ids);
  writeRows(
    tx,
    table,
    rows.filter(({ id }) => !here.has(id)),
  );
  tx.history.willChange(table, ids, tx.cause);
  for (const { id, allow, values } of rows.filter((row) => here.has(row.id))) {
    const stored = [allow, ...values.map(storedFromValue)];
    const changed = names.flatMap((name, index) => {
      const [before, value] = [here.get(id)?.[index + 1], stored[index] ?? null];
      return before === value ? [] : [{ name, value }];
    });
    if (changed.length === 0) continue;
    const set = joinSql(changed.map(({ name }) => sql`${name} = ?`));
    const text = sql`UPDATE ${ident(table.localName)} SET ${set} WHERE _id = ?`;
    tx.prepare(text).run(...changed.map(({ value }) => value), id);
  }
}

function storeStates(tx: Tx, tableId: number, moved: readonly Pick<RowOutcome, 'newId' | 'state'>[], at: string): void {
  for (const [state, rows] of Map.groupBy(moved, (row) => row.state)) {
    const ids = rows.map(({ newId }) => newId);
    storeRowStates(tx, tableId, ids, { state, at });
  }
}

function storeWords(tx: Tx, table: TwoWayTable, outcomes: readonly RowOutcome[], nowMs: number): void {
  const at = stampFromMs(nowMs);
  settleConflicts(
    tx,
    outcomes.flatMap(({ closed }) => closed),
  );
  for (const { newId, conflicts, refusal } of outcomes) {
    if (conflicts.length > 0) keepConflicts(tx, table, { rowId: newId, lines: conflicts, at });
    if (refusal !== null && refusal !== 'forget') storeRefusal(tx, table, { rowId: newId, ...refusal }, nowMs);
  }
  const forgotten = outcomes.filter(({ refusal }) => refusal === 'forget').map(({ newId }) => newId);
  if (forgotten.length > 0) forgetRefusals(tx, table.id, forgotten);
}
