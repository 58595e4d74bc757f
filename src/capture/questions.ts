/**
 * Which questions of `sync_conflicts` are still open, and which rows wait for them. Both sides may come to agree on a cell, a policy may decide an
 * open question, or a column may vanish. A question without need is closed, and a row without open questions continues. Called at the end of every
 * transaction that changes rows, marks or conflicts.
 */
import { sql } from '../base/sql.ts';
import { moveRows } from './marks.ts';
import type { TwoWayTable } from './table.ts';
import { isAnswered } from '../reconcile/merge.ts';
import { closeQuestions, settleConflicts } from '../replica/bookkeeping/conflicts.ts';
import { baseTarget } from '../replica/compare.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { queryNumbers, queryRows } from '../replica/query.ts';
import { readRowsById } from '../replica/rows.ts';

/** Closes questions that need no answer, and lets rows without open questions continue. */
export function settleQuestions(tx: Tx, table: TwoWayTable, at: string): void {
  closeQuestions(tx, table.id);
  settleConflicts(tx, readAgreed(tx, table));
  moveRows(tx, table.id, readUnasked(tx, table.id), { event: 'resolved', at });
}

/** Open questions about cells that both sides now agree on, or that can no longer be written. */
function readAgreed(from: Connection, table: TwoWayTable): readonly number[] {
  const text = sql`SELECT id, row_id, column_seq FROM _rowsync_conflicts
      WHERE table_id = ? AND state = 'open' AND kind = 'cell'`;
  const asked = queryRows(from, text, [table.id]).map(([id, rowId, seq]) => {
    const index = table.columns.findIndex((column) => column.seq === Number(seq));
    return { id: Number(id), rowId: Number(rowId), index };
  });
  if (asked.length === 0) return [];
  const ids = [...new Set(asked.map(({ rowId }) => rowId))];
  const localById = new Map(readRowsById(from, table, ids).map((row) => [row.id, row]));
  const baseById = new Map(readRowsById(from, baseTarget(table), ids).map((row) => [row.id, row]));
  return asked.flatMap(({ id, rowId, index }) => {
    const versions = { local: localById.get(rowId) ?? null, base: baseById.get(rowId) ?? null };
    return isAnswered(versions, index, table.columns[index] ?? null) ? [id] : [];
  });
}

/** Rows that wait for a person without an open question. */
function readUnasked(from: Connection, tableId: number): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_rows r WHERE table_id = ? AND state = 'conflicted' AND NOT EXISTS (
      SELECT 1 FROM _rowsync_conflicts c WHERE c.table_id = r.table_id AND c.row_id = r.row_id AND c.state = 'open')`;
  return queryNumbers(from, text, [tableId]);
}
