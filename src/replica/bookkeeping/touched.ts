/**
 * A compacted change feed for sinks: one line per changed row, with a rising number. What counts is what the origin confirmed: the rows of a mirror, or
 * of a base. Sinks read the row itself when they send it. The table exists while a sink is configured.
 */
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import { hasTable } from '../objects.ts';

/**
 *    row_id 0 means every row of the table: the changed rows are not known
 *    seq      grows with every change, over all tables; no line is ever deleted, so the largest one never comes again
 *    gone     1 where the row was deleted
 *    at       when, in seconds since 1970
 */
const TOUCHED = sql`
  CREATE TABLE _rowsync_touched (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, seq INTEGER NOT NULL, gone INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

const TOUCHED_BY_SEQ = sql`CREATE UNIQUE INDEX _rowsync_touched_by_seq ON _rowsync_touched (seq)`;

/** The row id of the line that stands for every row. */
export const ALL_ROWS = 0;

/** Whether changes of rows are noted at all. */
function areTouchesNoted(from: Connection): boolean {
  return hasTable(from, '_rowsync_touched');
}

/** Begins to note changes, or forgets all that was noted. */
export function noteTouches(tx: Tx, isWanted: boolean): void {
  if (areTouchesNoted(tx) === isWanted) return;
  const statements = isWanted ? [TOUCHED, TOUCHED_BY_SEQ] : [sql`DROP TABLE _rowsync_touched`];
  for (const statement of statements) tx.prepare(statement).run();
}

/**
 * Whether changes of single rows of a table are noted. Not during its first read, since a line for all of its rows follows.
 */
export function areRowsNoted(from: Connection, tableId: number): boolean {
  if (!areTouchesNoted(from)) return false;
  const text = sql`SELECT 1 FROM _rowsync_tables WHERE id = ? AND state <> 'loading'`;
  return from.prepare(text).get(tableId) !== undefined;
}

/** Notes that rows were written or deleted; the caller has asked `areRowsNoted`. */
export function touchRows(tx: Tx, tableId: number, ids: readonly number[], change: 'written' | 'deleted'): void {
  if (ids.length === 0) return;
  tx.prepare(
    sql`INSERT INTO _rowsync_touched (table_id, row_id, seq, gone, at)
        SELECT @tableId, value, (SELECT coalesce(max(seq), 0) FROM _rowsync_touched) + key + 1, @gone, unixepoch()
        FROM json_each(@ids) WHERE true
        ON CONFLICT (table_id, row_id) DO UPDATE SET seq = excluded.seq, gone = excluded.gone, at = excluded.at`,
  ).run({ tableId, gone: change === 'deleted' ? 1 : 0, ids: JSON.stringify(ids) });
}

/** Notes that any row of a table may be another one now. */
export function touchTable(tx: Tx, tableId: number): void {
  if (areTouchesNoted(tx)) touchRows(tx, tableId, [ALL_ROWS], 'written');
}
