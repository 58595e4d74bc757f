/**
 * The tables that rowsync keeps for itself inside the replica, and the views that people may read. Everything that must
 * be true together stands in one file, so that one transaction keeps it true (I6: an ETag never without its rows).
 *
 * `_rowsync_…` tables are private. `sync_…` views are public: documented in docs/reference/views.md, changed only with a line in the
 * changelog. All stamps are UTC text, `YYYY-MM-DDThh:mm:ssZ`.
 */
import type Database from 'better-sqlite3';
import { must } from '../base/assert.ts';
import { DESCRIBED_TABLES } from './described.ts';
import { FILE_TABLES, FILES_VIEW } from './file-tables.ts';
import { HISTORY_CELLS_VIEW, HISTORY_PARTS, HISTORY_VIEW } from './history-book.ts';
import { MIGRATIONS } from './migrations.ts';
import { FAILURES_VIEW, PUSH_TABLES } from './push-book.ts';
import { QUARTERS, RUNS, RUNS_VIEW } from './run-book.ts';
import { SCHEMA_CHANGES } from './schema-changes.ts';
import { ident, sql } from '../base/sql.ts';

/** Version of everything below (`PRAGMA user_version`). */
export const SCHEMA_VERSION = 14;

/**
 * One row exactly while a transaction of ours is open, none otherwise: triggers look here to tell our writes from
 * a user's. It is set and cleared inside the same transaction, so no other connection ever sees it set.
 */
const WRITER = sql`
  CREATE TABLE _rowsync_writer (flag INTEGER PRIMARY KEY CHECK (flag = 1)) STRICT`;

/**
 * Who told us what is here (one row). ETags mean something only for the same identity.
 *
 *    url, database, user_id, role   the identity itself
 *    user_email, time_zone          for people; the zone in which the origin sends this user's timestamps
 *    admin                          administrative permissions, separated by commas; null where they were not noted
 *    changed_at                     when the identity last changed, null after the first pull
 */
const IDENTITY = sql`
  CREATE TABLE _rowsync_identity (
    lock INTEGER PRIMARY KEY CHECK (lock = 1),
    url TEXT NOT NULL, database TEXT NOT NULL, user_id INTEGER NOT NULL, role TEXT NOT NULL,
    user_email TEXT NOT NULL, time_zone TEXT NOT NULL,
    changed_at TEXT, admin TEXT
  ) STRICT`;

/**
 * Descriptors with their ETags, so that an unchanged schema costs a 304.
 *
 *    scope        'database' or 'table:<origin id>'; '.xml' behind it where the ETag is that of an answer in XML
 *    descriptor   JSON of our own neutral form
 */
const DESCRIPTORS = sql`
  CREATE TABLE _rowsync_descriptors (
    scope TEXT PRIMARY KEY, etag TEXT NOT NULL, descriptor TEXT NOT NULL
  ) STRICT`;

/**
 * One row per origin table that was ever replicated, by origin id.
 *
 *    name, alias, local_name   at the origin, and in this file
 *    state                     loading (first sweep not finished) · steady · gone (no longer described)
 *    row_count                 rows in the user table, kept in the same transaction as the rows
 *    sweep                     number of the current or last sweep; 0 before the first
 *    sweep_started_at          of that sweep
 *    swept_at                  end of the last finished sweep
 *    sweep_open                1 while a sweep is unfinished: the next pull continues with it
 *    applied                   number of answers with rows that were applied so far; says which of two came later
 *    end_proven                1 once the origin answered that nothing lies behind the last page
 *    identity_checked          0 after a change of identity until a person, or a sweep without deletes or rows in flight, cleared it
 *    problem_…                 the error that ended the last attempt, null after a success
 *    held_…                    why deletes wait for a person, since when and how many; null when none do
 *    push                      off (a read-only mirror) · waiting (for a sweep, since another client may have changed rows) · on;
 *                              row_count of a two-way table counts the rows that the origin confirmed
 *    match_column              origin's name of the column that identifies rows, null without one
 *    allow_add                 0 where the calling user may not add rows
 *    doubted                   1 from when the rows were doubted until the next finished sweep; 2 once another client's trigger may have
 *                              changed a mirror, until its rows are doubted
 *    push_…                    what kept the last push of the table from its end, null after a success
 *    doubt_creates_from        not null once the file turned out to be an older copy: the last id that was given here by then, until its
 *                              creates are in doubt, then 0 while its other edits wait for a person (capture/older-copy.ts)
 *    pull_consent,
 *    push_consent              how many rows a person let a guard pass while a daemon was at work (consent.ts), null for none
 *    watermark                 the origin's stamp up to which changed rows are here (pull/follow.ts), null where none was asked for
 *    followed_at               when changed rows were last asked for
 *    late_ms                   how late rows were that a sweep found and following had missed, in milliseconds
 *    large_tail                since when the rows that were changed last are more than a page and stand as they are, in seconds since 1970; 0 for fewer
 *    one_window                why the rows are read as one window (reconcile/windows.ts), null where they are read by windows
 *    ignored_measures          JSON: measures of a fingerprint that say nothing until the next whole sweep (reconcile/fingerprint.ts), null for none
 *    compared_at               when what days add up to was last asked for, or the end of the last finished sweep where that is later
 *    rows_filter               the filter of the configuration by which the rows here were chosen when the table was last settled, null for all rows
 *    missing_columns           JSON: seq of the writable columns of a two-way table that vanished at the origin; it waits until they are back or
 *                              pruned. Null where none did
 *    left_out                  JSON: the columns that the configuration leaves out, by id, each with the pattern that did so (reconcile/choose.ts)
 *    page_rows                 rows of a page, since larger ones are beyond the bound of an answer; null where that of the configuration fits
 *    compare_due               1 while the marks of edited rows may miss some: the next capture compares all rows
 */
