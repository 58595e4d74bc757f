/**
 * Every table that was ever replicated: its names, how far its sweep is, what went wrong, how it is read and edited.
 */
import { must } from '../../base/assert.ts';
import { usageError } from '../../base/errors.ts';
import { ident, sql, joinSql } from '../../base/sql.ts';
import type { Connection, Tx, WrittenTable } from '../connection.ts';
import { queryAll, queryFirst, withFlags } from '../query.ts';
import { guessText } from '../../reconcile/option-bindings.ts';
import { endMoment } from './changed-rows.ts';

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
 *    identity_checked          0 after a change of identity; 1 by a person, or a sweep without deletes or sent rows
 *    problem_…                 the error that ended the last attempt, null after a success
 *    held_…                    why deletes wait for a person, and since when; null when none do
 *    push                      off (a read-only mirror) · waiting (for a sweep, since another client may have changed
 *                              rows) · on; row_count of a two-way table counts the rows that the origin confirmed
 *    match_column              origin's name of the column that identifies rows, null without one
 *    allow_add                 0 where the calling user or the configuration lets no rows be added
 *    doubted                   1 from when the rows were doubted until the next finished sweep
 *    push_…                    the error that stopped the last push of the table, null after a success
 *    older_copy                creates: the file turned out to be an older copy, and its creates are still to be
 *                              doubted · edits: its other edits wait for a person. Null for no such copy
 *    doubt_creates_from        the last id that the replica had given out when the copy was noticed
 *    pull_consent,
 *    push_consent              how many rows a person let a guard pass beside a daemon (confirmation.ts), null for none
 *    watermark                 the origin's stamp up to which changed rows were read (pull/follow.ts), null for never
 *    followed_at               when changed rows were last requested
 *    large_tail                whether the most recently changed rows fill more than a page
 *    one_window                why the rows are read as one window (reconcile/windows.ts), null where by windows
 *    ignored_measures          JSON: measures of a fingerprint to ignore until the next whole sweep
 *                              (reconcile/fingerprint.ts), null for none
 *    compared_at               when the sums of each day were last requested, or the last sweep ended, if later
 *    rows_filter               the configured filter by which the rows here were chosen, null for all rows
 *    rows_wanted               the same in the last pull; differs from rows_filter until the rows are chosen by it
 *    missing_columns           JSON: seq of the writable columns of a two-way table that vanished at the origin; it
 *                              waits until they are back or pruned. Null where none did
 *    left_out                  JSON: columns that are configured away, with the pattern (reconcile/column-selection.ts)
 *    row_colors                seen: rows came with colors · kept: they are kept in `_color` · null for neither
 *    page_rows                 rows per page, reduced because larger pages did not fit; null if that never was
 *    compare_due               1 while the marks of edited rows may miss some: the next capture compares all rows
 */
export const TABLES = sql`
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
    large_tail INTEGER NOT NULL DEFAULT 0, ignored_measures TEXT, compared_at TEXT, rows_filter TEXT, rows_wanted TEXT,
    left_out TEXT, page_rows INTEGER, row_colors TEXT,
    older_copy TEXT
  ) STRICT`;

