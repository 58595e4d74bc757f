/**
 * The edits of users, found by comparing each two-way table with its base. Marks say where to look. If marks may be
 * incomplete, all rows are compared: another client dropped a trigger, or wrote to the file while no process of ours
 * was running. A REPLACE through a unique index of its own also removes rows unseen.
 */
import { must } from '../base/assert.ts';
import { editedColumns } from '../reconcile/merge.ts';
import {
  decideQuestions,
  decideMoved,
  decidePutBack,
  type RowFacts,
  type RowOutcome,
} from '../reconcile/row-outcome.ts';
import type { ChangeKind, ComparedRow } from '../reconcile/push-plan.ts';
import { nextRowState, ROW_STATES, type RowState } from '../reconcile/row-state.ts';
import {
  areMarksReliable,
  dropEqualMarks,
  markDiffering,
  readForeignIds,
  readVersions,
} from '../replica/base-comparison.ts';
import type { Connection, Stored, Tx } from '../replica/connection.ts';
import { forgetBatches, readBatches } from '../replica/bookkeeping/batches.ts';
import { noteCaptured } from '../replica/bookkeeping/history.ts';
import { BLOCK_ROWS, blocks, blocksAbove, queryNumbers, queryRows, readRawText } from '../replica/query.ts';
import { anyOf, ident, isOther, joinSql, literal, sql, type Sql } from '../base/sql.ts';
import { baseName, isStrict, requireShape } from '../replica/user-tables.ts';
import { heldEdits, OLDER_COPY } from '../reconcile/guards.ts';
import { hasTriggers, requireHarmlessTriggers } from '../replica/triggers.ts';
import { TYPE_RULES } from '../wire/column-types.ts';
import type { Row } from '../wire/schema.ts';
import { endHolds, storeProblem } from '../replica/bookkeeping/table-errors.ts';
import { readQuestionedIds } from '../replica/bookkeeping/conflicts.ts';
import { hasMarks, readRowStates } from '../replica/bookkeeping/row-states.ts';
import type { TwoWayTable } from './two-way-table.ts';
import { captureTriggers, cellName, missingRule, valueRules, type CellRule } from './edit-triggers.ts';
import { applyOutcome, applyEvent, readRowFacts, renumberStrays } from './writer/apply-outcome.ts';
import { readOvertakenRefusals } from '../replica/bookkeeping/refusals.ts';
import { storeFacts, readTable } from '../replica/bookkeeping/tables.ts';

export interface RowChange extends ComparedRow {
  /** Only `edited` rows may be sent. */
  readonly state: RowState;
}

/** Makes marks true: exactly the rows that differ from their base have one. @throws RowsyncError `replica.schema`. */
export function captureChanges(tx: Tx, table: TwoWayTable, at: string): void {
  requireShape(tx, table);
  requireHarmlessTriggers(tx, table);
  const { compareDue, olderCopy } = readTable(tx, table.id);
  // An edit that was made around our triggers has no mark.
  const haveAllMarks = areMarksReliable(tx, table) && hasTriggers(tx, table.id, captureTriggers(table));
  if (compareDue || !haveAllMarks) {
    tx.countUncaptured(markDiffering(tx, table, at));
    applyEvent(tx, table.id, readOvertakenRefusals(tx, table), { event: 'localEdit', at });
    storeFacts(tx, table.id, { compare_due: 0 });
  }
  tx.history.captureEdits(table, tx.cause);
  noteCaptured(tx, table.id, at);
  let renumbered: readonly number[] = [];
  if (hasMarks(tx, table.id)) {
    renumbered = renumberStrays(tx, table, readForeignIds(tx, table), at);
    dropEqualMarks(tx, table, SETTLING);
    // Read-only cells follow the base; their values are kept like any loser of a conflict.
    const ids = readUnwritableEdits(tx, table);
    decideEach(tx, table, { ids, at }, (facts) => decidePutBack(facts, table.columns));
  }
  if (olderCopy === 'creates') doubtCreates(tx, table, renumbered, at);
  settleQuestions(tx, table, at);
  endHolds(tx, table.id);
}

/** States of rows whose mark is removed if they equal their base; rows in flight are settled by their answer. */
const SETTLING = ROW_STATES.filter((state) => state !== 'sending' && nextRowState(state, 'settled') === 'clean');