const TABLES = sql`
  CREATE TABLE _rowsync_tables (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT NOT NULL, local_name TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('loading', 'steady', 'gone')),
    row_count INTEGER NOT NULL DEFAULT 0,
    sweep INTEGER NOT NULL DEFAULT 0, sweep_started_at TEXT, swept_at TEXT,
    sweep_open INTEGER NOT NULL DEFAULT 0, applied INTEGER NOT NULL DEFAULT 0, end_proven INTEGER NOT NULL DEFAULT 0,
    identity_checked INTEGER NOT NULL DEFAULT 1,
    problem_code TEXT, problem_message TEXT, problem_hint TEXT,
    held_code TEXT, held_message TEXT, held_hint TEXT, held_at TEXT,
    push TEXT NOT NULL DEFAULT 'off' CHECK (push IN ('off', 'waiting', 'on')),
    match_column TEXT, allow_add INTEGER NOT NULL DEFAULT 1,
    doubted INTEGER NOT NULL DEFAULT 0, compare_due INTEGER NOT NULL DEFAULT 0,
    push_code TEXT, push_message TEXT, push_hint TEXT, doubt_creates_from INTEGER,
    pull_consent INTEGER, push_consent INTEGER, missing_columns TEXT, watermark TEXT, followed_at TEXT, one_window TEXT,
    late_ms INTEGER NOT NULL DEFAULT 0, large_tail INTEGER NOT NULL DEFAULT 0, ignored_measures TEXT, compared_at TEXT, rows_filter TEXT,
    left_out TEXT, page_rows INTEGER, row_colors TEXT
  ) STRICT`;

/** Which file this is and how many batches with new rows it has recorded and settled (one row): tells a copy that was put back (copies.ts). */
const SENT = sql`
  CREATE TABLE _rowsync_sent (
    lock INTEGER PRIMARY KEY CHECK (lock = 1), file_id TEXT NOT NULL, batch_count INTEGER NOT NULL
  ) STRICT`;

/**
 * The columns of each replicated table, by origin id.
 *
 *    type            as the origin spells it; value_form is the ColumnType that we read it with
 *    stored_as       TEXT, INTEGER or ANY
 *    writable        1 where the calling user may write it at the origin
 *    state           live · removed (no longer described, keeps its last values) · aside (replaced by another form)
 *    mask            JSON: how its values are masked, and by which pattern of the configuration; null where they are not (wire/mask.ts)
 */
const COLUMNS = sql`
  CREATE TABLE _rowsync_columns (
    seq INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, id INTEGER NOT NULL,
    name TEXT NOT NULL, alias TEXT NOT NULL, local_name TEXT NOT NULL,
    type TEXT NOT NULL, value_form TEXT NOT NULL, stored_as TEXT NOT NULL,
    kind TEXT, writable INTEGER NOT NULL, width INTEGER, options TEXT NOT NULL, position INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'removed', 'aside')), since TEXT NOT NULL, mask TEXT,
    UNIQUE (table_id, local_name)
  ) STRICT`;