/** One line per table: how many rows, how fresh, what is wrong and what to do. */
export const STATUS_VIEW = sql`
  CREATE VIEW sync_status AS
  SELECT t.local_name AS "table",
         CASE WHEN t.problem_code GLOB 'guard.*' THEN 'held' WHEN t.problem_code IS NOT NULL THEN 'failed'
              WHEN t.held_code IS NOT NULL THEN 'held' WHEN t.push_code GLOB 'guard.*' THEN 'held'
              WHEN t.push_code IS NOT NULL THEN 'failed' WHEN t.state <> 'steady' THEN t.state
              WHEN here.name IS NULL THEN 'dropped'
              WHEN t.end_proven = 0 AND coalesce(t.swept_at, '') <= (
                SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(h.at), 'unixepoch')
                FROM _rowsync_history h WHERE h.row_id IS NULL AND h.kind = 'restored') THEN 'restored'
              ELSE 'steady' END AS state,
         iif(here.name IS NULL, 0, t.row_count) AS rows,
         (SELECT count(*) FROM _rowsync_pages p WHERE p.table_id = t.id) AS pages,
         (SELECT count(DISTINCT "window") FROM _rowsync_pages p WHERE p.table_id = t.id) AS windows, t.one_window, t.rows_filter, t.page_rows,
         t.swept_at AS last_sweep,
         CASE WHEN t.state <> 'loading' AND NOT EXISTS (SELECT 1 FROM _rowsync_unreadable u WHERE u.table_id = t.id)
           THEN (SELECT min(p.verified_at) FROM _rowsync_pages p WHERE p.table_id = t.id) END AS fresh_since,
         t.followed_at,
         (SELECT count(*) FROM _rowsync_unreadable u WHERE u.table_id = t.id) AS unreadable,
         CASE t.push WHEN 'off' THEN 'mirror' WHEN 'on' THEN 'two-way' ELSE 'waiting' END AS mode,
         (SELECT count(*) FROM _rowsync_columns c WHERE c.table_id = t.id AND c.state = 'live' AND c.mask IS NOT NULL) AS masked,
         (SELECT count(*) FROM _rowsync_rows r WHERE r.table_id = t.id AND r.state IN ('edited', 'sending')) AS pending,
         (SELECT count(*) FROM _rowsync_rows r
           WHERE r.table_id = t.id AND r.state IN ('refused', 'conflicted', 'inDoubt')) AS parked,
         (SELECT count(*) FROM _rowsync_rows r WHERE r.table_id = t.id AND r.state IN ('refused', 'inDoubt')) AS refused,
         (SELECT count(*) FROM _rowsync_conflicts c WHERE c.table_id = t.id AND c.state = 'open') AS conflicts,
         (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', min(r.since), 'unixepoch') FROM _rowsync_rows r
           WHERE r.table_id = t.id) AS oldest_change,
         coalesce(t.problem_message, t.held_message, t.push_message) AS problem,
         coalesce(t.problem_hint, t.held_hint, t.push_hint) AS hint
  FROM _rowsync_tables t
  LEFT JOIN (SELECT name FROM sqlite_schema WHERE type = 'table') here ON here.name = t.local_name COLLATE NOCASE`;

/** A replicated table, as it was when it was read. */
export interface TableRecord {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
  readonly localName: string;
  readonly state: 'loading' | 'steady' | 'gone';
  readonly rowCount: number;
  /** off: a mirror · waiting: to be two-way after the next finished sweep · on: two-way. */
  readonly push: 'off' | 'waiting' | 'on';
  /** seen: rows came with colors · kept: their colors are kept in `_color`. Null where none came. */
  readonly rowColors: 'seen' | 'kept' | null;

  /** Number of the current or last sweep; 0 before the first. */
  readonly sweep: number;
  readonly sweepOpen: boolean;
  readonly sweptAt: string | null;
  readonly endProven: boolean;
  readonly identityChecked: boolean;
  /** Another client may have changed rows, and no sweep has proven them since. */
  readonly isDistrusted: boolean;
  /** Why the table is read as one window; null where it is read by windows. */
  readonly oneWindow: string | null;
  /** Rows per page, reduced because larger pages did not fit; null if the configured number fits. */
  readonly pageRows: number | null;

  /** The origin's stamp up to which changed rows were read; null if they never were. */
  readonly watermark: string | null;
  /** Whether the most recently changed rows fill more than a page. */
  readonly hasLargeTail: boolean;
  /** When changed rows were last requested, or the last sweep began if later; null for neither. Epoch seconds. */
  readonly readAt: number | null;
  /** Measures of a fingerprint to ignore until the next whole sweep. */
  readonly ignoredMeasures: readonly string[];
  /** When the sums of each day were last requested, or the end of the last finished sweep if that is later. */
  readonly comparedAt: string | null;

  readonly heldCode: string | null;
  readonly problemCode: string | null;
  /** What stopped the last push. */
  readonly pushCode: string | null;
  /** How many rows a person allowed past the guards of the next pull, or push; null for none. */
  readonly pullConfirmedCount: number | null;
  readonly pushConfirmedCount: number | null;

  /** The filter of the configuration by which the rows here were chosen; null for all rows. */
  readonly rowsFilter: string | null;
  /** The filter that the configuration had in the last pull. */
  readonly rowsWanted: string | null;
  /** Columns that the configuration leaves out, by origin id, and by which pattern; null where none included them. */
  readonly leftOut: readonly { readonly id: number; readonly pattern: string | null }[];
  /** Numbers (`seq`) of writable columns that vanished at the origin: nothing of the table is read or sent. */
  readonly missingColumns: readonly number[];

