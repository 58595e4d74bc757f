/**
 * Why rows were not taken, and when they are tried again. A line whose row no longer waits counts its refusals.
 */
import { type Backoff, backoffMs, BACKOFFS } from '../../base/retries.ts';
import { ident, sql } from '../../base/sql.ts';
import type { RowRefusal } from '../../reconcile/row-outcome.ts';
import type { RetryHope } from '../../reconcile/push-answer.ts';
import type { Connection, Tx, Stored, WrittenTable } from '../connection.ts';
import { queryAll, queryFirst, queryNumbers, queryText } from '../query.ts';
import { objectText, storedFromValue } from '../rows.ts';
import type { ColumnedTable } from './columns.ts';

/**
 * A row waits only while its mark in _rowsync_rows is `refused` or `inDoubt`.
 *
 *    reason        the origin's message, or our own if the row was stopped before it was sent
 *    status, code  from the origin; null if the row was not sent
 *    sent          JSON object of the cells as they were sent; null for deletes and for what was not sent
 *    tries         refusals so far; with retry_at_ms (null for never) they say when the row is tried again
 */
export const REFUSALS = sql`
  CREATE TABLE _rowsync_refusals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, row_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('insert', 'update', 'delete')), column_name TEXT, reason TEXT NOT NULL,
    status INTEGER, code INTEGER, sent TEXT, tries INTEGER NOT NULL, since_ms INTEGER NOT NULL, retry_at_ms INTEGER,
    UNIQUE (table_id, row_id)
  ) STRICT`;

/** Rows that could not be read, and rows that were not taken, with the reason; `id` is what `rowsync retry` takes. */
export const FAILURES_VIEW = sql`
  CREATE VIEW sync_failures AS
  SELECT NULL AS id, t.local_name AS "table", u.row_id, 'read' AS kind, u.column_name AS "column", u.reason, u.since,
         NULL AS status, NULL AS code, NULL AS sent, NULL AS retry_at
  FROM _rowsync_unreadable u JOIN _rowsync_tables t ON t.id = u.table_id
  UNION ALL
  SELECT f.id, t.local_name, f.row_id, CASE r.state WHEN 'inDoubt' THEN 'inDoubt' ELSE f.kind END, f.column_name, f.reason,
         strftime('%Y-%m-%dT%H:%M:%SZ', f.since_ms / 1000, 'unixepoch'), f.status, f.code, f.sent,
         strftime('%Y-%m-%dT%H:%M:%SZ', f.retry_at_ms / 1000, 'unixepoch')
  FROM _rowsync_refusals f JOIN _rowsync_tables t ON t.id = f.table_id
  JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id AND r.state IN ('refused', 'inDoubt')`;

export function readDueIds(from: Connection, tableId: number, nowMs: number): readonly number[] {
  // Refused later than now: the clock was set back.
  const text = sql`SELECT f.row_id FROM _rowsync_refusals f JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id
      WHERE f.table_id = @tableId AND r.state = 'refused' AND f.retry_at_ms IS NOT NULL
        AND (f.retry_at_ms <= @now OR f.since_ms > @now)`;
  return queryNumbers(from, text, [{ tableId, now: Math.floor(nowMs) }]);
}

/** When the first refused row after a time is due, in epoch milliseconds; Infinity for none. */
export function readNextRetryMs(from: Connection, afterMs: number): number {
  const text = sql`SELECT min(f.retry_at_ms) FROM _rowsync_refusals f JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id
      WHERE r.state = 'refused' AND f.retry_at_ms > ? HAVING count(*) > 0`;
  return queryNumbers(from, text, [Math.floor(afterMs)])[0] ?? Infinity;
}

/** Why rows of a table wait, or waited, by row; `isOfOrigin` if the origin answered so. */
export function readReasons(
  from: Connection,
  tableId: number,
): ReadonlyMap<number, { readonly reason: string; readonly isOfOrigin: boolean }> {
  const text = sql`SELECT row_id AS rowId, reason, status FROM _rowsync_refusals WHERE table_id = ?`;
  const rows = queryAll(from, text, [tableId]) as { rowId: number; reason: string; status: number | null }[];
  return new Map(rows.map(({ rowId, reason, status }) => [rowId, { reason, isOfOrigin: status !== null }]));
}

export interface WaitingRow {
  /** Of the failure, as `sync_failures` has it. */
  readonly id: number;
  readonly tableId: number;
  readonly rowId: number;
  readonly state: 'refused' | 'inDoubt';
}

/** Refused rows and creates in doubt, in the order of their failures; empty `ids` for all. */
export function readWaiting(from: Connection, ids: readonly number[]): readonly WaitingRow[] {
  const text = sql`SELECT f.id, f.table_id AS tableId, f.row_id AS rowId, r.state FROM _rowsync_refusals f
          JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id AND r.state IN ('refused', 'inDoubt')
          WHERE @all OR f.id IN (SELECT value FROM json_each(@ids)) ORDER BY f.id`;
  return queryAll(from, text, [{ all: ids.length === 0 ? 1 : 0, ids: JSON.stringify(ids) }]) as WaitingRow[];
}

