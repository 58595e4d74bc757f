/**
 * Rows of two-way tables that the origin, or a check before it, refused, and creates that are in doubt: what was said, what was
 * sent, and when the row is tried again by itself. The row's mark says whether it still waits (`refused`, `inDoubt`); a line
 * here without such a mark is history, and counts how often the row was refused. Values stay in the file (I16).
 */
import { EDITED_HERE } from '../reconcile/match.ts';
import { retryAfterMs, type RetryHope } from '../reconcile/push-outcome.ts';
import { WANTED_TWICE, type ChangeKind, type SentCell } from '../reconcile/push-plan.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { readDueIds, type WaitingRow } from '../replica/push-rows.ts';
import { queryNumbers, queryRows } from '../replica/query.ts';
import { objectText, storedFromValue, type Stored } from '../replica/rows.ts';
import { anyOf, ident, isOther, sql, unionAll, type Sql } from '../replica/sql.ts';
import { baseName } from '../replica/tables.ts';
import { readBatches, type BatchRow, type OriginWords } from './batches.ts';
import { hasOpenConflict } from './conflicts.ts';
import { moveRows } from './marks.ts';
import { cellName } from './rules.ts';
import type { TwoWayTable } from './table.ts';

/** Why a row waits. */
export interface NewRefusal {
  readonly rowId: number;
  readonly kind: ChangeKind;
  /** A sentence of ours, or the origin's words. */
  readonly reason: string;
  /** Index of the column at fault; null where it is the row. */
  readonly column: number | null;
  /** Null where the row was refused before it was sent. */
  readonly words: OriginWords | null;
  readonly hope: RetryHope;
  /** As they were, or would have been, sent. */
  readonly cells: readonly SentCell[];
}