  readonly matchColumn: string | null;
  readonly allowsAdd: boolean;
  /** Marks of edited rows may miss some. */
  readonly compareDue: boolean;
  /** What of an older copy that was put back is to be doubted: its creates, or its other edits; null for none. */
  readonly olderCopy: 'creates' | 'edits' | null;
  /** The last id that was given out when the copy was noticed; rows with later ids do not come from it. */
  readonly lastIdOfCopy: number;
}

const SELECT_TABLES = sql`SELECT id, name, alias, local_name AS localName, state, row_count AS rowCount, push, row_colors AS rowColors,
    sweep, sweep_open AS sweepOpen, swept_at AS sweptAt, end_proven AS endProven, identity_checked AS identityChecked,
    doubted AS isDistrusted, one_window AS oneWindow, page_rows AS pageRows, watermark, large_tail AS hasLargeTail,
    unixepoch(max(coalesce(followed_at, sweep_started_at), coalesce(sweep_started_at, followed_at))) AS readAt,
    ignored_measures AS ignoredMeasures, compared_at AS comparedAt, held_code AS heldCode, problem_code AS problemCode,
    push_code AS pushCode, pull_consent AS pullConfirmedCount, push_consent AS pushConfirmedCount, rows_filter AS rowsFilter,
    rows_wanted AS rowsWanted, left_out AS leftOut, missing_columns AS missingColumns, match_column AS matchColumn,
    allow_add AS allowsAdd, compare_due AS compareDue, older_copy AS olderCopy, coalesce(doubt_creates_from, 0) AS lastIdOfCopy
  FROM _rowsync_tables`;

const FLAGS = [
  'sweepOpen',
  'endProven',
  'identityChecked',
  'isDistrusted',
  'hasLargeTail',
  'allowsAdd',
  'compareDue',
] as const;

/** Stored as JSON, null for an empty one. */
const LISTS = ['ignoredMeasures', 'leftOut', 'missingColumns'] as const;

function recordOf(row: unknown): TableRecord {
  const record = withFlags(row, ...FLAGS) as Record<string, unknown>; // columns by name
  for (const list of LISTS) record[list] = JSON.parse((record[list] ?? '[]') as string);
  return record as unknown as TableRecord; // as selected
}

/** Every table that was ever replicated and not pruned, by origin id. */
export function readTables(from: Connection): readonly TableRecord[] {
  return queryAll(from, sql`${SELECT_TABLES} ORDER BY id`).map(recordOf);
}

/** Finds the table a person names: its name here wins over the origin's, and an exact one over another case. */
export function tableNamed<T extends Pick<TableRecord, 'name' | 'localName'>>(
  tables: readonly T[],
  name: string,
): T | undefined {
  const isAlike = (known: string): boolean => known.toLowerCase() === name.toLowerCase();
  return (
    tables.find(({ localName }) => localName === name) ??
    tables.find((table) => table.name === name) ??
    tables.find(({ localName }) => isAlike(localName)) ??
    tables.find((table) => isAlike(table.name))
  );
}

/** The tables that the given names refer to; all if no name is given. */
export function tablesNamed<T extends Pick<TableRecord, 'name' | 'localName'>>(
  tables: readonly T[],
  names: readonly string[],
): readonly T[] {
  if (names.length === 0) return tables;
  const meant = new Set(names.map((name) => tableNamed(tables, name)));
  return tables.filter((table) => meant.has(table));
}

/** The named tables, or all for no name. @throws RowsyncError `usage.invalid` for a name that is not here. */
export function chooseTables(from: Connection, names: readonly string[]): readonly TableRecord[] {
  const tables = readTables(from);
  const unknown = names.filter((name) => tableNamed(tables, name) === undefined);
  if (unknown.length > 0) {
    const there = tables.map(({ localName }) => localName);
    throw usageError(
      `The replica has no table called ${unknown.map((name) => `"${name}"${guessText(name, there)}`).join(', ')}`,
      `It has: ${there.join(', ') || 'none yet; run rowsync pull'}.`,
    );
  }
  return tablesNamed(tables, names);
}

/** One table, or null where it is not known. */
export function findTable(from: Connection, tableId: number): TableRecord | null {
  const row = queryFirst(from, sql`${SELECT_TABLES} WHERE id = ?`, [tableId]);
  return row === null ? null : recordOf(row);
}

