/**
 * Removes the values of a row, or of one column of it, that are kept beside its table: in the history, `sync_deleted`,
 * conflicts and files of deleted rows. The table itself keeps them, since it shows what the origin has.
 *
 * Entries keep their kinds and times, so that the history stays consistent, and lose their cells. A conflict is
 * removed completely: otherwise a person could take an emptied version of it.
 */
import { ident, sql, type Sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../../replica/connection.ts';
import { markJournal } from '../../replica/bookkeeping/history.ts';
import { hasTable } from '../../replica/objects.ts';
import { queryNumbers, queryRows } from '../../replica/query.ts';

/** A row that may be kept somewhere. */
export interface ForgettableRow {
  readonly tableId: number;
  /** The name that it has here, or had. */
  readonly table: string;
  readonly rowId: number;
  /** Null for the whole row. */
  readonly column: ForgettableColumn | null;
}

/** A column by its ledger row and its name here; `originId` is null for one that was pruned. */
export interface ForgettableColumn {
  readonly seq: number;
  readonly name: string;
  readonly originId: number | null;
}

/** What was removed. */
export interface ForgetReport {
  /** Entries of the journal that lost values. */
  readonly entryCount: number;
  readonly deletedCount: number;
  readonly conflictCount: number;
  readonly fileCount: number;
  /** Contents of removed files, which other files may share. */
  readonly contents: readonly string[];
}

/** A row by the name of its table, which may be pruned or known from deleted rows only; null if there is none. */
export function findForgettable(
  from: Connection,
  name: string,
): { readonly id: number; readonly table: string } | null {
  const names = sql`SELECT id, local_name AS name FROM _rowsync_tables
      UNION SELECT table_id, name FROM _rowsync_history_names WHERE column_seq = 0
      UNION SELECT table_id, table_name FROM _rowsync_deleted WHERE table_id NOT IN (SELECT id FROM _rowsync_tables)`;
  const text = sql`SELECT id, name FROM (${names}) WHERE name = ? COLLATE NOCASE ORDER BY name = ? DESC LIMIT 1`;
  const [row] = queryRows(from, text, [name, name]);
  return row === undefined ? null : { id: Number(row[0]), table: String(row[1]) };
}

/** A column by its name here, also a pruned one; null if there is none. */
export function findForgettableColumn(from: Connection, tableId: number, name: string): ForgettableColumn | null {
  const names = sql`SELECT seq, local_name AS name, id FROM _rowsync_columns WHERE table_id = ?
      UNION ALL SELECT column_seq, name, NULL FROM _rowsync_history_names WHERE table_id = ? AND column_seq > 0`;
  const text = sql`SELECT seq, name, id FROM (${names}) WHERE name = ? COLLATE NOCASE ORDER BY name = ? DESC LIMIT 1`;
  const [row] = queryRows(from, text, [tableId, tableId, name, name]);
  if (row === undefined) return null;
  return { seq: Number(row[0]), name: String(row[1]), originId: row[2] === null ? null : Number(row[2]) };
}

/** An open conflict of the row, whose versions are still needed; null for none. */
export function findOpenConflict(from: Connection, { tableId, rowId }: ForgettableRow): number | null {
  const text = sql`SELECT id FROM _rowsync_conflicts WHERE table_id = ? AND row_id = ? AND state = 'open' LIMIT 1`;
  return queryNumbers(from, text, [tableId, rowId])[0] ?? null;
}

/** Removes the kept values of a row and adds an entry about it; does nothing if none are kept. */
export function forgetRow(tx: Tx, row: ForgettableRow, at: string): ForgetReport {
  // Entries that this transaction has yet to write are of the row as well.
  tx.journal.flush();
  const ids = [row.rowId, ...formerIds(tx, row)];
  const entryCount = ids.reduce((sum, id) => sum + forgetEntries(tx, row, id), 0);
  const deletedCount = ids.reduce((sum, id) => sum + forgetDeleted(tx, row, id), 0);
  const conflictCount = ids.reduce((sum, id) => sum + forgetConflicts(tx, row, id), 0);
  const files = isHere(tx, row) ? { count: 0, contents: [] } : forgetFiles(tx, row);
  const report = { entryCount, deletedCount, conflictCount, fileCount: files.count, contents: files.contents };
  if (entryCount + deletedCount + conflictCount + files.count === 0) return report;
  const note = { column: row.column?.name ?? null, columnSeq: row.column?.seq ?? null, entries: entryCount };
  markJournal(tx, row.tableId, { kind: 'forgotten', at, note, rowId: row.rowId });
  return report;
}

/** Ids that a row had before the origin gave it this one. */
export function formerIds(from: Connection, { tableId, rowId }: ForgettableRow): readonly number[] {
  const text = sql`SELECT was_id FROM _rowsync_history WHERE row_id = ? AND table_id = ? AND was_id IS NOT NULL`;
  return queryNumbers(from, text, [rowId, tableId]);
}

function forgetEntries(tx: Tx, { tableId, column }: ForgettableRow, rowId: number): number {
  const isOwn = sql`row_id = @rowId AND table_id = @tableId AND kind IN ('insert', 'update', 'delete')`;
  const isOther = sql`c.value ->> 0 <> @seq`;
  const [has, rest, by] =
    column === null
      ? [sql`json_array_length(cells) > 0 OR origin_by IS NOT NULL`, sql`'[]'`, sql`NULL`]
      : [
          sql`EXISTS (SELECT 1 FROM json_each(cells) c WHERE NOT ${isOther})`,
          sql`(SELECT json_group_array(json(c.value)) FROM json_each(cells) c WHERE ${isOther})`,
          sql`origin_by`,
        ];
  const values = { tableId, rowId, seq: column?.seq ?? 0 };
  const size = sql`SELECT coalesce(sum(length(cells)), 0) FROM _rowsync_history WHERE ${isOwn}`;
  const before = Number(tx.prepare(size).pluck().get(values));
  const text = sql`UPDATE _rowsync_history SET cells = ${rest}, origin_by = ${by} WHERE ${isOwn} AND (${has})`;
  const { changes } = tx.prepare(text).run(values);
  const freed = before - Number(tx.prepare(size).pluck().get(values));
  const take = sql`UPDATE _rowsync_history_tables SET bytes = max(0, bytes - ?) WHERE table_id = ?`;
  tx.prepare(take).run(freed, tableId);
  return changes;
}

function forgetDeleted(tx: Tx, { tableId, column }: ForgettableRow, rowId: number): number {
  const isOwn = sql`table_id = @tableId AND row_id = @rowId`;
  const values = { tableId, rowId };
  if (column === null) {
    const all = sql`UPDATE _rowsync_deleted SET row_values = '{}' WHERE ${isOwn} AND row_values <> '{}'`;
    return tx.prepare(all).run(values).changes;
  }
  // The name of that time. Today's name may have meant another column then, but still of this row.
  const place = sql`SELECT v.fullkey FROM json_each(row_values) v WHERE v.key = @name COLLATE NOCASE`;
  const text = sql`UPDATE _rowsync_deleted SET row_values = json_remove(row_values, (${place} LIMIT 1))
      WHERE ${isOwn} AND EXISTS (${place})`;
  return tx.prepare(text).run({ ...values, name: column.name.replace(/ \(pruned\)$/, '') }).changes;
}

/** Decided conflicts, and refusals of rows that no longer wait. */
function forgetConflicts(tx: Tx, { tableId, column }: ForgettableRow, rowId: number): number {
  const ofColumn = column === null ? sql`1` : sql`(kind <> 'cell' OR column_seq = ${column.seq})`;
  const conflicts = sql`DELETE FROM _rowsync_conflicts WHERE table_id = ? AND row_id = ? AND state <> 'open' AND ${ofColumn}`;
  const refusals = sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND row_id = ?
      AND NOT EXISTS (SELECT 1 FROM _rowsync_rows r WHERE r.table_id = _rowsync_refusals.table_id AND r.row_id = _rowsync_refusals.row_id)`;
  tx.prepare(refusals).run(tableId, rowId);
  return tx.prepare(conflicts).run(tableId, rowId).changes;
}

/** Whether the row is in its table: then its files are those of the origin. */
function isHere(from: Connection, { tableId, rowId }: ForgettableRow): boolean {
  const [name] = queryRows(from, sql`SELECT local_name FROM _rowsync_tables WHERE id = ?`, [tableId]);
  const table = name === undefined ? null : String(name[0]);
  if (table === null || !hasTable(from, table)) return false;
  return from.prepare(sql`SELECT 1 FROM ${ident(table)} WHERE _id = ?`).get(rowId) !== undefined;
}

function forgetFiles(
  tx: Tx,
  { tableId, rowId, column }: ForgettableRow,
): { readonly count: number; readonly contents: readonly string[] } {
  if (column !== null && column.originId === null) return { count: 0, contents: [] };
  const isOwn: Sql = sql`table_id = ? AND row_id = ? AND ${column === null ? sql`1` : sql`column_id = ${column.originId ?? 0}`}`;
  const hashes = sql`SELECT DISTINCT sha256 FROM _rowsync_files WHERE ${isOwn} AND sha256 IS NOT NULL`;
  const contents = queryRows(tx, hashes, [tableId, rowId]).map(([hash]) => String(hash));
  tx.prepare(sql`DELETE FROM _rowsync_file_cells WHERE ${isOwn}`).run(tableId, rowId);
  const { changes } = tx.prepare(sql`DELETE FROM _rowsync_files WHERE ${isOwn}`).run(tableId, rowId);
  return { count: changes, contents };
}
