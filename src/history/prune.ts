/**
 * The bounds of the journal: how long the changes of a table are kept, and how much space they may take. The oldest entries are pruned, and one entry
 * says until when. Input: bounds from the configuration. Output: `_rowsync_history`.
 */
import { stampFromMs, type Clock } from '../base/clock.ts';
import { sql } from '../base/sql.ts';
import type { Tx } from '../replica/connection.ts';
import type { Replica } from '../replica/database.ts';
import { ENTRY_BYTES } from '../replica/journal.ts';
import { findTable } from '../replica/ledger.ts';
import { queryRows } from '../replica/query.ts';
import { findJournal, markJournal, readJournals, secondsOf, type TableJournal } from '../replica/journals.ts';

/** How much is kept of the changes of one table. */
export interface HistoryBounds {
  readonly keepDays: number;
  readonly bytesMax: number;
}

const DAY_S = 86_400;
/** Entries deleted in one transaction, so that no reader waits long. */
const CHUNK = 5_000;
/** Entries beyond the bounds may wait until they are this share of them, because pruning also reads the entries of other tables. */
const SLACK = 0.02;

/** Prunes the journals of all tables that have bounds. @throws RowsyncError of the replica. */
export async function pruneHistories({
  replica,
  clock,
  settings,
}: {
  readonly replica: Replica;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly settings: { readonly tableOptions: (name: string) => { history?: HistoryBounds | null | undefined } | null };
}): Promise<void> {
  for (const { tableId } of readJournals(replica)) {
    const bounds = settings.tableOptions(findTable(replica, tableId)?.name ?? '')?.history ?? null;
    if (bounds !== null) await pruneHistory(replica, tableId, { bounds, nowMs: clock.nowMs() });
  }
}

/**
 * Prunes the entries beyond the bounds of a table; returns their number. Does nothing for a table without a journal.
 * @throws RowsyncError of the replica.
 */
async function pruneHistory(
  replica: Replica,
  tableId: number,
  { bounds, nowMs }: { readonly bounds: HistoryBounds; readonly nowMs: number },
): Promise<number> {
  const at = stampFromMs(nowMs);
  let count = 0;
  for (;;) {
    const order = orderOf(findJournal(replica, tableId), bounds, secondsOf(at));
    if (order === null) return count;
    const pruned = await replica.write('Pruning history', (tx) => pruneChunk(tx, tableId, order, at));
    count += pruned;
    if (pruned < CHUNK) return count; // ends: every chunk makes the journal smaller
  }
}

/** What to delete: entries before a time, and so many bytes more. */
interface PruneOrder {
  readonly before: number;
  readonly excess: number;
}

function orderOf(journal: TableJournal | null, { keepDays, bytesMax }: HistoryBounds, now: number): PruneOrder | null {
  if (journal === null || journal.begunSeq === null || journal.oldestAt === null) return null;
  const keep = keepDays * DAY_S;
  const isOld = journal.oldestAt < now - keep * (1 + SLACK);
  const isLarge = journal.bytes > bytesMax;
  if (!isOld && !isLarge) return null;
  return { before: isOld ? now - keep : 0, excess: isLarge ? journal.bytes - bytesMax * (1 - SLACK) : 0 };
}

function pruneChunk(tx: Tx, tableId: number, { before, excess }: PruneOrder, at: string): number {
  const text = sql`SELECT seq, at, coalesce(length(cells), 0) + ${ENTRY_BYTES} FROM _rowsync_history
      WHERE table_id = ? ORDER BY seq LIMIT ${CHUNK}`;
  const oldest = queryRows(tx, text, [tableId]).map(([seq, time, bytes]) => ({
    seq: Number(seq),
    at: Number(time),
    bytes: Number(bytes),
  }));
  let freed = 0;
  let until: number | null = null;
  let count = 0;
  for (const entry of oldest) {
    if (entry.at >= before && freed >= excess) break;
    freed += entry.bytes;
    until = entry.at;
    count += 1;
  }
  const last = oldest[count - 1];
  if (last === undefined) return 0;
  tx.prepare(sql`DELETE FROM _rowsync_history WHERE table_id = ? AND seq <= ?`).run(tableId, last.seq);
  markJournal(tx, tableId, { kind: 'pruned', at, note: { until: stampFromMs((until ?? 0) * 1000), entries: count } });
  tx.prepare(
    sql`UPDATE _rowsync_history_tables SET bytes = max(0, bytes - @freed),
          oldest_at = (SELECT min(at) FROM (SELECT at FROM _rowsync_history WHERE table_id = @id ORDER BY seq LIMIT 1))
        WHERE table_id = @id`,
  ).run({ id: tableId, freed });
  return count;
}
