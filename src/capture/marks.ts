/**
 * The marks of rows in `_rowsync_rows`, moved only as reconcile/row-state.ts allows. A clean row has no mark. Input: ids and events. Output: the
 * bookkeeping.
 */
import { must } from '../base/assert.ts';
import { ident, sql } from '../base/sql.ts';
import type { ChangeKind } from '../reconcile/push-plan.ts';
import { nextRowState, ROW_STATES, type RowEvent, type RowState } from '../reconcile/row-state.ts';
import { storeRowStates, renumberRowState } from '../replica/bookkeeping/row-states.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { queryNumbers, queryRows } from '../replica/query.ts';
import type { RowTarget } from '../replica/rows.ts';
import { renumberConflicts } from '../replica/bookkeeping/conflicts.ts';
import { renumberRefusal } from '../replica/bookkeeping/refusals.ts';

/** Whether any row of a table is not clean. */
export function hasMarks(from: Connection, tableId: number): boolean {
  return from.prepare(sql`SELECT 1 FROM _rowsync_rows WHERE table_id = ? LIMIT 1`).get(tableId) !== undefined;
}

/** How many rows may be sent, by kind of change; marks are true (`captureChanges`), so only new rows have our ids. */
export function countEdits(from: Connection, { id, localName }: RowTarget): Readonly<Record<ChangeKind, number>> {
  const text = sql`SELECT count(*) FILTER (WHERE r.row_id < 0),
        count(*) FILTER (WHERE r.row_id > 0 AND l._id IS NOT NULL), count(*) FILTER (WHERE r.row_id > 0 AND l._id IS NULL)
      FROM _rowsync_rows r LEFT JOIN ${ident(localName)} l ON l._id = r.row_id
      WHERE r.table_id = ? AND r.state = 'edited'`;
  const [insert, update, deleted] = queryRows(from, text, [id])[0] ?? [];
  return { insert: Number(insert), update: Number(update), delete: Number(deleted) };
}

/**
 * Ids of rows that may be sent after `after` (null: from the first), at most `count`. New rows in the order of their creation, others by id, or in
 * the reverse order.
 */
export function readEditedIds(
  from: Connection,
  { id, localName }: RowTarget,
  order: {
    readonly kind: ChangeKind;
    readonly after: number | null;
    readonly count: number;
    readonly isReversed: boolean;
  },
): readonly number[] {
  const { kind, after, count, isReversed } = order;
  if (kind === 'insert') {
    const text = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? AND row_id < ? AND state = 'edited'
        ORDER BY row_id DESC LIMIT ?`;
    return queryNumbers(from, text, [id, after ?? 0, count]);
  }
  const local = sql`SELECT 1 FROM ${ident(localName)} l WHERE l._id = r.row_id`;
  const isMeant = kind === 'update' ? sql`EXISTS (${local})` : sql`NOT EXISTS (${local})`;
  const isBehind = isReversed ? sql`row_id BETWEEN 1 AND ? - 1` : sql`row_id > ?`;
  const text = sql`SELECT row_id FROM _rowsync_rows r WHERE table_id = +? AND ${isBehind} AND state = 'edited' AND ${isMeant}
      ORDER BY row_id ${isReversed ? sql`DESC` : sql`ASC`} LIMIT ?`;
  return queryNumbers(from, text, [id, after ?? (isReversed ? Number.MAX_SAFE_INTEGER : 0), count]);
}

/** States of those of the given rows that are not clean. */
export function readRowStates(
  from: Connection,
  tableId: number,
  ids: readonly number[],
): ReadonlyMap<number, RowState> {
  const text = sql`SELECT row_id AS id, state FROM _rowsync_rows
      WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
  return new Map(
    queryRows(from, text, [tableId, JSON.stringify(ids)]).map(([id, state]) => [
      Number(id),
      must(
        ROW_STATES.find((known) => known === state),
        'the bookkeeping allows these states only',
      ),
    ]),
  );
}

/** Rows whose edit is not on its way to the origin. */
export function countUnsent(from: Connection, tableId: number): number {
  const text = sql`SELECT count(*) FROM _rowsync_rows WHERE table_id = ? AND state NOT IN ('sending', 'unknown', 'inDoubt')`;
  return must(queryNumbers(from, text, [tableId])[0], 'a count');
}

/**
 * Moves rows to the state that follows from an event; the first mark of a row keeps its time. `states` if they were read before. @throws RowsyncError
 * `bug.assertion` if the event cannot happen to one of the rows.
 */
export function moveRows(
  tx: Tx,
  tableId: number,
  ids: readonly number[],
  { event, at }: { readonly event: RowEvent; readonly at: string },
  states = readRowStates(tx, tableId, ids),
): void {
  const idsByNext = new Map<RowState, number[]>();
  for (const id of ids) {
    const state = states.get(id) ?? 'clean';
    const next = nextRowState(state, event);
    if (next === state) continue;
    const moved = idsByNext.get(next);
    if (moved === undefined) idsByNext.set(next, [id]);
    else moved.push(id);
  }
  for (const [next, moved] of idsByNext) storeRowStates(tx, tableId, moved, { state: next, at });
}

/** Moves everything kept about a row to its new id. */
export function renumberRow(tx: Tx, tableId: number, fromId: number, toId: number): void {
  tx.journal.renumbered(tableId, fromId, toId);
  renumberRowState(tx, tableId, fromId, toId);
  renumberConflicts(tx, tableId, fromId, toId);
  renumberRefusal(tx, tableId, fromId, toId);
}
