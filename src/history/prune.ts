/**
 * What leaves the history: entries that are too old, or take too much space (reconcile/history-bounds.ts decides). Also
 * the values of a column that the configuration now leaves out or masks. Deleted rows name columns as they were called
 * then. A value under a name that no column has now may belong to the column that goes, so it is removed too.
 */
import { stampFromMs, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { sql, type Sql } from '../base/sql.ts';
import { removalOf, type Bounds, type Removal } from '../reconcile/history-bounds.ts';
import type { Tx } from '../replica/connection.ts';
import type { Replica } from '../replica/database.ts';
import { findTable } from '../replica/bookkeeping/tables.ts';
import { queryRows } from '../replica/query.ts';
import { ENTRY_BYTES, holdPruning, markHistory, readHistories, secondsOf } from '../replica/bookkeeping/history.ts';
import { readColumns, type ColumnRecord } from '../replica/bookkeeping/columns.ts';
import { forgetFilesOfColumn } from '../replica/bookkeeping/files.ts';

/** Entries deleted in one transaction, so that no reader waits long. */
const CHUNK = 5_000;

/** Prunes each history that has bounds; returns how many entries went. @throws RowsyncError of the replica. */
export async function pruneHistories(given: {
  readonly replica: Replica;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** By how much this clock is ahead of the origin's; null where that is not known. */
  readonly clockAheadMs: number | null;
  readonly log: Logger;
  readonly settings: { readonly tableOptions: (name: string) => { history?: Bounds | null | undefined } | null };
}): Promise<number> {
  const { replica, clock, clockAheadMs, log, settings } = given;
  const at = stampFromMs(clock.nowMs());
  const ahead = clockAheadMs === null ? null : clockAheadMs / 1000;
  let removedCount = 0;
  for (const history of readHistories(replica)) {
    const { tableId, begunSeq, oldestAt, bytes, pruningHeld } = history;
    const table = findTable(replica, tableId);
    const bounds = settings.tableOptions(table?.name ?? '')?.history ?? null;
    if (bounds === null || begunSeq === null || oldestAt === null) continue;
    const removal = removalOf({ bytes, oldestAt }, bounds, { now: secondsOf(at), ahead });
    const held = removal?.held ?? null;
    if (held !== pruningHeld) await replica.write('Pruning history', (tx) => holdPruning(tx, tableId, held));
    const count = removal === null ? 0 : await prune(replica, tableId, removal, at);
    if (count > 0) log.info('history.pruned', { table: table?.localName ?? '', rowCount: count });
    removedCount += count;
  }
  return removedCount;
}

async function prune(replica: Replica, tableId: number, removal: Removal, at: string): Promise<number> {
  let [count, freed] = [0, 0];
  for (;;) {
    const pruned = await replica.write('Pruning history', (tx) => pruneChunk(tx, tableId, { ...removal, freed }, at));
    count += pruned.count;
    freed += pruned.bytes;
    if (pruned.count < CHUNK) return count; // ends: every chunk makes the history smaller
  }
}

/** Deletes one chunk; `freed` bytes went before it. */
function pruneChunk(
  tx: Tx,
  tableId: number,
  { before, agedBytesMax, excessBytes, freed }: Removal & { readonly freed: number },
  at: string,
): { readonly count: number; readonly bytes: number } {
  const text = sql`SELECT seq, at, coalesce(length(cells), 0) + ${ENTRY_BYTES} FROM _rowsync_history
      WHERE table_id = ? ORDER BY seq LIMIT ${CHUNK}`;
  const oldest = queryRows(tx, text, [tableId]).map(([seq, time, size]) => {
    return { seq: Number(seq), at: Number(time), size: Number(size) };
  });
  let bytes = 0;
  let count = 0;
  for (const entry of oldest) {
    const gone = freed + bytes;
    const isAged = entry.at < before && gone < agedBytesMax;
    if (!isAged && gone >= excessBytes) break;
    bytes += entry.size;
    count += 1;
  }
  const last = oldest[count - 1];
  if (last === undefined) return { count, bytes };
  tx.prepare(sql`DELETE FROM _rowsync_history WHERE table_id = ? AND seq <= ?`).run(tableId, last.seq);
  markHistory(tx, tableId, { kind: 'pruned', at, note: { until: stampFromMs(last.at * 1000), entries: count } });
  tx.prepare(
    sql`UPDATE _rowsync_history_tables SET bytes = max(0, bytes - @bytes),
          oldest_at = (SELECT min(at) FROM (SELECT at FROM _rowsync_history WHERE table_id = @id ORDER BY seq LIMIT 1))
        WHERE table_id = @id`,
  ).run({ id: tableId, bytes });
  return { count, bytes };
}

/**
 * Forgets a column in the transaction that drops it, before the drop. No row of the table may be on its way to the
 * origin, or wait with an edit of the column. Returns the contents of its files, which other files may share.
 */
export function forgetColumn(tx: Tx, tableId: number, column: ColumnRecord, at: string): readonly string[] {
  tx.history.flush();
  const entryCount = forgetEntries(tx, tableId, column);
  forgetDeleted(tx, tableId, column);
  forgetConflicts(tx, tableId, column);
  forgetRefusals(tx, tableId, column);
  tx.prepare(sql`DELETE FROM _rowsync_unreadable WHERE table_id = ? AND column_name = ?`).run(tableId, column.name);
  if (tx.history.isKept(tableId) || entryCount > 0) {
    const note = { column: column.localName, columnSeq: column.seq, entries: entryCount };
    markHistory(tx, tableId, { kind: 'forgotten', at, note });
  }
  return forgetFilesOfColumn(tx, tableId, column.id);
}

/** The cells of a column in entries and in known edits; also the author of the last change, if it is that column. */
function forgetEntries(tx: Tx, tableId: number, { seq, kind }: ColumnRecord): number {
  const others = readColumns(tx, tableId).flatMap((column) => (column.seq === seq ? [] : [column.seq]));
  // 0 means `_allow`. A number that is gone may be this column's, from before another program dropped the table.
  const values = { tableId, kept: JSON.stringify([0, ...others]) };
  const isOther = sql`c.value ->> 0 IN (SELECT k.value FROM json_each(@kept) k)`;
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
  const lessBytes = sql`UPDATE _rowsync_history_tables SET bytes = max(0, bytes - ?) WHERE table_id = ?`;
  tx.prepare(lessBytes).run(before - sizeOf(), tableId);
  tx.prepare(
    sql`UPDATE _rowsync_history_edits SET cells = ${rest(sql`jsonb_group_array`)} WHERE table_id = @tableId AND cells IS NOT NULL AND ${has}`,
  ).run(values);
  return entries.changes;
}

function forgetDeleted(tx: Tx, tableId: number, { seq }: ColumnRecord): void {
  const others = readColumns(tx, tableId).flatMap((column) => (column.seq === seq ? [] : [column.localName]));
  const kept = JSON.stringify(['_id', '_allow', ...others]);
  const isGone = sql`NOT EXISTS (SELECT 1 FROM json_each(@kept) k WHERE k.value = v.key COLLATE NOCASE)`;
  removeKeys(tx, { table: sql`_rowsync_deleted`, column: sql`row_values`, isGone }, { tableId, kept });
}

/** A conflict about one of its cells is removed whole. */
function forgetConflicts(tx: Tx, tableId: number, { seq, localName }: ColumnRecord): void {
  const cells = sql`DELETE FROM _rowsync_conflicts WHERE table_id = ? AND kind = 'cell' AND column_seq = ?`;
  tx.prepare(cells).run(tableId, seq);
  const isGone = sql`v.key = @name COLLATE NOCASE`;
  for (const column of [sql`base`, sql`local`, sql`remote`]) {
    const place = { table: sql`_rowsync_conflicts`, column, isGone, only: sql`kind <> 'cell'` };
    removeKeys(tx, place, { tableId, name: localName });
  }
}

/** The origin's words may quote a value. They are removed if the row no longer waits. */
function forgetRefusals(tx: Tx, tableId: number, { localName }: ColumnRecord): void {
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