/** Marked rows with an edit that cannot be pushed, or with a value that only has another spelling. */
function readUnwritableEdits(from: Connection, table: TwoWayTable): readonly number[] {
  const differing = table.columns.flatMap(({ localName, writable, type }) => {
    const [here, base] = [sql`l.${ident(localName)}`, sql`b.${ident(localName)}`];
    if (!writable) return [isOther(here, base)];
    const canBeSame = TYPE_RULES[type].mayBeSame?.(here, base) ?? null;
    return canBeSame === null ? [] : [sql`(${canBeSame} AND ${isOther(here, base)})`];
  });
  const text = sql`SELECT r.row_id FROM _rowsync_rows r JOIN ${ident(table.localName)} l ON l._id = r.row_id
      JOIN ${ident(baseName(table.id))} b ON b._id = r.row_id
      WHERE r.table_id = ? AND r.state <> 'sending'
        AND ${anyOf([sql`l._allow IS NOT b._allow`, ...differing])}`;
  return queryNumbers(from, text, [table.id]);
}

const IN_DOUBT =
  'this replica is an older copy that was put back; whether the row was created at the origin since then is not known; look ' +
  'there, then retry or discard it';

/**
 * Puts the creates of a restored older copy (replica/older-copy.ts) in doubt, also those that just got new ids. The
 * origin may have them (I4), and only a match value could show it. Its other edits wait for a person.
 */
function doubtCreates(tx: Tx, table: TwoWayTable, renumbered: readonly number[], at: string): void {
  const match = table.columns.find(({ name }) => name === table.matchColumn);
  const isUnnamed = match === undefined ? sql`1` : sql`coalesce(l.${ident(match.localName)}, '') = ''`;
  const text = sql`SELECT r.row_id FROM _rowsync_rows r JOIN ${ident(table.localName)} l ON l._id = r.row_id
      WHERE r.table_id = ? AND (r.row_id BETWEEN ? AND -1 OR r.row_id IN (SELECT value FROM json_each(?)))
        AND r.state IN ('edited', 'refused') AND ${isUnnamed}`;
  const { lastIdOfCopy } = readTable(tx, table.id);
  const ids = queryNumbers(tx, text, [table.id, lastIdOfCopy, JSON.stringify(renumbered)]);
  decideEach(tx, table, { ids, at }, (facts) => {
    const cells = (facts.local?.values ?? []).flatMap((value, column) => (value === null ? [] : [{ column, value }]));
    // Once the row is deleted here, this is its only record.
    const doubt = { kind: 'insert', reason: IN_DOUBT, column: null, words: null, hope: 'never', cells } as const;
    return decideMoved(facts, 'restored', doubt);
  });
  storeFacts(tx, table.id, { older_copy: 'edits' });
  storeProblem(tx, table.id, 'push', heldEdits(table, 'guard.olderCopy', OLDER_COPY));
}

/** Closes questions that need no answer, and lets rows without open questions continue. */
export function settleQuestions(tx: Tx, table: TwoWayTable, at: string): void {
  decideEach(tx, table, { ids: readQuestionedIds(tx, table.id), at }, (facts) => decideQuestions(facts, table.columns));
}

/** Carries out a decision about each row, a block at a time. */
export function decideEach(
  tx: Tx,
  table: TwoWayTable,
  { ids, at }: { readonly ids: readonly number[]; readonly at: string },
  decide: (facts: RowFacts) => RowOutcome,
): void {
  for (const block of blocks(ids))
    applyOutcome(tx, table, { outcomes: readRowFacts(tx, table, block).map(decide), nowMs: Date.parse(at) });
}

/** Parks rows on their way: a part of the table was dropped here, so later edits look like values that were sent. */
export function markBatchesInDoubt(tx: Tx, table: TwoWayTable, at: string): void {
  const reason = 'its table was dropped here while it was on its way; look at the origin, then retry or discard it';
  for (const { rows } of readBatches(tx, table)) {
    const rowById = new Map(rows.map((row) => [row.id, row]));
    decideEach(tx, table, { ids: [...rowById.keys()], at }, (facts) => {
      const { kind, cells } = must(rowById.get(facts.id), 'facts come for each id');
      return decideMoved(facts, 'doubted', { kind, reason, column: null, words: null, hope: 'never', cells });
    });
  }
  forgetBatches(tx, table.id);
}

