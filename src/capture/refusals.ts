/**
 * Rows of two-way tables that the origin, or a check before it, refused, and creates that are in doubt. Each line has the reason, the sent values,
 * and the time of the next try. The row's mark says whether it still waits (`refused`, `inDoubt`); a line without such a mark is history, and counts
 * how often the row was refused. Values stay in the file (I16).
 */
import { ident, sql } from '../base/sql.ts';
import type { TwoWayTable } from './table.ts';
import { hasOpenConflict } from '../replica/bookkeeping/conflicts.ts';
import { readDueIds, type WaitingRow } from '../replica/bookkeeping/refusals.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { queryNumbers, queryRows } from '../replica/query.ts';
import { applyEvent } from './writer/apply.ts';

/** Those of the given rows that were parked because a request with them alone ended without words of the origin. */
export function readUnansweredIds(from: Connection, tableId: number, ids: readonly number[]): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_refusals WHERE table_id = ? AND status IS NOT NULL AND code IS NULL
      AND row_id IN (SELECT value FROM json_each(?))`;
  return queryNumbers(from, text, [tableId, JSON.stringify(ids)]);
}

/** The sent values of a row at its last refusal, or when it came into doubt, as a JSON object; null if unknown. */
export function readSent(from: Connection, table: TwoWayTable, rowId: number): string | null {
  const text = sql`SELECT sent FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?`;
  const [sent] = queryRows(from, text, [table.id, rowId])[0] ?? [];
  return typeof sent === 'string' ? sent : null;
}

/**
 * Ids of waiting rows that are known to be deleted here: their delete was refused, or a person is asked about it. The mark of a row that does not
 * wait does not distinguish a delete from an edit.
 */
export function readWaitingDeletes(from: Connection, tableId: number): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_rows r WHERE table_id = ? AND (
      state = 'refused' AND EXISTS (SELECT 1 FROM _rowsync_refusals f
        WHERE f.table_id = r.table_id AND f.row_id = r.row_id AND f.kind = 'delete')
      OR state = 'conflicted' AND EXISTS (SELECT 1 FROM _rowsync_conflicts c
        WHERE c.table_id = r.table_id AND c.row_id = r.row_id AND c.kind = 'deletedHere' AND c.state = 'open'))`;
  return queryNumbers(from, text, [tableId]);
}

/** Ids of waiting rows whose refusal is outdated: refused with values and deleted here since, or the other way round. */
export function readOvertakenRefusals(from: Connection, table: TwoWayTable): readonly number[] {
  const text = sql`SELECT r.row_id FROM _rowsync_rows r
      JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id
      LEFT JOIN ${ident(table.localName)} l ON l._id = r.row_id
      WHERE r.table_id = ? AND r.state = 'refused' AND (l._id IS NULL) <> (f.kind = 'delete')`;
  return queryNumbers(from, text, [table.id]);
}

/**
 * Lets every refused row of a table be tried again, since the cause may be gone: the origin accepts other values in a column, the configuration names
 * another match column, or another client wrote while one of our triggers was missing.
 */
export function retryRefused(tx: Tx, tableId: number, at: string): void {
  const text = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = ? AND state = 'refused'`;
  applyEvent(tx, tableId, queryNumbers(tx, text, [tableId]), { event: 'retried', at });
}

/** Lets refused rows be tried again whose time has come. */
export function retryDue(tx: Tx, table: TwoWayTable, { nowMs, at }: { nowMs: number; at: string }): void {
  applyEvent(tx, table.id, readDueIds(tx, table.id, nowMs), { event: 'retried', at });
}

/** Lets rows be tried again at the next push, whatever they waited for. An open question about a row still comes first. */
export function retryRows(tx: Tx, rows: readonly WaitingRow[], at: string): void {
  for (const { tableId, rowId } of rows) {
    applyEvent(tx, tableId, [rowId], { event: 'retried', at });
    if (hasOpenConflict(tx, tableId, rowId)) applyEvent(tx, tableId, [rowId], { event: 'conflicted', at });
  }
}