/** Those of the given rows whose own request, with no other row, ended without a message from the origin. */
export function readUnansweredIds(from: Connection, tableId: number, ids: readonly number[]): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_refusals WHERE table_id = ? AND status IS NOT NULL AND code IS NULL
      AND row_id IN (SELECT value FROM json_each(?))`;
  return queryNumbers(from, text, [tableId, JSON.stringify(ids)]);
}

/** The sent values of a row at its last refusal, or when it came into doubt, as a JSON object; null if unknown. */
export function readSent(from: Connection, tableId: number, rowId: number): string | null {
  const text = sql`SELECT sent FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?`;
  return queryText(from, text, [tableId, rowId]);
}

/** Ids of waiting rows known to be deleted here: their delete was refused, or a person is asked about it. */
export function readWaitingDeletes(from: Connection, tableId: number): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_rows r WHERE table_id = ? AND (
      state = 'refused' AND EXISTS (SELECT 1 FROM _rowsync_refusals f
        WHERE f.table_id = r.table_id AND f.row_id = r.row_id AND f.kind = 'delete')
      OR state = 'conflicted' AND EXISTS (SELECT 1 FROM _rowsync_conflicts c
        WHERE c.table_id = r.table_id AND c.row_id = r.row_id AND c.kind = 'deletedHere' AND c.state = 'open'))`;
  return queryNumbers(from, text, [tableId]);
}

/** Waiting rows whose refusal is outdated: refused with values and deleted here since, or the other way round. */
export function readOvertakenRefusals(from: Connection, table: WrittenTable): readonly number[] {
  const text = sql`SELECT r.row_id FROM _rowsync_rows r
      JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id
      LEFT JOIN ${ident(table.localName)} l ON l._id = r.row_id
      WHERE r.table_id = ? AND r.state = 'refused' AND (l._id IS NULL) <> (f.kind = 'delete')`;
  return queryNumbers(from, text, [table.id]);
}

/** Forgets why rows waited, once the origin accepted them. */
export function forgetRefusals(tx: Tx, tableId: number, ids: readonly number[]): void {
  const text = sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
  tx.prepare(text).run(tableId, JSON.stringify(ids));
}

/** When a refused row is sent again without a person; null for never. */
const BACKOFF_BY_HOPE: Readonly<Record<RetryHope, Backoff | null>> = {
  soon: BACKOFFS.busyRow,
  later: BACKOFFS.rightlessRow,
  never: null,
};

/** Stores why a row waits, and until when, in place of what was kept before. */
export function storeRefusal(
  tx: Tx,
  { id: tableId, columns }: ColumnedTable,
  { rowId, kind, reason, words, hope, ...refusal }: RowRefusal & { readonly rowId: number },
  nowMs: number,
): void {
  const forget = sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND row_id = ? RETURNING tries`;
  const before = queryFirst(tx, forget, [tableId, rowId]) as { readonly tries: number } | null;
  const tries = (before?.tries ?? 0) + 1;
  const backoff = BACKOFF_BY_HOPE[hope];
  const nameOf = (column: number): string | null => columns[column]?.localName ?? null;
  // The origin uses its own name of the column.
  const blamed = columns.find(({ name }) => name === words?.source)?.localName ?? words?.source ?? null;
  const sent = refusal.cells.map(({ column, value }) => [nameOf(column) ?? '', storedFromValue(value)] as const);
  tx.prepare(
    sql`INSERT INTO _rowsync_refusals (table_id, row_id, kind, column_name, reason, status, code, sent, tries, since_ms, retry_at_ms)
        VALUES (@tableId, @rowId, @kind, @columnName, @reason, @status, @code, @sent, @tries, @now, @retryAt)`,
  ).run({
    tableId,
    rowId,
    kind,
    reason,
    tries,
    columnName: refusal.column === null ? blamed : nameOf(refusal.column),
    status: words?.status ?? null,
    code: words?.code ?? null,
    sent: sent.length === 0 ? null : objectText(sent),
    now: BigInt(Math.floor(nowMs)),
    retryAt: backoff && BigInt(Math.floor(nowMs + backoffMs(backoff, tries))),
  });
}

/** Moves what is kept of a row to its new id. */
export function renumberRefusal(tx: Tx, tableId: number, fromId: number, toId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?`).run(tableId, toId);
  tx.prepare(sql`UPDATE _rowsync_refusals SET row_id = ? WHERE table_id = ? AND row_id = ?`).run(toId, tableId, fromId);
}

/** Replaces the name of the column at fault, and the sent values by the same values under new column names. */
export function storeSentNames(tx: Tx, id: Stored, { name, sent }: Readonly<Record<'name' | 'sent', Stored>>): void {
  tx.prepare(sql`UPDATE _rowsync_refusals SET column_name = ?, sent = ? WHERE id = ?`).run(name, sent, id);
}