/** Stores why a row waits; the caller moves its mark. */
export function storeRefusal(tx: Tx, table: TwoWayTable, refusal: NewRefusal, nowMs: number): void {
  const before = tx
    .prepare(sql`SELECT tries FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?`)
    .pluck()
    .get(table.id, refusal.rowId);
  const tries = (typeof before === 'number' ? before : 0) + 1;
  const waitMs = retryAfterMs(refusal.hope, tries);
  const columnName =
    refusal.column === null ? (refusal.words?.source ?? null) : (table.columns[refusal.column]?.localName ?? null);
  tx.prepare(sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?`).run(table.id, refusal.rowId);
  tx.prepare(
    sql`INSERT INTO _rowsync_refusals (table_id, row_id, kind, column_name, reason, status, code, sent, tries, since_ms, retry_at_ms)
        VALUES (@tableId, @rowId, @kind, @columnName, @reason, @status, @code, @sent, @tries, @now, @retryAt)`,
  ).run({
    tableId: table.id,
    rowId: refusal.rowId,
    kind: refusal.kind,
    columnName,
    reason: refusal.reason,
    status: refusal.words?.status ?? null,
    code: refusal.words?.code ?? null,
    sent: refusal.cells.length === 0 ? null : textFromCells(table, refusal.cells),
    tries,
    now: BigInt(Math.floor(nowMs)),
    retryAt: waitMs === null ? null : BigInt(Math.floor(nowMs + waitMs)),
  });
}

/** Cells as a JSON object of the replica's column names. */
function textFromCells({ columns }: TwoWayTable, cells: readonly SentCell[]): string {
  return objectText(
    cells.map(({ column, value }) => [columns[column]?.localName ?? '', storedFromValue(value)] as const),
  );
}

/** What is on its way of a row, or was sent when it was last refused, or came into doubt, as a JSON object; null where nothing is known of it. */
export function readSent(from: Connection, table: TwoWayTable, rowId: number): Stored {
  const isSent = ({ id, cells }: BatchRow): boolean => id === rowId && cells.length > 0;
  const sent = readBatches(from, table)
    .findLast(({ rows }) => rows.some(isSent))
    ?.rows.find(isSent);
  if (sent !== undefined) return textFromCells(table, sent.cells);
  const text = sql`SELECT sent FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?`;
  return queryRows(from, text, [table.id, rowId])[0]?.[0] ?? null;
}

/**
 * Ids of rows that wait and are known to be deleted here: their delete was refused, or a person is asked about it. Of a row that does not wait, a
 * mark does not tell a delete from an edit.
 */
export function readWaitingDeletes(from: Connection, tableId: number): readonly number[] {
  const text = sql`SELECT row_id FROM _rowsync_rows r WHERE table_id = ? AND (
      state = 'refused' AND EXISTS (SELECT 1 FROM _rowsync_refusals f
        WHERE f.table_id = r.table_id AND f.row_id = r.row_id AND f.kind = 'delete')
      OR state = 'conflicted' AND EXISTS (SELECT 1 FROM _rowsync_conflicts c
        WHERE c.table_id = r.table_id AND c.row_id = r.row_id AND c.kind = 'deletedHere' AND c.state = 'open'))`;
  return queryNumbers(from, text, [tableId]);
}

/** Ids of rows that wait for what they no longer are: refused with values and deleted here since, or the other way round. */
export function readOvertakenRefusals(from: Connection, table: TwoWayTable): readonly number[] {
  const text = sql`SELECT r.row_id FROM _rowsync_rows r
      JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id
      LEFT JOIN ${ident(table.localName)} l ON l._id = r.row_id
      WHERE r.table_id = ? AND r.state = 'refused' AND (l._id IS NULL) <> (f.kind = 'delete')`;
  return queryNumbers(from, text, [table.id]);
}

/**
 * Lets refused rows be tried again that differ from what the origin has in columns (by their ids there) which it shows again: they were sent
 * without these, and may have been refused for want of them.
 */
export function retryShown(tx: Tx, table: TwoWayTable, shown: ReadonlySet<number>, at: string): void {
  const differing = table.columns.flatMap(({ id, localName }) => {
    return shown.has(id) ? [isOther(sql`l.${ident(localName)}`, sql`b.${ident(localName)}`)] : [];
  });
  if (differing.length === 0) return;
  const text = sql`SELECT r.row_id FROM _rowsync_rows r JOIN ${ident(table.localName)} l ON l._id = r.row_id
      LEFT JOIN ${ident(baseName(table.id))} b ON b._id = r.row_id
      WHERE r.table_id = ? AND r.state = 'refused' AND ${anyOf(differing)}`;
  moveRows(tx, table.id, queryNumbers(tx, text, [table.id]), { event: 'localEdit', at });
}

/**
 * Lets refused rows be tried again that were refused for what they say in columns (by `seq`) which take something else by now: another width, or
 * an empty cell. Rows that wait for another reason go on waiting.
 */
export function retryChanged(tx: Tx, table: TwoWayTable, changed: ReadonlySet<number>, at: string): void {
  const columns = table.columns.filter(({ seq }) => changed.has(seq));
  if (columns.length === 0) return;
  // Our own rules begin with the column that they are about; the origin names it, or does not.
  const text = sql`SELECT r.row_id FROM _rowsync_rows r
      JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id
      WHERE r.table_id = ? AND r.state = 'refused' AND EXISTS (
        SELECT 1 FROM json_each(?) c WHERE f.column_name IN (c.value ->> 0, c.value ->> 1, c.value ->> 2)
          OR f.status IS NULL AND instr(f.reason, c.value ->> 3) = 1)`;
  const names = columns.map((column) => {
    return [column.localName, column.name, column.alias, `${cellName(table, column)} `];
  });
  moveRows(tx, table.id, queryNumbers(tx, text, [table.id, JSON.stringify(names)]), { event: 'localEdit', at });
}

/**
 * Lets every refused row of a table be tried again, since what it was refused for may be mended: while one of our triggers was missing,
 * no edit took the mark of a refused row away, and nothing tells what stood in the row when it was refused.
 */
export function retryUnwatched(tx: Tx, tableId: number, at: string): void {
  const text = sql`SELECT row_id FROM _rowsync_rows WHERE table_id = ? AND state = 'refused'`;
  moveRows(tx, tableId, queryNumbers(tx, text, [tableId]), { event: 'localEdit', at });
}

/**
 * Lets refused rows be tried again that were not sent: the configuration names another match column by now, or none, and what kept them back
 * may have been the former one, as where two were to have its value, or nothing could be made up that fits into it.
 */
export function retryUnsent(tx: Tx, tableId: number, at: string): void {
  const text = sql`SELECT r.row_id FROM _rowsync_rows r
      JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id
      WHERE r.table_id = ? AND r.state = 'refused' AND f.status IS NULL`;
  moveRows(tx, tableId, queryNumbers(tx, text, [tableId]), { event: 'retried', at });
}

/** Forgets why rows waited, once the origin took them. */
export function forgetRefusals(tx: Tx, tableId: number, ids: readonly number[]): void {
  tx.prepare(sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`).run(
    tableId,
    JSON.stringify(ids),
  );
}

/** Lets refused rows be tried again whose time has come, and those that waited for another row here and are alone by now. */
export function retryDue(tx: Tx, table: TwoWayTable, { nowMs, at }: { nowMs: number; at: string }): void {
  const due = new Set([...readDueIds(tx, table.id, nowMs), ...readAlone(tx, table)]);
  moveRows(tx, table.id, [...due], { event: 'retried', at });
}

