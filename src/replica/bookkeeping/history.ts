/**
 * The history of rows in tables with `history`: one entry a change, written in the transaction that changes the row
 * (replica/history-writer.ts). The other tables say how far back it reaches, when each row was last proven, and former
 * names of columns. Only pruning and forgetting change entries, and both leave an entry that says so.
 */
import { sql, type Sql } from '../../base/sql.ts';
import type { Cause, Connection, Tx } from '../connection.ts';
import { queryAll, queryAny, queryFirst } from '../query.ts';

/**
 * One entry per change of a row, and per fact about the history of a table, in the order in which they happened here.
 *
 *    row_id       null where the entry is about a whole table
 *    kind         insert · update · delete; of tables: begin · end · pruned · restored · schema; of both: forgotten
 *    at           when it happened here; this and the other times are seconds since 1970
 *    not_before,
 *    not_after    the interval, both ends included, in which the origin or another client changed the row at least
 *                 once; not_before is null where it is unknown
 *    origin_at    when the row was last changed, says the origin; equal to not_after where it narrowed the interval
 *    origin_by    who made the last change in the interval, as the origin says; null where it stamped none
 *    cause        pull (read at the origin) · push (read back after it was sent) · edit (by SQL, here) · decision and
 *                 discard (of a person) · filter · schema · restore
 *    run_id       the run that wrote it, null where none was under way
 *    was_id       the `_id` that an inserted row had before
 *    cells        JSON text, which SQLite reads since 3.37: [number of the column, before, after], …; 0 means _allow.
 *                 An insert has the cells that are not null, a delete those that were not. {"blob": hex} and
 *                 {"raw": hex} (no UTF-8) stand for what JSON cannot hold. About a table: an object with details
 */
const HISTORY = sql`
  CREATE TABLE _rowsync_history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER, row_id INTEGER, kind TEXT NOT NULL, at INTEGER NOT NULL,
    not_before INTEGER, not_after INTEGER, origin_at INTEGER, origin_by TEXT, cause TEXT NOT NULL, run_id INTEGER,
    was_id INTEGER, cells TEXT
  ) STRICT`;

/** For all entries of one row. */
const HISTORY_BY_ROW = sql`CREATE INDEX _rowsync_history_by_row ON _rowsync_history (row_id, table_id)`;

function stampOf(column: Sql): Sql {
  return sql`strftime('%Y-%m-%dT%H:%M:%SZ', ${column}, 'unixepoch')`;
}

/** For entries since some time, compared as the text that the views show. */
const HISTORY_BY_TIME = sql`CREATE INDEX _rowsync_history_by_time ON _rowsync_history (${stampOf(sql`at`)})`;

/**
 * Tables whose changes are kept.
 *
 *    begun_seq     the entry with which the history began; null until the table was read whole once
 *    proven_at     when the last finished sweep began: every row but those below was as at the origin then or later
 *    captured_at   when edits were last captured
 *    bytes         approximate size of the entries
 *    oldest_at     no entry of the table is older; null where there is none
 */
const HISTORY_TABLES = sql`
  CREATE TABLE _rowsync_history_tables (
    table_id INTEGER PRIMARY KEY, begun_seq INTEGER, proven_at INTEGER, captured_at INTEGER,
    bytes INTEGER NOT NULL DEFAULT 0, oldest_at INTEGER, pruning_held TEXT
  ) STRICT`;

