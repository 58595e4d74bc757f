/**
 * Removes the values of a column, in all rows, that are kept beside its table: for columns that the configuration now
 * leaves out or masks. Called in the transaction that drops the column, before the drop.
 *
 * Deleted rows name columns as they were called then. A value under a name that no column has now may belong to this
 * column, so it is removed too.
 */
import { sql, type Sql } from '../base/sql.ts';
import { readColumns, type LedgerColumn } from '../replica/bookkeeping/columns.ts';
import type { Tx } from '../replica/connection.ts';
import { markJournal } from '../replica/bookkeeping/history.ts';
import { forgetFilesOfColumn } from '../replica/bookkeeping/files.ts';

/**
 * Forgets a column; no row of the table may be on its way to the origin, or wait with an edit of the column. Returns the contents of its files, which
 * other files may share.
 */
export function forgetColumn(tx: Tx, tableId: number, column: LedgerColumn, at: string): readonly string[] {
  tx.journal.flush();
  const entryCount = forgetEntries(tx, tableId, column);
  forgetDeleted(tx, tableId, column);
  forgetConflicts(tx, tableId, column);
  forgetRefusals(tx, tableId, column);
  tx.prepare(sql`DELETE FROM _rowsync_unreadable WHERE table_id = ? AND column_name = ?`).run(tableId, column.name);
  if (tx.journal.isKept(tableId) || entryCount > 0) {
    const note = { column: column.localName, columnSeq: column.seq, entries: entryCount };
    markJournal(tx, tableId, { kind: 'forgotten', at, note });
  }
  return forgetFilesOfColumn(tx, tableId, column.id);
}

/** The cells of a column in entries of rows, and in the edits that the journal knows. The author of the last change is a column too. */
function forgetEntries(tx: Tx, tableId: number, { seq, kind }: LedgerColumn): number {
  const values = { tableId, seq };
  const isOther = sql`c.value ->> 0 <> @seq`;
  const has = sql`EXISTS (SELECT 1 FROM json_each(cells) c WHERE NOT ${isOther})`;
  const rest = (json: Sql): Sql => sql`(SELECT ${json}(json(c.value)) FROM json_each(cells) c WHERE ${isOther})`;
  const isOwn = sql`table_id = @tableId AND kind IN ('insert', 'update', 'delete')`;
  const size = sql`SELECT coalesce(sum(length(cells)), 0) FROM _rowsync_history WHERE ${isOwn}`;
  const sizeOf = (): number => Number(tx.prepare(size).pluck().get({ tableId }));
  const before = sizeOf();
  const entries = tx
    .prepare(sql`UPDATE _rowsync_history SET cells = ${rest(sql`json_group_array`)} WHERE ${isOwn} AND ${has}`)
    .run(values);
  if (kind === 'LastModifiedBy') {
    tx.prepare(sql`UPDATE _rowsync_history SET origin_by = NULL WHERE ${isOwn} AND origin_by IS NOT NULL`).run({
      tableId,
    });
  }
  tx.prepare(sql`UPDATE _rowsync_history_tables SET bytes = max(0, bytes - ?) WHERE table_id = ?`).run(
    before - sizeOf(),
    tableId,
  );
  tx.prepare(
    sql`UPDATE _rowsync_history_edits SET cells = ${rest(sql`jsonb_group_array`)} WHERE table_id = @tableId AND cells IS NOT NULL AND ${has}`,
  ).run(values);
  return entries.changes;
}

function forgetDeleted(tx: Tx, tableId: number, { seq }: LedgerColumn): void {
  const others = readColumns(tx, tableId).flatMap((column) => (column.seq === seq ? [] : [column.localName]));
  const kept = JSON.stringify(['_id', '_allow', ...others]);
  const isGone = sql`NOT EXISTS (SELECT 1 FROM json_each(@kept) k WHERE k.value = v.key COLLATE NOCASE)`;
  removeKeys(tx, { table: sql`_rowsync_deleted`, column: sql`row_values`, isGone }, { tableId, kept });
}

/** A conflict about one of its cells is removed whole. */
function forgetConflicts(tx: Tx, tableId: number, { seq, localName }: LedgerColumn): void {
  const cells = sql`DELETE FROM _rowsync_conflicts WHERE table_id = ? AND kind = 'cell' AND column_seq = ?`;
  tx.prepare(cells).run(tableId, seq);
  const isGone = sql`v.key = @name COLLATE NOCASE`;
  for (const column of [sql`base`, sql`local`, sql`remote`]) {
    const place = { table: sql`_rowsync_conflicts`, column, isGone, only: sql`kind <> 'cell'` };
    removeKeys(tx, place, { tableId, name: localName });
  }
}

/** The origin's words may quote a value. They are removed if the row no longer waits. */
function forgetRefusals(tx: Tx, tableId: number, { localName }: LedgerColumn): void {
  tx.prepare(
    sql`DELETE FROM _rowsync_refusals WHERE table_id = ? AND NOT EXISTS (SELECT 1 FROM _rowsync_rows r
          WHERE r.table_id = _rowsync_refusals.table_id AND r.row_id = _rowsync_refusals.row_id AND r.state = 'inDoubt')`,
  ).run(tableId);
  const isGone = sql`v.key = @name COLLATE NOCASE`;
  removeKeys(tx, { table: sql`_rowsync_refusals`, column: sql`sent`, isGone }, { tableId, name: localName });
}

/** Removes keys from JSON objects one at a time, so that the other values keep their digits. */
function removeKeys(
  tx: Tx,
  place: { readonly table: Sql; readonly column: Sql; readonly isGone: Sql; readonly only?: Sql },
  values: Readonly<Record<string, string | number>>,
): void {
  const { table, column, isGone, only = sql`1` } = place;
  const path = sql`SELECT v.fullkey FROM json_each(${column}) v WHERE ${isGone}`;
  const text = sql`UPDATE ${table} SET ${column} = json_remove(${column}, (${path} LIMIT 1))
      WHERE table_id = @tableId AND ${only} AND ${column} IS NOT NULL AND EXISTS (${path})`;
  while (tx.prepare(text).run(values).changes > 0); // ends: each round takes a key from every object that it changes
}
