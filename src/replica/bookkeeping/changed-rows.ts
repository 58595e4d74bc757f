/**
 * Records which rows changed, and ends proven moments. Sinks read a compacted feed: one line per changed row, with a
 * rising number. Only rows that the origin confirmed count: those of a mirror, or of a base. A sink reads the row
 * itself when it sends it; the feed exists while one is configured. A moment is a time at which all tables are proven
 * to have held what is here; it ends with the next change.
 */
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import { hasTable } from '../schema-objects.ts';
import { queryAny } from '../query.ts';

/**
 *    row_id 0 means every row of the table, when the changed rows are not known
 *    seq      grows with every change, over all tables; no line is ever deleted, so no number is used twice
 *    gone     1 where the row was deleted
 *    at       when, in seconds since 1970
 */
const CHANGED_ROWS = sql`
  CREATE TABLE _rowsync_touched (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, seq INTEGER NOT NULL, gone INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

const CHANGED_ROWS_BY_SEQ = sql`CREATE UNIQUE INDEX _rowsync_touched_by_seq ON _rowsync_touched (seq)`;

/**
 *    at            when all tables held what was here then
 *    tables        JSON: their names here
 *    not_covered   JSON: what may have differed, as `table`, or `table.column` for values that change without a stamp
 *    holds         1 until a row changes
 */
export const MOMENTS = sql`
  CREATE TABLE _rowsync_moments (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, tables TEXT NOT NULL, not_covered TEXT NOT NULL, holds INTEGER NOT NULL
  ) STRICT`;

export const MOMENTS_VIEW = sql`
  CREATE VIEW sync_moments AS SELECT seq AS id, at, tables, not_covered, holds FROM _rowsync_moments`;

/** A moment at which all tables held what was here then; lists are JSON of `MOMENTS`. */
export interface ProvenMoment {
  readonly at: string;
  readonly tables: readonly string[];
  readonly notCovered: readonly string[];
}

/** Ends the current moment, because a row changed or may have. */
export function endMoment(tx: Tx): void {
  tx.prepare(sql`UPDATE _rowsync_moments SET holds = 0 WHERE holds = 1`).run();
}

export function storeMoment(tx: Tx, { at, tables, notCovered }: ProvenMoment): void {
  endMoment(tx);
  tx.prepare(sql`INSERT INTO _rowsync_moments (at, tables, not_covered, holds) VALUES (?, ?, ?, 1)`).run(
    at,
    JSON.stringify(tables),
    JSON.stringify(notCovered),
  );
}

/** The row id of the line that means every row. */
export const ALL_ROWS = 0;

function areTouchesNoted(from: Connection): boolean {
  return hasTable(from, '_rowsync_touched');
}

export function noteTouches(tx: Tx, isWanted: boolean): void {
  if (areTouchesNoted(tx) === isWanted) return;
  const statements = isWanted ? [CHANGED_ROWS, CHANGED_ROWS_BY_SEQ] : [sql`DROP TABLE _rowsync_touched`];
  for (const statement of statements) tx.prepare(statement).run();
}

/** Whether changes of single rows are recorded. A line for all rows follows the first read of a table. */
export function areRowsNoted(from: Connection, tableId: number): boolean {
  if (!areTouchesNoted(from)) return false;
  const text = sql`SELECT 1 FROM _rowsync_tables WHERE id = ? AND state <> 'loading'`;
  return queryAny(from, text, [tableId]);
}

/** Records rows that were written or deleted; the caller has checked `areRowsNoted`. */
export function touchRows(tx: Tx, tableId: number, ids: readonly number[], change: 'written' | 'deleted'): void {
  if (ids.length === 0) return;
  tx.prepare(
    sql`INSERT INTO _rowsync_touched (table_id, row_id, seq, gone, at)
        SELECT @tableId, value, (SELECT coalesce(max(seq), 0) FROM _rowsync_touched) + key + 1, @gone, unixepoch()
        FROM json_each(@ids) WHERE true
        ON CONFLICT (table_id, row_id) DO UPDATE SET seq = excluded.seq, gone = excluded.gone, at = excluded.at`,
  ).run({ tableId, gone: change === 'deleted' ? 1 : 0, ids: JSON.stringify(ids) });
}

/** Records that any row of a table may have changed. */
export function touchTable(tx: Tx, tableId: number): void {
  endMoment(tx);
  if (areTouchesNoted(tx)) touchRows(tx, tableId, [ALL_ROWS], 'written');
}