/**
 * Refused rows that waited because another row was to have their match value, or has it at the origin and was edited here, and that are alone
 * with it by now: the other one was deleted, or got another value, and the origin has taken that.
 */
function readAlone(
  from: Connection,
  { id, localName: tableName, columns, matchColumn }: TwoWayTable,
): readonly number[] {
  const match = columns.find(({ name }) => name === matchColumn);
  if (match === undefined) return [];
  const { localName, type } = match;
  const local = ident(tableName);
  // Numbers are what they are worth, however a user spelled them.
  const isNumber = type === 'Numeric' || type === 'Duration';
  const valueOf = (row: Sql): Sql => {
    return isNumber ? sql`CAST(${row}.${ident(localName)} AS NUMERIC)` : sql`${row}.${ident(localName)}`;
  };
  // However many wait, the table is read once; if none does, not at all.
  const text = sql`WITH _rowsync_waiting(id, value) AS MATERIALIZED (
        SELECT r.row_id, ${valueOf(sql`l`)} FROM _rowsync_rows r
        JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id
        JOIN ${local} l ON l._id = r.row_id
        WHERE r.table_id = ? AND r.state = 'refused' AND f.status IS NULL
          AND (instr(f.reason, ?) > 0 OR instr(f.reason, ?) > 0))
      SELECT id FROM _rowsync_waiting WHERE value IN (
        SELECT ${valueOf(sql`o`)} FROM ${local} o WHERE ${valueOf(sql`o`)} IN (SELECT value FROM _rowsync_waiting)
        GROUP BY 1 HAVING count(*) = 1)
      AND NOT EXISTS (SELECT 1 FROM ${ident(baseName(id))} b WHERE ${valueOf(sql`b`)} = _rowsync_waiting.value AND b._id <> _rowsync_waiting.id)`;
  return queryNumbers(from, text, [id, WANTED_TWICE, EDITED_HERE]);
}

/** Tries of a row that names new rows of other tables, by itself; a value that is there by chance is to cost no more than this. */
const NAMING_TRIES_MAX = 3;

/**
 * Refused rows that name a row of another table which a push has made, and no pull has seen yet, by its unique value: tables go side by side, and
 * an order line may have come before its order. Nobody tells which column refers to which table, nor that a row was refused for that.
 */
export function readNaming(
  from: Connection,
  tables: readonly TwoWayTable[],
): readonly { readonly tableId: number; readonly rowId: number }[] {
  const isAny = from.prepare(sql`SELECT 1 FROM _rowsync_rows WHERE state = 'refused' LIMIT 1`).get() !== undefined;
  if (!isAny) return [];
  return tables.flatMap(({ id, columns, matchColumn }) => {
    const values = columns
      .filter(({ unique, name }) => unique || name === matchColumn)
      .map(({ localName }) => {
        const value = sql`b.${ident(localName)}`;
        return sql`SELECT CAST(${value} AS TEXT) FROM _rowsync_suspects s JOIN ${ident(baseName(id))} b ON b._id = s.row_id
          WHERE s.table_id = ${id} AND s.applied = 0 AND coalesce(${value}, '') <> ''`;
      });
    if (values.length === 0) return [];
    const text = sql`WITH _rowsync_named(value) AS MATERIALIZED (${unionAll(values)})
      SELECT f.table_id, f.row_id FROM _rowsync_refusals f
      JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id AND r.state = 'refused'
      WHERE f.table_id <> ? AND f.kind <> 'delete' AND f.status IS NOT NULL AND f.retry_at_ms IS NULL AND f.tries < ?
        AND EXISTS (SELECT 1 FROM json_each(f.sent) c WHERE CAST(c.value AS TEXT) IN (SELECT value FROM _rowsync_named))`;
    return queryRows(from, text, [id, NAMING_TRIES_MAX]).map(([tableId, rowId]) => {
      return { tableId: Number(tableId), rowId: Number(rowId) };
    });
  });
}

/** Lets rows be tried again at the next push, whatever they waited for; a question that is left about one is answered first. */
export function retryRows(tx: Tx, rows: readonly WaitingRow[], at: string): void {
  for (const { tableId, rowId } of rows) {
    moveRows(tx, tableId, [rowId], { event: 'retried', at });
    if (hasOpenConflict(tx, tableId, rowId)) moveRows(tx, tableId, [rowId], { event: 'conflicted', at });
  }
  // Whoever asks for another try has seen to it that nobody else changes the rows back.
  for (const tableId of new Set(rows.map((row) => row.tableId))) {
    tx.prepare(sql`DELETE FROM _rowsync_pushes WHERE table_id = ?`).run(tableId);
  }
}