/** One table; it must exist. */
export function readTable(from: Connection, tableId: number): TableRecord {
  return must(findTable(from, tableId), 'a table that is worked on is in the bookkeeping');
}

/** Facts that are stored one by one, each in its column of `TABLES`; a list as JSON, null for an empty one. */
type StoredFacts = Partial<{
  name: string;
  alias: string;
  local_name: string;
  state: TableRecord['state'];
  sweep_open: 0;
  push: TableRecord['push'];
  row_colors: 'seen' | 'kept';
  rows_filter: string | null;
  rows_wanted: string | null;
  missing_columns: readonly number[];
  left_out: TableRecord['leftOut'];
  one_window: string | null;
  page_rows: number | null;
  ignored_measures: readonly string[];
  identity_checked: 1;
  doubted: 1;
  compare_due: 0 | 1;
  older_copy: 'edits' | null;
  pull_consent: number | null;
  push_consent: number | null;
}>;

export function storeFacts(to: Connection, tableId: number, facts: StoredFacts): void {
  const set = joinSql(Object.keys(facts).map((column) => sql`${ident(column)} = ?`));
  const values = Object.values(facts).map((fact) =>
    Array.isArray(fact) ? (fact.length === 0 ? null : JSON.stringify(fact)) : fact,
  );
  to.prepare(sql`UPDATE _rowsync_tables SET ${set} WHERE id = ?`).run(...values, tableId);
}

/** Tables whose configured filter changed since the last pull; `filterOf` gives undefined for tables left out. */
export function changedFilters(
  from: Connection,
  filterOf: (name: string) => string | null | undefined,
): readonly { readonly id: number; readonly filter: string | null }[] {
  return readTables(from).flatMap(({ id, name, rowsWanted, sweptAt }) => {
    const filter = sweptAt === null ? undefined : filterOf(name);
    return filter === undefined || filter === rowsWanted ? [] : [{ id, filter }];
  });
}

/** Stores the configured filter. Until rows are selected by it, the table has no age and belongs to no moment. */
export function storeRowsWanted(tx: Tx, tableId: number, filter: string | null): void {
  storeFacts(tx, tableId, { rows_wanted: filter });
  endMoment(tx);
}

/** Stores what decides, beside columns, how a table can be edited. */
export function storeEditing(tx: Tx, tableId: number, editing: Pick<TableRecord, 'matchColumn' | 'allowsAdd'>): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET match_column = @match, allow_add = @add
        WHERE id = @tableId AND (match_column, allow_add) IS NOT (@match, @add)`,
  ).run({ tableId, match: editing.matchColumn, add: editing.allowsAdd ? 1 : 0 });
}

/** Adds to the number of rows of a table, which `sync_status` shows. */
export function addToRowCount(tx: Tx, tableId: number, by: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET row_count = row_count + ? WHERE id = ?`).run(by, tableId);
}

export type TableNames = Pick<TableRecord, 'id' | 'name' | 'alias' | 'localName'>;

/** Recounts the rows of a table; `localName` is where they are (the base, for a two-way table). */
export function recountRows(tx: Tx, { id, localName }: WrittenTable): void {
  const text = sql`UPDATE _rowsync_tables SET row_count = (SELECT count(*) FROM ${ident(localName)}) WHERE id = ?`;
  tx.prepare(text).run(id);
}

/** Stores a table that is read for the first time, or again after it was dropped in the replica. */
export function storeNewTable(tx: Tx, { id, name, alias, localName }: TableNames): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_tables (id, name, alias, local_name, state) VALUES (?, ?, ?, ?, 'loading')
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, alias = excluded.alias, local_name = excluded.local_name,
          state = 'loading', row_count = 0, sweep_open = 0, end_proven = 0, row_colors = iif(row_colors IS NULL, NULL, 'seen')`,
  ).run(id, name, alias, localName);
}

export function forgetTable(tx: Tx, tableId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_tables WHERE id = ?`).run(tableId);
}

/** Lets the next capture of every two-way table compare all rows: edits may have gone unseen. */
export function storeAllCompareDue(to: Connection): void {
  to.prepare(sql`UPDATE _rowsync_tables SET compare_due = 1 WHERE push = 'on'`).run();
}
