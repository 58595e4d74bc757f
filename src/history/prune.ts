/**
 * Prunes the journal: entries that are older than they are to be kept, or that take too much space, the oldest first. One entry says until when. What
 * may go is decided in reconcile/retention.ts.
 */
import { stampFromMs, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { sql } from '../base/sql.ts';
import { removalOf, type Bounds, type Removal } from '../reconcile/retention.ts';
import type { Tx } from '../replica/connection.ts';
import type { Replica } from '../replica/database.ts';
import { findTable } from '../replica/bookkeeping/tables.ts';
import { queryRows } from '../replica/query.ts';
import { ENTRY_BYTES, holdPruning, markJournal, readJournals, secondsOf } from '../replica/bookkeeping/history.ts';

/** Entries deleted in one transaction, so that no reader waits long. */
const CHUNK = 5_000;

/** Prunes the journals of all tables that have bounds; returns the number of entries removed. @throws RowsyncError of the replica. */
export async function pruneHistories({
  replica,
  clock,
  clockAheadMs,
  log,
  settings,
}: {
  readonly replica: Replica;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** By how much this clock is ahead of the origin's; null where that is not known. */
  readonly clockAheadMs: number | null;
  readonly log: Logger;
  readonly settings: { readonly tableOptions: (name: string) => { history?: Bounds | null | undefined } | null };
}): Promise<number> {
  const at = stampFromMs(clock.nowMs());
  const ahead = clockAheadMs === null ? null : clockAheadMs / 1000;
  let removedCount = 0;
  for (const journal of readJournals(replica)) {
    const { tableId, begunSeq, oldestAt, bytes, pruningHeld } = journal;
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
    if (pruned.count < CHUNK) return count; // ends: every chunk makes the journal smaller
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
  const oldest = queryRows(tx, text, [tableId]).map(([seq, time, size]) => ({
    seq: Number(seq),
    at: Number(time),
    size: Number(size),
  }));
  let bytes = 0;
  let until: number | null = null;
  let count = 0;
  for (const entry of oldest) {
    const gone = freed + bytes;
    const isAged = entry.at < before && gone < agedBytesMax;
    if (!isAged && gone >= excessBytes) break;
    bytes += entry.size;
    until = entry.at;
    count += 1;
  }
  const last = oldest[count - 1];
  if (last === undefined) return { count, bytes };
  tx.prepare(sql`DELETE FROM _rowsync_history WHERE table_id = ? AND seq <= ?`).run(tableId, last.seq);
  markJournal(tx, tableId, { kind: 'pruned', at, note: { until: stampFromMs((until ?? 0) * 1000), entries: count } });
  tx.prepare(
    sql`UPDATE _rowsync_history_tables SET bytes = max(0, bytes - @bytes),
          oldest_at = (SELECT min(at) FROM (SELECT at FROM _rowsync_history WHERE table_id = @id ORDER BY seq LIMIT 1))
        WHERE table_id = @id`,
  ).run({ id: tableId, bytes });
  return { count, bytes };
}
