/**
 * The journal in the file: what happened to rows of tables with `history`, one entry a change. Only journal.ts adds entries of rows,
 * in the transaction that changes the row; journals.ts adds what is to be said of a whole table. Nothing changes an entry but
 * pruning and forgetting, and both leave an entry that says so.
 */
import { sql, type Sql } from '../base/sql.ts';

/**
 * One entry per change of a row here, and per fact about the journal of a table; in the order in which they happened here.
 *
 *    row_id       null where the entry is about a whole table
 *    kind         insert · update · delete; of tables: begin · end · pruned · restored · schema; forgotten (of a row or a table)
 *    at           when it happened here; this and the other times are seconds since 1970
 *    not_before,
 *    not_after    when it happened at the origin, or by another client's hand: at least one change in between, both ends included;
 *                 not_before is null where nothing tells
 *    origin_at    when the origin says that the row was changed last; equal to not_after where that is what narrowed the interval
 *    origin_by    who the origin says changed it last
 *    cause        pull · push · edit (by SQL, here) · decision (of a person) · schema · restore
 *    run_id       the run that wrote it, null where none was under way
 *    was_id       the `_id` that an inserted row had before
 *    cells        JSON text, which SQLite reads since 3.37: [ledger row of the column, before, after], …; 0 stands for _allow.
 *                 Of an insert the cells that are not null, of a delete those that were not. What JSON cannot hold is {"blob": hex} or {"raw": hex} (text that is
 *                 no UTF-8). Of an entry about a table an object that says more
 */
const HISTORY = sql`
  CREATE TABLE _rowsync_history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER, row_id INTEGER, kind TEXT NOT NULL, at INTEGER NOT NULL,
    not_before INTEGER, not_after INTEGER, origin_at INTEGER, origin_by TEXT, cause TEXT NOT NULL, run_id INTEGER,
    was_id INTEGER, cells TEXT
  ) STRICT`;

/** The life of a row. */
const HISTORY_BY_ROW = sql`CREATE INDEX _rowsync_history_by_row ON _rowsync_history (row_id, table_id)`;

function stamp(column: Sql): Sql {
  return sql`strftime('%Y-%m-%dT%H:%M:%SZ', ${column}, 'unixepoch')`;
}

/** What happened since, by the text that the views show. */
const HISTORY_BY_TIME = sql`CREATE INDEX _rowsync_history_by_time ON _rowsync_history (${stamp(sql`at`)})`;

/**
 * Tables whose changes are kept.
 *
 *    begun_seq     the entry with which the journal began; null until the table was read whole once
 *    proven_at     when the last finished sweep began: every row was equal to the origin then or later, but for those below
 *    captured_at   when edits were last looked for
 *    bytes         what the entries take, about
 *    oldest_at     no entry of the table is older; null where there is none
 */
const HISTORY_TABLES = sql`
  CREATE TABLE _rowsync_history_tables (
    table_id INTEGER PRIMARY KEY, begun_seq INTEGER, proven_at INTEGER, captured_at INTEGER,
    bytes INTEGER NOT NULL DEFAULT 0, oldest_at INTEGER, pruning_held TEXT
  ) STRICT`;

/** Rows that the last finished sweep did not prove (suspects, and rows that cannot be read), and when they were proven last. */
const HISTORY_DOUBTS = sql`
  CREATE TABLE _rowsync_history_doubts (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, proven_at INTEGER, PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/**
 * Rows of two-way tables that the journal knows to differ from their base: what it last said of them. Other rows it knows as their base.
 *
 *    cells   JSONB, since no view shows it: [ledger row of the column, value] of the cells that differ; null where the row is deleted here
 */
const HISTORY_EDITS = sql`
  CREATE TABLE _rowsync_history_edits (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, cells BLOB, PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/** What tables and columns were called that were pruned since; column_seq 0 stands for the table. */
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
  SELECT h.seq AS id, ${TABLE_NAME} AS "table", h.row_id, h.kind, ${stamp(sql`h.at`)} AS at,
         ${stamp(sql`h.not_before`)} AS not_before, ${stamp(sql`h.not_after`)} AS not_after,
         ${stamp(sql`h.origin_at`)} AS origin_at, h.origin_by,
         CASE WHEN h.origin_at IS NOT NULL THEN h.origin_at = h.not_after END AS stamped,
         h.cause, h.run_id, h.was_id AS was_row_id,
         CASE WHEN h.kind IN ('update', 'delete') THEN ${version(1)} END AS before,
         CASE WHEN h.kind IN ('insert', 'update') THEN ${version(2)} END AS after,
         CASE WHEN NOT ${IS_ROW} THEN json(h.cells) END AS note
  FROM _rowsync_history h`;

export const HISTORY_CELLS_VIEW = sql`
  CREATE VIEW sync_history_cells AS
  SELECT h.seq AS id, ${TABLE_NAME} AS "table", h.row_id, h.kind, ${stamp(sql`h.at`)} AS at, ${COLUMN_NAME} AS "column",
         (SELECT k.id FROM _rowsync_columns k WHERE k.seq = ${SEQ}) AS origin_id,
         json_extract(c.value, '$[1]') AS before, json_extract(c.value, '$[2]') AS after
  FROM _rowsync_history h, json_each(h.cells) c
  WHERE ${IS_ROW}`;

/** The tables above. */
export const HISTORY_PARTS = [
  HISTORY,
  HISTORY_BY_ROW,
  HISTORY_BY_TIME,
  HISTORY_TABLES,
  HISTORY_DOUBTS,
  HISTORY_EDITS,
  HISTORY_NAMES,
];