/** Rows that the last finished sweep did not prove (`UNPROVEN`), and when they were last proven. */
const HISTORY_DOUBTS = sql`
  CREATE TABLE _rowsync_history_doubts (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, proven_at INTEGER, PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/**
 * Rows of two-way tables whose last history entry differs from their base; all others the history knows as their base.
 *
 *    cells   JSONB, as no view shows it: [number of the column, value], … that differ; null where the row is deleted
 */
const HISTORY_EDITS = sql`
  CREATE TABLE _rowsync_history_edits (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, cells BLOB, PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/** Former names of pruned tables and columns; column_seq 0 means the table. */
const HISTORY_NAMES = sql`
  CREATE TABLE _rowsync_history_names (
    table_id INTEGER NOT NULL, column_seq INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (table_id, column_seq)
  ) STRICT, WITHOUT ROWID`;

const TABLE_NAME = sql`coalesce((SELECT local_name FROM _rowsync_tables t WHERE t.id = h.table_id),
    (SELECT name FROM _rowsync_history_names n WHERE n.table_id = h.table_id AND n.column_seq = 0))`;

const SEQ = sql`json_extract(c.value, '$[0]')`;

const COLUMN_NAME = sql`CASE ${SEQ} WHEN 0 THEN '_allow' ELSE coalesce(
    (SELECT local_name FROM _rowsync_columns k WHERE k.seq = ${SEQ}),
    (SELECT name FROM _rowsync_history_names n WHERE n.table_id = h.table_id AND n.column_seq = ${SEQ})) END`;

const IS_ROW = sql`h.kind IN ('insert', 'update', 'delete')`;

function version(index: number): Sql {
  return sql`(SELECT json_group_object(${COLUMN_NAME}, json_extract(c.value, ${index === 1 ? sql`'$[1]'` : sql`'$[2]'`}))
           FROM json_each(h.cells) c)`;
}

export const HISTORY_VIEW = sql`
  CREATE VIEW sync_history AS
  SELECT h.seq AS id, ${TABLE_NAME} AS "table", h.row_id, h.kind, ${stampOf(sql`h.at`)} AS at,
         ${stampOf(sql`h.not_before`)} AS not_before, ${stampOf(sql`h.not_after`)} AS not_after,
         ${stampOf(sql`h.origin_at`)} AS origin_at, h.origin_by,
         CASE WHEN h.origin_at IS NOT NULL THEN h.origin_at = h.not_after END AS stamped,
         h.cause, h.run_id, h.was_id AS was_row_id,
         CASE WHEN h.kind IN ('update', 'delete') THEN ${version(1)} END AS before,
         CASE WHEN h.kind IN ('insert', 'update') THEN ${version(2)} END AS after,
         CASE WHEN NOT ${IS_ROW} THEN json(h.cells) END AS note
  FROM _rowsync_history h`;

export const HISTORY_CELLS_VIEW = sql`
  CREATE VIEW sync_history_cells AS
  SELECT h.seq AS id, ${TABLE_NAME} AS "table", h.row_id, h.kind, ${stampOf(sql`h.at`)} AS at, ${COLUMN_NAME} AS "column",
         (SELECT k.id FROM _rowsync_columns k WHERE k.seq = ${SEQ}) AS origin_id,
         json_extract(c.value, '$[1]') AS before, json_extract(c.value, '$[2]') AS after
  FROM _rowsync_history h, json_each(h.cells) c
  WHERE ${IS_ROW}`;

export const HISTORY_PARTS = [
  HISTORY,
  HISTORY_BY_ROW,
  HISTORY_BY_TIME,
  HISTORY_TABLES,
  HISTORY_DOUBTS,
  HISTORY_EDITS,
  HISTORY_NAMES,
];

/** The history of a table; times are seconds since 1970. */
export interface TableHistory {
  readonly tableId: number;
  /** The entry with which it began; null until the table was read whole once. */
  readonly begunSeq: number | null;
  readonly provenAt: number | null;
  readonly capturedAt: number | null;
  readonly bytes: number;
  readonly oldestAt: number | null;
  /** Why old entries are not removed; null if nothing keeps them. */
  readonly pruningHeld: string | null;
}

const HISTORY_COLUMNS = sql`table_id AS tableId, begun_seq AS begunSeq, proven_at AS provenAt, captured_at AS capturedAt,
  bytes, oldest_at AS oldestAt, pruning_held AS pruningHeld`;

/** The history of a table, or null where its changes are not kept. */
export function findHistory(from: Connection, tableId: number): TableHistory | null {
  const text = sql`SELECT ${HISTORY_COLUMNS} FROM _rowsync_history_tables WHERE table_id = ?`;
  return queryFirst(from, text, [tableId]) as TableHistory | null;
}

export function readHistories(from: Connection): readonly TableHistory[] {
  const text = sql`SELECT ${HISTORY_COLUMNS} FROM _rowsync_history_tables ORDER BY table_id`;
  return queryAll(from, text) as TableHistory[];
}

/** Stores why old entries must not be removed; null if they may be. */
export function holdPruning(tx: Tx, tableId: number, why: string | null): void {
  tx.prepare(sql`UPDATE _rowsync_history_tables SET pruning_held = ? WHERE table_id = ?`).run(why, tableId);
}

/** Kinds of entries that are not a change of a row. */
export type MarkKind = 'begin' | 'end' | 'pruned' | 'schema' | 'forgotten';

/** Seconds since 1970 of a stamp. */
export function secondsOf(stamp: string): number {
  return Math.floor(Date.parse(stamp) / 1000);
}

/** Adds an entry about a table, one of its rows, or all tables (`tableId` null); returns its number. */
export function markHistory(
  tx: Tx,
  tableId: number | null,
  mark: {
    readonly kind: MarkKind;
    readonly at: string;
    readonly note?: Readonly<Record<string, unknown>>;
    /** The row that it is about. */
    readonly rowId?: number;
  },
): number {
  const at = secondsOf(mark.at);
  const { lastInsertRowid } = tx
    .prepare(
      sql`INSERT INTO _rowsync_history (table_id, row_id, kind, at, not_before, not_after, cause, run_id, cells)
          VALUES (@tableId, @rowId, @kind, @at, @at, @at, @cause, @runId, @note)`,
    )
    .run({
      tableId,
      rowId: mark.rowId ?? null,
      kind: mark.kind,
      at,
      cause: causeOf(mark) ?? tx.cause.cause,
      runId: tx.cause.runId,
      note: mark.note === undefined ? null : JSON.stringify(mark.note),
    });
  return Number(lastInsertRowid);
}

/** The cause, if it does not depend on the current work: a person forgets rows, the configuration columns. */
function causeOf({ kind, rowId }: { readonly kind: MarkKind; readonly rowId?: number }): Cause | null {
  if (kind === 'forgotten') return rowId === undefined ? 'schema' : 'decision';
  return kind === 'schema' ? 'schema' : null;
}

/** Starts or ends a history as configured; it starts when the table has been read whole, at once or by a sweep. */
export function configureHistory(tx: Tx, tableId: number, { isWanted, at }: { isWanted: boolean; at: string }): void {
  const known = findHistory(tx, tableId);
  if (!isWanted) {
    if (known !== null) endHistory(tx, tableId, { at, why: 'history is switched off' });
    return;
  }
  // A known history has begun, or waits for the sweep that shows the values of a dropped column again.
  if (known !== null) return;
  tx.prepare(sql`INSERT INTO _rowsync_history_tables (table_id) VALUES (?)`).run(tableId);
  const text = sql`SELECT 1 FROM _rowsync_tables WHERE id = ? AND swept_at IS NOT NULL AND state = 'steady'`;
  if (queryAny(tx, text, [tableId])) beginHistory(tx, tableId, at);
}

/** Rows that the last sweep did not prove. Edited rows take the origin's values only once their edit is settled. */
const UNPROVEN = sql`(SELECT row_id FROM _rowsync_suspects WHERE table_id = @tableId
    UNION SELECT row_id FROM _rowsync_unreadable WHERE table_id = @tableId
    UNION SELECT row_id FROM _rowsync_rows WHERE table_id = @tableId)`;

function beginHistory(tx: Tx, tableId: number, at: string): void {
  const seq = markHistory(tx, tableId, { kind: 'begin', at });
  tx.prepare(
    sql`UPDATE _rowsync_history_tables SET begun_seq = @seq, captured_at = NULL,
          proven_at = (SELECT unixepoch(sweep_started_at) FROM _rowsync_tables WHERE id = @tableId AND sweep_open = 0),
          oldest_at = coalesce(oldest_at, @at)
        WHERE table_id = @tableId`,
  ).run({ tableId, seq, at: secondsOf(at) });
  const doubt = sql`INSERT OR IGNORE INTO _rowsync_history_doubts (table_id, row_id) SELECT @tableId, row_id FROM ${UNPROVEN}`;
  tx.prepare(doubt).run({ tableId });
  tx.history.flush();
}

/** Ends a history: later changes are not recorded. `isAgain`: it starts again with the next finished sweep. */
export function endHistory(
  tx: Tx,
  tableId: number,
  { at, why, isAgain = false }: { readonly at: string; readonly why: string; readonly isAgain?: boolean },
): void {
  const known = findHistory(tx, tableId);
  if (known === null) return;
  tx.history.flush();
  if (known.begunSeq !== null) markHistory(tx, tableId, { kind: 'end', at, note: { why } });
  const clear = [
    sql`DELETE FROM _rowsync_history_edits WHERE table_id = ?`,
    sql`DELETE FROM _rowsync_history_doubts WHERE table_id = ?`,
    isAgain
      ? sql`UPDATE _rowsync_history_tables SET begun_seq = NULL, proven_at = NULL, captured_at = NULL WHERE table_id = ?`
      : sql`DELETE FROM _rowsync_history_tables WHERE table_id = ?`,
  ];
  for (const text of clear) tx.prepare(text).run(tableId);
}

/** Stores that a finished sweep proved every row but `UNPROVEN`. A history that waits for the first sweep begins. */
export function proveHistory(tx: Tx, tableId: number, at: string): void {
  const known = findHistory(tx, tableId);
  if (known === null) return;
  if (known.begunSeq === null) beginHistory(tx, tableId, at);
  for (const text of [
    sql`DELETE FROM _rowsync_history_doubts WHERE table_id = @tableId AND row_id NOT IN ${UNPROVEN}`,
    sql`INSERT OR IGNORE INTO _rowsync_history_doubts (table_id, row_id, proven_at)
        SELECT j.table_id, d.row_id, j.proven_at FROM _rowsync_history_tables j, ${UNPROVEN} d WHERE j.table_id = @tableId`,
    sql`UPDATE _rowsync_history_tables
        SET proven_at = (SELECT unixepoch(sweep_started_at) FROM _rowsync_tables WHERE id = @tableId)
        WHERE table_id = @tableId`,
  ]) {
    tx.prepare(text).run({ tableId });
  }
}

/** Stores when the edits of a table were captured. */
export function noteCaptured(tx: Tx, tableId: number, at: string): void {
  const text = sql`UPDATE _rowsync_history_tables SET captured_at = ? WHERE table_id = ? AND begun_seq IS NOT NULL`;
  tx.prepare(text).run(secondsOf(at), tableId);
}

/** Stores names of a table and its columns, or of some (by number), before they are dropped: entries have numbers. */
export function keepNames(tx: Tx, tableId: number, seqs: readonly number[] | 'all'): void {
  if (tx.prepare(sql`SELECT 1 FROM _rowsync_history LIMIT 1`).get() === undefined) return;
  tx.prepare(
    sql`INSERT OR REPLACE INTO _rowsync_history_names (table_id, column_seq, name)
        SELECT table_id, seq, local_name || ' (pruned)' FROM _rowsync_columns
        WHERE table_id = @tableId AND (@all OR seq IN (SELECT value FROM json_each(@seqs)))`,
  ).run({ tableId, all: seqs === 'all' ? 1 : 0, seqs: JSON.stringify(seqs === 'all' ? [] : seqs) });
  if (seqs !== 'all') return;
  tx.prepare(
    sql`INSERT OR REPLACE INTO _rowsync_history_names (table_id, column_seq, name)
        SELECT id, 0, local_name || ' (pruned)' FROM _rowsync_tables WHERE id = ?`,
  ).run(tableId);
}

/** Approximate size of an entry without its cells, index entries included. */
export const ENTRY_BYTES = 110;

/** Adds an entry of a row; only `replica/history-writer.ts` does. */
export const ADD_ENTRY = sql`INSERT INTO _rowsync_history
    (table_id, row_id, kind, at, not_before, not_after, origin_at, origin_by, cause, run_id, was_id, cells)
  VALUES (@id, @rowId, @kind, @at, @notBefore, @notAfter, @stamp, @by, @cause, @runId, @wasId, @cells)`;

/** Adds the size of the entries of table `@id` after a given one. */
export const ADD_BYTES = sql`UPDATE _rowsync_history_tables SET bytes = bytes + (
      SELECT coalesce(sum(length(cells) + ${ENTRY_BYTES}), 0) FROM _rowsync_history WHERE seq > ? AND table_id = @id)
    WHERE table_id = @id`;

/** Forgets what is known of edited rows of a table, by a JSON array of ids. */
export const FORGET_EDITS = sql`DELETE FROM _rowsync_history_edits WHERE table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;

export const ADD_EDIT = sql`INSERT INTO _rowsync_history_edits (table_id, row_id, cells) VALUES (?, ?, jsonb(?))`;

export function forgetKnownEdits(tx: Tx, tableId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_history_edits WHERE table_id = ?`).run(tableId);
}
