/**
 * The SQLite file behind a sandbox: opened or created, checked to be ours, with the bookkeeping tables in place. User
 * tables are beside the bookkeeping under their own names; everything internal starts with `_sandbox_`.
 */
import { existsSync } from 'node:fs';

import Database from 'better-sqlite3';

import { RowsyncError } from '../../base/errors.ts';

/** An open store file. */
export type StoreConnection = Database.Database;

/** `rsbx` in ASCII; tells a sandbox's store from any other SQLite file. */
const APPLICATION_ID = 0x72_73_62_78;
/** Raised when the bookkeeping changes in a way that an older program would misread. */
const FORMAT_VERSION = 3;

/**
 *    _sandbox_database  one row: who this database is, where its data came from, and the next unused object id
 *    _sandbox_tables    one row per table; sql_name is the SQLite table of its rows; rules is JSON (WorkflowRule)
 *                       Tables, columns and views are described in the order in which they were inserted.
 *                       Their `described` is JSON of what another database says of them, null if made here.
 *    _sandbox_columns   one row per column; sql_name is null for computed ones. JSON: computed, default_value, options;
 *                       next_number counts an Autonumber
 *    _sandbox_views     one row per view; shown is JSON: columnIds, groups, sort, filter; roles: JSON, null for all
 *    _sandbox_users     passwords are as typed: this is a test server on the loopback interface
 *    _sandbox_roles     rights is JSON: canWrite, editOwnOnly, hiddenTableIds, hiddenColumnIds
 *    _sandbox_tokens    API tokens, lower case; a revoked one stays, so that it is refused for ever
 *    _sandbox_files     every revision of every file; the cell of its row reads `name;revision;guid`
 *    _sandbox_deleted   the recycle bin; cells is JSON, text by column id
 */
const BOOKKEEPING = `
  CREATE TABLE _sandbox_database (
    id TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL, culture TEXT NOT NULL, time_zone TEXT NOT NULL,
    source TEXT NOT NULL, next_table_id INTEGER NOT NULL, next_column_id INTEGER NOT NULL, next_view_id INTEGER NOT NULL,
    other TEXT NOT NULL
  ) STRICT;
  CREATE TABLE _sandbox_tables (
    id INT PRIMARY KEY NOT NULL, name TEXT NOT NULL, plural TEXT NOT NULL, alias TEXT NOT NULL, color TEXT NOT NULL,
    show_tab INTEGER NOT NULL, allow_add INTEGER NOT NULL, key_id INTEGER NOT NULL, sql_name TEXT NOT NULL,
    rules TEXT NOT NULL, described TEXT
  ) STRICT;
  CREATE TABLE _sandbox_columns (
    id INT PRIMARY KEY NOT NULL, table_id INTEGER NOT NULL, name TEXT NOT NULL, alias TEXT NOT NULL, type TEXT NOT NULL,
    kind TEXT NOT NULL, read_only INTEGER NOT NULL, options TEXT NOT NULL, display_options TEXT NOT NULL, width INTEGER,
    default_value TEXT NOT NULL, format TEXT NOT NULL, next_number INTEGER NOT NULL, computed TEXT, sql_name TEXT,
    described TEXT
  ) STRICT;
  CREATE TABLE _sandbox_views (
    id INT PRIMARY KEY NOT NULL, table_id INTEGER NOT NULL, name TEXT NOT NULL, alias TEXT NOT NULL, type TEXT NOT NULL,
    show_in_menu INTEGER NOT NULL, actions TEXT NOT NULL, shown TEXT NOT NULL, roles TEXT, described TEXT
  ) STRICT;
  CREATE TABLE _sandbox_users (
    id INTEGER PRIMARY KEY, email TEXT NOT NULL, password TEXT NOT NULL, first_name TEXT NOT NULL,
    last_name TEXT NOT NULL, role TEXT NOT NULL, culture TEXT NOT NULL, timezone TEXT NOT NULL, admin TEXT NOT NULL
  ) STRICT;
  CREATE TABLE _sandbox_roles (name TEXT PRIMARY KEY, rights TEXT NOT NULL) STRICT;
  CREATE TABLE _sandbox_tokens (
    token TEXT PRIMARY KEY, user_id INTEGER NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE _sandbox_files (
    guid TEXT PRIMARY KEY, table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, column_id INTEGER NOT NULL,
    revision INTEGER NOT NULL, name TEXT NOT NULL, media_type TEXT NOT NULL, bytes BLOB NOT NULL,
    author TEXT NOT NULL, created_ms INTEGER NOT NULL,
    UNIQUE (table_id, row_id, column_id, revision)
  ) STRICT;
  CREATE TABLE _sandbox_deleted (
    table_id INTEGER NOT NULL, row_id INTEGER NOT NULL, deleted_ms INTEGER NOT NULL, deleted_by TEXT NOT NULL,
    cells TEXT NOT NULL, PRIMARY KEY (table_id, row_id)
  ) STRICT;
`;

/** A SQL identifier in quotes, whatever the name contains. */
export function ident(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function storeError(path: string, problem: string, hint: string, cause?: unknown): RowsyncError {
  return new RowsyncError('config', 'sandbox.store', {
    message: `The sandbox cannot use ${path} as its store: ${problem}`,
    hint,
    cause,
  });
}

/**
 * Opens the store at `path`, or creates it. `isNew` tells which; a new one has empty bookkeeping tables. `durable` is
 * false for a temporary file, which need not survive a power cut.
 *
 * @throws RowsyncError `sandbox.store` when the path cannot be used or the file is not a sandbox's.
 */
export function openStoreFile(path: string, durable: boolean): { connection: StoreConnection; isNew: boolean } {
  const isNew = !existsSync(path);
  let connection: StoreConnection;
  try {
    connection = new Database(path, { timeout: 5000 });
  } catch (cause) {
    throw storeError(path, reasonOf(cause), 'Check that its folder exists and can be written.', cause);
  }
  try {
    prepareFile(connection, path, { isNew, durable });
  } catch (thrown) {
    connection.close();
    if (thrown instanceof RowsyncError) throw thrown;
    throw storeError(path, reasonOf(thrown), 'Name a store of a sandbox, or a file that does not exist yet.', thrown);
  }
  return { connection, isNew };
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function prepareFile(connection: StoreConnection, path: string, file: { isNew: boolean; durable: boolean }): void {
  const applicationId = connection.pragma('application_id', { simple: true });
  const version = connection.pragma('user_version', { simple: true });
  if (!file.isNew && applicationId !== APPLICATION_ID) {
    throw storeError(path, 'it was not made by a sandbox', 'To serve a SQLite file of your own, use --data.');
  }
  if (!file.isNew && version !== FORMAT_VERSION) {
    throw storeError(path, 'it was made by another version', 'Remove it, or use the version that made it.');
  }
  connection.pragma('journal_mode = WAL');
  connection.pragma(`synchronous = ${file.durable ? 'NORMAL' : 'OFF'}`);
  connection.pragma('trusted_schema = OFF');
  if (!file.isNew) return;
  connection.transaction(() => {
    connection.exec(BOOKKEEPING);
    connection.pragma(`application_id = ${APPLICATION_ID}`);
    connection.pragma(`user_version = ${FORMAT_VERSION}`);
  })();
}
