/**
 * Whether edits of a table are captured; keeps the base table, the triggers and the view `sync_changes` in line with
 * that. Invariant: a base is only made of rows as the origin last sent them, and never dropped while edits need it
 * (I2).
 */
import { RowsyncError } from '../base/errors.ts';
import { plural, shellWord } from '../base/text.ts';
import { decideDiscarded } from '../reconcile/row-outcome.ts';
import { markDiffering } from '../replica/base-comparison.ts';
import { storeProblem } from '../replica/bookkeeping/table-errors.ts';
import type { Connection, Tx, WrittenTable } from '../replica/connection.ts';
import { storeSchemaChanges } from '../replica/bookkeeping/schema-changes.ts';
import { type TableRecord, readTable, storeFacts } from '../replica/bookkeeping/tables.ts';
import { forgetEtags, readPages, distrustRows } from '../replica/bookkeeping/pages.ts';
import { endHistory } from '../replica/bookkeeping/history.ts';
import { ident } from '../base/sql.ts';
import { baseName, createBase, dropBase, hasBase, isUnmade } from '../replica/user-tables.ts';
import { ensureTriggers, guardsOf, hasTriggers, type Trigger } from '../replica/triggers.ts';
import { forgetBatches } from '../replica/bookkeeping/batches.ts';
import { captureChanges, decideEach, readAllChanges, settleQuestions, type RowChange } from './find-edits.ts';
import { findTwoWayTable, type TwoWayTable } from './two-way-table.ts';
import { captureTriggers } from './edit-triggers.ts';
import { forgetRowStates, startLocalIds } from '../replica/bookkeeping/row-states.ts';
import { retryRefused } from './writer/apply-outcome.ts';
import { readSent } from '../replica/bookkeeping/refusals.ts';

/** Makes sure that a table has the triggers of its mode and columns. True if it had not: renew the view of edits. */
export function ensureCapture(tx: Tx, tableId: number, table = findTwoWayTable(tx, tableId)): boolean {
  return ensureTriggers(tx, tableId, wantedTriggers(tx, tableId, table));
}

/** Whether a trigger is missing or was changed, so that edits may have been missed. */
export function isTampered(from: Connection, tableId: number, table = findTwoWayTable(from, tableId)): boolean {
  return !hasTriggers(from, tableId, wantedTriggers(from, tableId, table));
}

/**
 * Where triggers were tampered with, another client may have changed rows: edits of a two-way table are found by
 * comparison, those of a mirror are undone. Call it before the table's shape, name or mode changes, which recreates the
 * triggers. Returns whether triggers were missing or changed.
 */
export function noteTampering(
  tx: Tx,
  target: WrittenTable,
  at: string,
  table = findTwoWayTable(tx, target.id),
): boolean {
  if (!isTampered(tx, target.id, table)) return false;
  const { push, name } = readTable(tx, target.id);
  if (push === 'on') {
    storeFacts(tx, target.id, { compare_due: 1 });
    retryRefused(tx, target.id, at);
  } else {
    distrustRows(tx, target);
    storeSchemaChanges(tx, [{ kind: 'guardsRemade', table: name, column: null, former: null, now: null }], at);
    endHistory(tx, target.id, { at, why: 'another program removed the guards', isAgain: true });
  }
  return true;
}

function wantedTriggers(from: Connection, tableId: number, table: TwoWayTable | null): readonly Trigger[] {
  if (table !== null) return captureTriggers(table);
  const record = readTable(from, tableId);
  return isUnmade(from, record) ? [] : guardsOf(record, guardSentence(record));
}

function guardSentence({ localName, push }: TableRecord): string {
  return push === 'off'
    ? `${localName} is a read-only mirror: change it at the origin, and the next sync brings it here`
    : `${localName} cannot be edited yet: it is still being read from the origin; try again after the next sync`;
}

