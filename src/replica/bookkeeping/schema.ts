/**
 * The bookkeeping tables of the replica, `_rowsync_…`, and the views that people read, `sync_…`: one list, one version.
 * Each table has a source file that explains it, most of them in this folder. Extras create their own tables, and
 * `sync_changes` is in capture/changes-view.ts. The tables are in the same file as the rows, so that one transaction
 * changes both. Views change only with a line in the changelog. All stamps are UTC text, `YYYY-MM-DDThh:mm:ssZ`.
 */
import type Database from 'better-sqlite3';
import { ident, sql, type Sql } from '../../base/sql.ts';
import { BATCHES } from './batches.ts';
import { COLUMNS, COLUMNS_VIEW } from './columns.ts';
import { CONFLICTS, CONFLICTS_BY_ROW, CONFLICTS_TRIGGER, CONFLICTS_VIEW } from './conflicts.ts';
import { DELETED, DELETED_VIEW } from './deleted-rows.ts';
import { DESCRIBED_TABLES } from './described-tables.ts';
import { DESCRIPTORS } from './descriptors.ts';
import { SENT } from '../older-copy.ts';
import { FILE_TABLES, FILES_VIEW } from './files.ts';
import { HISTORY_CELLS_VIEW, HISTORY_PARTS, HISTORY_VIEW } from './history.ts';
import { IDENTITY } from './identity.ts';
import { FRESHNESS_VIEW, PAGE_ROWS, PAGES } from './pages.ts';
import { FAILURES_VIEW, REFUSALS } from './refusals.ts';
import { LOCAL_IDS, NO_CHANGES_VIEW, ROWS } from './row-states.ts';
import { QUARTERS, RUNS, RUNS_VIEW } from './runs.ts';
import { SCHEMA_CHANGES } from './schema-changes.ts';
import { SUSPECTS } from './suspects.ts';
import { STATUS_VIEW, TABLES } from './tables.ts';
import { MOMENTS, MOMENTS_VIEW } from './changed-rows.ts';
import { UNREADABLE } from './unreadable-rows.ts';

/** Version of everything below (`PRAGMA user_version`). */
export const SCHEMA_VERSION = 15;

/** Has a row exactly while a transaction of ours is open: triggers know our writes. No other connection sees it. */
const WRITER = sql`
  CREATE TABLE _rowsync_writer (flag INTEGER PRIMARY KEY CHECK (flag = 1)) STRICT`;

/** The views, by name. `sync_changes` changes with the two-way tables, not with versions. */
const VIEWS = {
  sync_status: STATUS_VIEW,
  sync_runs: RUNS_VIEW,
  sync_columns: COLUMNS_VIEW,
  sync_freshness: FRESHNESS_VIEW,
  sync_moments: MOMENTS_VIEW,
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
  BATCHES,
  REFUSALS,
  ...FILE_TABLES,
  SENT,
  ...HISTORY_PARTS,
  ...DESCRIBED_TABLES,
  SCHEMA_CHANGES,
  MOMENTS,
];

/** Creates everything above in an empty file; called inside a transaction. */
export function createBookkeeping(db: Database.Database): void {
  for (const statement of [...TABLES_OF_OURS, NO_CHANGES_VIEW]) db.exec(statement);
  createViews(db);
}

function createViews(db: Database.Database): void {
  for (const statement of [...Object.values(VIEWS), CONFLICTS_TRIGGER]) db.exec(statement);
}

/** Brings the bookkeeping of a release up to this version without losing a row; called inside a transaction. */
export function migrateBookkeeping(db: Database.Database, changes: readonly Sql[]): void {
  for (const name of Object.keys(VIEWS)) db.exec(sql`DROP VIEW IF EXISTS ${ident(name)}`);
  // ALTER must not check views: a view of another client may select from a table that does not exist.
  db.pragma('legacy_alter_table = ON');
  for (const text of changes) db.exec(text);
  db.pragma('legacy_alter_table = OFF');
  createViews(db);
}