/** The changes of the given rows, in their order; unchanged rows are left out. `bases` if they were read before. */
export function diffRows(
  from: Connection,
  table: TwoWayTable,
  ids: readonly number[],
  bases?: ReadonlyMap<number, Row>,
): readonly RowChange[] {
  const states = readRowStates(from, table.id, ids);
  const changes = readVersions(from, table, ids, bases).flatMap(({ id, base, local }): readonly RowChange[] => {
    const state = states.get(id) ?? 'clean';
    const columns = local === null ? [] : editedColumns(base, local, table.columns);
    const isSame = base === null || local === null ? base === local : columns.length === 0;
    // The row waits for an answer, so it is listed even without a difference.
    if (isSame && (state === 'edited' || state === 'clean')) return [];
    const kind: ChangeKind = base === null ? 'insert' : local === null ? 'delete' : 'update';
    const problems = columns.flatMap((index) => {
      const column = must(table.columns[index], 'an index of a column');
      const place = { tableName: table.localName, name: column.localName, id };
      const raw = readRawText(from, local?.values[index], place);
      return raw === null ? [] : [`${cellName(table, column)} takes text in UTF-8`];
    });
    return [{ id, base, local, kind, state, columns, problems }];
  });
  const unsendable = readUnsendableCells(from, table, changes);
  if (unsendable.size === 0) return changes;
  return changes.map((change) => ({
    ...change,
    problems: [...(unsendable.get(change.id) ?? []), ...change.problems],
  }));
}

/** The changes of all marked rows by id, read a block at a time; also of rows that wait for an answer or a person. */
export function* readAllChanges(from: Connection, table: TwoWayTable): IterableIterator<RowChange> {
  const text = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? AND row_id > ? ORDER BY row_id LIMIT ${BLOCK_ROWS}`;
  const marked = blocksAbove(
    (after) => queryNumbers(from, text, [table.id, after]),
    (id) => id,
  );
  for (const ids of marked) yield* diffRows(from, table, ids);
}

/** The rules of the triggers, applied to edited rows, which may have been written while a trigger was missing. */
function readUnsendableCells(
  from: Connection,
  table: TwoWayTable,
  changes: readonly RowChange[],
): ReadonlyMap<number, readonly string[]> {
  const isTyped = isStrict(from, table.localName);
  const edited = new Set(changes.flatMap(({ columns }) => columns));
  const isAnyNew = changes.some(({ kind }) => kind === 'insert');
  const tests = table.columns.flatMap((column, index): readonly Sql[] => {
    // A new row may lack a cell that it must have.
    if (!column.writable || !(isAnyNew || edited.has(index))) return [];
    const name = ident(column.localName);
    const test = (when: Sql, rule: CellRule): Sql =>
      sql`WHEN ${when} AND (${rule.isBroken}) THEN ${literal(rule.sentence)}`;
    const isChangedCell = isOther(sql`NEW.${name}`, sql`b.${name}`);
    // Values that a table without STRICT may hold, and the origin may not.
    const noBytes = {
      isBroken: sql`typeof(NEW.${name}) = 'blob'`,
      sentence: `${cellName(table, column)} takes no bytes (BLOB)`,
    };
    const ofNew = missingRule(table, column, 'new');
    const ofKnown = missingRule(table, column, 'known');
    const whens = [
      ...(isTyped ? [] : [test(isChangedCell, noBytes)]),
      ...valueRules(table, column).map((rule) => test(isChangedCell, rule)),
      ...(ofNew === null ? [] : [test(sql`b._id IS NULL`, ofNew)]),
      ...(ofKnown === null ? [] : [test(sql`b._id IS NOT NULL AND ${isChangedCell}`, ofKnown)]),
    ];
    if (whens.length === 0) return [];
    // One result for each column: SQLite returns no more than a table may have.
    return [sql`${whens.reduce((text, when) => sql`${text} ${when}`, sql`CASE`)} END`];
  });
  if (tests.length === 0) return new Map();
  const text = sql`SELECT NEW._id, ${joinSql(tests)} FROM ${ident(table.localName)} NEW
      LEFT JOIN ${ident(baseName(table.id))} b ON b._id = NEW._id
      WHERE NEW._id IN (SELECT value FROM json_each(?))`;
  const isText = (value: Stored): value is string => typeof value === 'string';
  const broken = queryRows(from, text, [JSON.stringify(changes.map(({ id }) => id))]).filter((row) => row.some(isText));
  return new Map(broken.map((row) => [Number(row[0]), row.filter(isText)]));
}
