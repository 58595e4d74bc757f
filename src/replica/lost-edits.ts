/**
 * Edits that lost to a change at the origin, as the policy of their table decided. They are lines of `sync_conflicts`, so each can be taken back; they
 * are told until a person says that they saw them.
 */
import { stampFromMs } from '../base/clock.ts';
import { sql } from '../base/sql.ts';
import { CONFLICT_LINE, type ConflictLine } from './conflict-line.ts';
import type { Connection, Tx } from './connection.ts';

const LOST = sql`winner = 'origin' AND state = 'decided'`;

/** The edits that lost since a run began; `afterId` is the last conflict before it. The oldest first. */
export function readLostSince(from: Connection, afterId: number): readonly ConflictLine[] {
  return from
    .prepare(sql`SELECT ${CONFLICT_LINE} FROM sync_conflicts WHERE ${LOST} AND id > ? ORDER BY id`)
    .all(afterId) as ConflictLine[]; // the columns just listed
}

/** How long an edit that lost is told. */
const TOLD_MS = 7 * 86_400_000;

/** From when on edits that lost are still told. */
export function toldSince(nowMs: number): string {
  return stampFromMs(nowMs - TOLD_MS);
}

/** The edits that lost at or after a moment and that nobody has seen, the oldest first. */
export function readUnseen(from: Connection, since: string): readonly ConflictLine[] {
  const unseen = sql`SELECT id FROM _rowsync_conflicts WHERE ${LOST} AND seen = 0 AND at >= ?`;
  return from
    .prepare(sql`SELECT ${CONFLICT_LINE} FROM sync_conflicts WHERE id IN (${unseen}) ORDER BY id`)
    .all(since) as ConflictLine[]; // the columns just listed
}

/** How many of them each table has, by the name of the table, with the time of the first. */
export function countUnseen(
  from: Connection,
  since: string,
): ReadonlyMap<string, { readonly count: number; readonly since: string }> {
  const rows = from
    .prepare(
      sql`SELECT local_name, count, first FROM _rowsync_tables JOIN (
            SELECT table_id, count(*) AS count, min(at) AS first FROM _rowsync_conflicts
            WHERE ${LOST} AND seen = 0 AND at >= ? GROUP BY table_id) ON table_id = id`,
    )
    .raw()
    .all(since) as [string, number, string][]; // the columns just listed
  return new Map(rows.map(([table, count, first]) => [table, { count, since: first }]));
}

/** Notes that a person saw the edits that lost up to a conflict. Returns how many. */
export function storeSeen(tx: Tx, upToId: number): number {
  const text = sql`UPDATE _rowsync_conflicts SET seen = 1 WHERE ${LOST} AND seen = 0 AND id <= ?`;
  return tx.prepare(text).run(upToId).changes;
}