/**
 * The page map: what the origin last said of each page. url is the full cache key; it never holds a token.
 *
 *    window        with which creation time the window of the page begins; '' the first one, 'none' rows without one (reconcile/windows.ts)
 *    page          number of the page within its window
 *    etag          null where none is trusted: never sent, discarded, or a row of the page could not be read
 *    last_stamp    creation time of its last row, to the second; null where it has none
 *    tie_count     rows at its end that share that second
 *    applied       which of the table's answers brought the rows of the page
 *    sweep         number of the sweep in which the page was last proven
 *    verified_at   when that was
 */
const PAGES = sql`
  CREATE TABLE _rowsync_pages (
    table_id INTEGER NOT NULL, "window" TEXT NOT NULL, page INTEGER NOT NULL, url TEXT NOT NULL, etag TEXT,
    row_count INTEGER NOT NULL, first_id INTEGER, last_id INTEGER, last_stamp TEXT, tie_count INTEGER NOT NULL,
    applied INTEGER NOT NULL, sweep INTEGER NOT NULL, verified_at TEXT NOT NULL,
    PRIMARY KEY (table_id, "window", page)
  ) STRICT`;

/** The ids of each page, in the origin's order, as a JSON array; apart from the page so that a 304 rewrites a few bytes. */
const PAGE_ROWS = sql`
  CREATE TABLE _rowsync_page_rows (
    table_id INTEGER NOT NULL, "window" TEXT NOT NULL, page INTEGER NOT NULL, row_ids TEXT NOT NULL,
    PRIMARY KEY (table_id, "window", page)
  ) STRICT`;

/**
 * Rows that left a page and were not seen on another one since. Kept here so that a crash in mid-sweep forgets none.
 *
 *    applied   the latest answer that had the row on a page which it left; 0 for rows that no page ever had
 */