/** Sets the mode; a mirror waits for a sweep unless all rows are proven. @throws `guard.pending`, `replica.schema`. */
export function switchMode(
  tx: Tx,
  tableId: number,
  options: { readonly push: boolean; readonly discard: boolean; readonly at: string },
): void {
  requireBase(tx, readTable(tx, tableId));
  const record = readTable(tx, tableId);
  if (options.push) {
    if (record.push === 'off') startWaiting(tx, tableId);
    const isProven = record.state === 'steady' && !record.isDistrusted;
    if (record.push !== 'on' && isProven && areAllPagesProven(tx, tableId)) switchOn(tx, record);
    return;
  }
  if (record.push !== 'off') {
    const table = findTwoWayTable(tx, tableId);
    if (table !== null) endCapture(tx, table, options);
    dropBase(tx, tableId);
  }
  // The problem of the last push, and the consent for the next one, say nothing any more.
  storeProblem(tx, tableId, 'push', null);
  storeFacts(tx, tableId, { push: 'off', push_consent: null });
}

/** Makes sure that a two-way table has its base; one that was remade waits for its rows. @throws `replica.schema`. */
function requireBase(tx: Tx, { id, localName, push, state }: TableRecord): void {
  if (push !== 'on' || hasBase(tx, id)) return;
  if (state === 'loading') return startWaiting(tx, id);
  throw new RowsyncError('replica', 'replica.schema', {
    message: `${localName}: another program dropped ${baseName(id)}, which tells what was edited; nothing of the table was sent or stored`,
    hint: `Save what you edited in it, DROP TABLE ${ident(localName)} and run rowsync pull: the rows come back as the origin has them.`,
  });
}

/** Makes a waiting table two-way as its sweep ends; one whose guards were removed meanwhile waits for the next. */
export function finishSwitch(tx: Tx, tableId: number): void {
  const record = readTable(tx, tableId);
  if (record.push !== 'waiting') return;
  if (isTampered(tx, tableId, null)) distrustRows(tx, record);
  else switchOn(tx, record);
  ensureCapture(tx, tableId);
}

/** Only the next sweep proves rows of the table, and a base from an earlier time is useless. */
function startWaiting(tx: Tx, tableId: number): void {
  dropBase(tx, tableId);
  // A trigger may have changed a page after it was read, even in a sweep that continues, so ETags are dropped.
  if (!areAllPagesProven(tx, tableId)) forgetEtags(tx, tableId);
  storeFacts(tx, tableId, { push: 'waiting' });
}

function areAllPagesProven(from: Connection, tableId: number): boolean {
  return readPages(from, tableId).every(({ etag }) => etag !== null);
}

function switchOn(tx: Tx, table: TableRecord): void {
  startLocalIds(tx, table.id);
  storeFacts(tx, table.id, { compare_due: 0, push: 'on' });
  createBase(tx, table);
}

/** Refuses to forget edits, or keeps them in `sync_conflicts` and puts the rows back to base. */
export function endCapture(
  tx: Tx,
  table: TwoWayTable,
  { discard, at }: { readonly discard: boolean; readonly at: string },
): void {
  markDiffering(tx, table, at);
  captureChanges(tx, table, at);
  const changes = [...readAllChanges(tx, table)];
  if (changes.length > 0 && !discard) {
    throw new RowsyncError('needsPerson', 'guard.pending', {
      message: `${table.localName}: the origin does not have the edits of ${plural(changes.length, 'row')}; push stays switched on`,
      hint: `Set push: true again and push them; or give them up: rowsync pull --discard ${shellWord(table.localName)} keeps them in sync_conflicts`,
    });
  }
  discardChanges(tx, table, changes, at);
  settleQuestions(tx, table, at);
  // Their edits are kept, and a batch without marks could never be settled.
  forgetRowStates(tx, table.id);
  forgetBatches(tx, table.id);
}

/** Keeps edits in `sync_conflicts` and puts their rows back to base. */
export function discardChanges(tx: Tx, table: TwoWayTable, changes: readonly RowChange[], at: string): void {
  const changeById = new Map(changes.map((change) => [change.id, change]));
  decideEach(tx, table, { ids: [...changeById.keys()], at }, (facts) => {
    const isNowhere = facts.base === null && facts.local === null;
    const sent = isNowhere ? readSent(tx, table.id, facts.id) : null;
    return decideDiscarded(facts, { columns: changeById.get(facts.id)?.columns ?? [], sent });
  });
}