const SUSPECTS = sql`
  CREATE TABLE _rowsync_suspects (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, applied INTEGER NOT NULL, PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/** Evidence of every delete: the row's last values here, as a JSON object of the replica's columns by their names then. Never pruned. */
const DELETED = sql`
  CREATE TABLE _rowsync_deleted (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, table_name TEXT NOT NULL, row_id INTEGER NOT NULL,
    deleted_at TEXT NOT NULL, reason TEXT NOT NULL, row_values TEXT NOT NULL
  ) STRICT`;

/**
 * Rows that could not be read, with the column and why; never with the value. Gone once the row can be read. In a mirror, the other cells of such a
 * row are as the origin has them (pull/store.ts).
 */
const UNREADABLE = sql`
  CREATE TABLE _rowsync_unreadable (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, column_name TEXT NOT NULL, reason TEXT NOT NULL,
    since TEXT NOT NULL, PRIMARY KEY (table_id, row_id)
  ) STRICT`;

/**
 * Rows of two-way tables that are not known to be equal to their base, marked by triggers and by comparison. A mark is a hint:
 * what changed is always found by comparing the row with its base.
 *
 *    state   a state of reconcile/row-state.ts; a row without a mark is clean. No CHECK: it would double what an edit costs
 *    since   when the row was first found edited, in seconds since 1970: a text would cost every edited row a third more
 */
const ROWS = sql`
  CREATE TABLE _rowsync_rows (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, state TEXT NOT NULL, since INTEGER NOT NULL,
    PRIMARY KEY (table_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/**
 * How rows that are inserted here get their ids (one row per two-way table).
 *
 *    given_id   the _id that the statement under way gives, -1 if it gives none: SQLite tells only BEFORE triggers
 *    last_id    the last negative id that was given; never given again, even after its row is gone
 */
const LOCAL_IDS = sql`
  CREATE TABLE _rowsync_local_ids (
    table_id INTEGER PRIMARY KEY, given_id INTEGER NOT NULL DEFAULT -1, last_id INTEGER NOT NULL DEFAULT -1
  ) STRICT`;

/**
 * What both sides changed, and what someone discarded. The losing version is kept here permanently.
 *
 *    kind          cell · deletedHere · deletedThere (reconcile/merge.ts) · inserted (a row that only was here)
 *    column_seq    the cell's column in _rowsync_columns, null for whole rows; column_name is what it was called then
 *    base, local, remote   the value of a cell, or a JSON object of the whole row's columns (kept-rows.ts)
 *    winner        origin · local · nobody (until a person decides)
 *    state         open (waits for a person) · decided (by the policy) · settled (both sides agree now) ·
 *                  resolved (by a person) · discarded (by a person, with the change)
 *    resolution    what a person wants: local · remote · base · value; requested is 1 until that was carried out
 *    seen          1 once a person said that they saw that this edit lost
 */
const CONFLICTS = sql`
  CREATE TABLE _rowsync_conflicts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, table_name TEXT NOT NULL, row_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('cell', 'deletedHere', 'deletedThere', 'inserted')),
    column_seq INTEGER, column_name TEXT, base ANY, local ANY, remote ANY,
    winner TEXT NOT NULL CHECK (winner IN ('origin', 'local', 'nobody')), at TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'decided', 'settled', 'resolved', 'discarded')),
    resolution TEXT CHECK (resolution IN ('local', 'remote', 'base', 'value')), value ANY,
    requested INTEGER NOT NULL DEFAULT 0, problem TEXT, seen INTEGER NOT NULL DEFAULT 0
  ) STRICT`;
const CONFLICTS_BY_ROW = sql`CREATE INDEX _rowsync_conflicts_by_row ON _rowsync_conflicts (table_id, row_id)`;

/** One line per table: how many rows, how fresh, what is wrong and what to do. */
const STATUS_VIEW = sql`
  CREATE VIEW sync_status AS
  SELECT t.local_name AS "table",
         CASE WHEN t.problem_code GLOB 'guard.*' THEN 'held' WHEN t.problem_code IS NOT NULL THEN 'failed'
              WHEN t.held_code IS NOT NULL THEN 'held' WHEN t.push_code GLOB 'guard.*' THEN 'held' WHEN t.push_code IS NOT NULL THEN 'failed' ELSE t.state END AS state,
         t.row_count AS rows,
         (SELECT count(*) FROM _rowsync_pages p WHERE p.table_id = t.id) AS pages,
         (SELECT count(DISTINCT "window") FROM _rowsync_pages p WHERE p.table_id = t.id) AS windows, t.one_window, t.rows_filter, t.page_rows,
         t.swept_at AS last_sweep,
         CASE WHEN NOT EXISTS (SELECT 1 FROM _rowsync_unreadable u WHERE u.table_id = t.id)
           THEN (SELECT min(p.verified_at) FROM _rowsync_pages p WHERE p.table_id = t.id) END AS fresh_since,
         t.followed_at,
         (SELECT count(*) FROM _rowsync_unreadable u WHERE u.table_id = t.id) AS unreadable,
         CASE t.push WHEN 'off' THEN 'mirror' WHEN 'on' THEN 'two-way' ELSE 'waiting' END AS mode,
         (SELECT count(*) FROM _rowsync_columns c WHERE c.table_id = t.id AND c.state = 'live' AND c.mask IS NOT NULL) AS masked,
         (SELECT count(*) FROM _rowsync_rows r WHERE r.table_id = t.id AND r.state IN ('edited', 'sending', 'unknown')) AS pending,
         (SELECT count(*) FROM _rowsync_rows r
           WHERE r.table_id = t.id AND r.state IN ('refused', 'conflicted', 'inDoubt')) AS parked,
         (SELECT count(*) FROM _rowsync_rows r WHERE r.table_id = t.id AND r.state IN ('refused', 'inDoubt')) AS refused,
         (SELECT count(*) FROM _rowsync_conflicts c WHERE c.table_id = t.id AND c.state = 'open') AS conflicts,
         (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', min(r.since), 'unixepoch') FROM _rowsync_rows r
           WHERE r.table_id = t.id) AS oldest_change,
         coalesce(t.problem_message, t.held_message, t.push_message) AS problem,
         coalesce(t.problem_hint, t.held_hint, t.push_hint) AS hint
  FROM _rowsync_tables t`;

const COLUMNS_VIEW = sql`
  CREATE VIEW sync_columns AS
  SELECT t.local_name AS "table", c.local_name AS "column", t.name AS origin_table, c.name AS origin_column,
         c.type, c.stored_as, c.kind, c.writable, c.width, c.options, c.state, c.since, c.id AS origin_id,
         json_extract(c.mask, '$.kind') AS mask
  FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id`;

const FRESHNESS_VIEW = sql`
  CREATE VIEW sync_freshness AS
  SELECT t.local_name AS "table", p."window", p.page, p.row_count AS rows, p.verified_at, p.etag IS NOT NULL AS has_etag
  FROM _rowsync_pages p JOIN _rowsync_tables t ON t.id = p.table_id`;

const DELETED_VIEW = sql`
  CREATE VIEW sync_deleted AS
  SELECT seq AS id, table_name AS "table", row_id, deleted_at, reason, row_values AS last_values FROM _rowsync_deleted`;

const CONFLICTS_VIEW = sql`
  CREATE VIEW sync_conflicts AS
  SELECT c.id, coalesce(t.local_name, c.table_name) AS "table", c.row_id, c.kind,
         coalesce(k.local_name, c.column_name) AS "column", c.base, c.local, c.remote, c.winner, c.at, c.state,
         c.resolution, c.value, c.problem
  FROM _rowsync_conflicts c LEFT JOIN _rowsync_tables t ON t.id = c.table_id
  LEFT JOIN _rowsync_columns k ON k.seq = c.column_seq`;

/** Lets any SQL client decide a conflict; the next run carries it out. */
const CONFLICTS_TRIGGER = sql`
  CREATE TRIGGER _rowsync_resolve INSTEAD OF UPDATE ON sync_conflicts BEGIN
    SELECT RAISE(ABORT, 'only resolution and value of sync_conflicts can be set')
      WHERE (NEW.id, NEW."table", NEW.row_id, NEW.kind, NEW."column", NEW.base, NEW.local, NEW.remote, NEW.winner, NEW.at,
             NEW.state, NEW.problem)
        IS NOT (OLD.id, OLD."table", OLD.row_id, OLD.kind, OLD."column", OLD.base, OLD.local, OLD.remote, OLD.winner, OLD.at,
                OLD.state, OLD.problem);
    SELECT RAISE(ABORT, 'resolution is one of local, remote, base and value (which goes into the column value)')
      WHERE NEW.resolution IS NOT NULL AND NEW.resolution NOT IN ('local', 'remote', 'base', 'value');
    SELECT RAISE(ABORT, 'a conflict about a whole row takes local, remote or base')
      WHERE NEW.resolution = 'value' AND NEW.kind <> 'cell';
    UPDATE _rowsync_conflicts SET resolution = NEW.resolution, value = NEW.value, requested = NEW.resolution IS NOT NULL,
      problem = NULL WHERE id = OLD.id;
  END`;

/** Replaced by one over the two-way tables as soon as there are any (capture/view.ts). */
export const NO_CHANGES_VIEW = sql`
  CREATE VIEW sync_changes AS
  SELECT NULL AS "table", NULL AS row_id, NULL AS kind, NULL AS "column", NULL AS base, NULL AS local, NULL AS state,
         NULL AS since WHERE 0`;

/** The views, by name, and after them the trigger of one; `sync_changes` changes with the two-way tables, not with versions. */
const VIEWS = {
  sync_status: STATUS_VIEW,
  sync_runs: RUNS_VIEW,
  sync_columns: COLUMNS_VIEW,
  sync_freshness: FRESHNESS_VIEW,
  sync_deleted: DELETED_VIEW,
  sync_failures: FAILURES_VIEW,
  sync_conflicts: CONFLICTS_VIEW,
  sync_files: FILES_VIEW,
  sync_history: HISTORY_VIEW,
  sync_history_cells: HISTORY_CELLS_VIEW,
};

const TABLES_OF_OURS = [
  WRITER,
  IDENTITY,
  DESCRIPTORS,
  TABLES,
  COLUMNS,
  PAGES,
  PAGE_ROWS,
  SUSPECTS,
  DELETED,
  UNREADABLE,
  RUNS,
  QUARTERS,
  ROWS,
  LOCAL_IDS,
  CONFLICTS,
  CONFLICTS_BY_ROW,
  ...PUSH_TABLES,
  ...FILE_TABLES,
  SENT,
  ...HISTORY_PARTS,
  ...DESCRIBED_TABLES,
  SCHEMA_CHANGES,
];

/** Creates everything above in an empty file; called inside a transaction. */
export function createBookkeeping(db: Database.Database): void {
  for (const statement of [...TABLES_OF_OURS, NO_CHANGES_VIEW]) db.exec(statement);
  createViews(db);
}

function createViews(db: Database.Database): void {
  for (const statement of [...Object.values(VIEWS), CONFLICTS_TRIGGER]) db.exec(statement);
}

/** Brings the bookkeeping of a released version up to this one without losing a row; called inside a transaction. */
export function migrateBookkeeping(db: Database.Database, fromVersion: number): void {
  for (const name of Object.keys(VIEWS)) db.exec(sql`DROP VIEW IF EXISTS ${ident(name)}`);
  // Without looking at views: one of another client may read from what is not there.
  db.pragma('legacy_alter_table = ON');
  for (let version = fromVersion + 1; version <= SCHEMA_VERSION; version += 1)
    must(MIGRATIONS[version], 'every version has a step').run(db);
  db.pragma('legacy_alter_table = OFF');
  createViews(db);
}
