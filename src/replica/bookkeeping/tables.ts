/**
 * Every table that was ever replicated: its names, how far its sweep is, what went wrong, and how it is read and edited.
 */
import { must } from '../../base/assert.ts';
import { ident, sql } from '../../base/sql.ts';
import { vouchJournal } from './history.ts';
import { touchTable } from './touched.ts';
import type { Connection, Tx } from '../connection.ts';

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
 *    doubted                   1 from when the rows were doubted until the next finished sweep
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
    late_ms INTEGER NOT NULL DEFAULT 0, large_tail INTEGER NOT NULL DEFAULT 0, ignored_measures TEXT, compared_at TEXT, rows_filter TEXT,
    left_out TEXT, page_rows INTEGER, row_colors TEXT
  ) STRICT`;

/** One line per table: how many rows, how fresh, what is wrong and what to do. */
export const STATUS_VIEW = sql`
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

/** A replicated table as the bookkeeping knows it. */
export interface LedgerTable {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
  readonly localName: string;
  readonly state: 'loading' | 'steady' | 'gone';
  readonly rowCount: number;
  readonly sweep: number;
  readonly sweepOpen: boolean;
  readonly endProven: boolean;
  readonly identityChecked: boolean;
  readonly sweptAt: string | null;
  readonly heldCode: string | null;
  readonly problemCode: string | null;
  /** off: a mirror · waiting: to be two-way after the next finished sweep · on: two-way. */
  readonly push: 'off' | 'waiting' | 'on';
  readonly matchColumn: string | null;
  readonly allowsAdd: boolean;
  /** Another client may have changed rows that no sweep has proven since. */
  readonly isDistrusted: boolean;
  /** Marks of edited rows may miss some. */
  readonly compareDue: boolean;
  /** In an older copy that was put back, the id from which creates are still to be doubted; 0 once they are. Null for no such copy. */
  readonly doubtCreatesFrom: number | null;
  /** Rows that a person let the guards of a pull, or of a push, pass the next time; null for none. */
  readonly pullConsent: number | null;
  readonly pushConsent: number | null;
  /** Ledger rows of writable columns that vanished at the origin: nothing of the table is read or sent; empty for none. */
  readonly missingColumns: readonly number[];
  /** Columns that the configuration leaves out, by origin id, and by which pattern; null where none included them. */
  readonly leftOut: readonly { readonly id: number; readonly pattern: string | null }[];
  /** The origin's stamp up to which changed rows are here; null where none was asked for. */
  readonly watermark: string | null;
  /** How late rows were that a sweep found and following had missed, in milliseconds. */
  readonly lateMs: number;
  /** Since when the rows that were changed last are more than a page and stand as they are, in seconds since 1970; 0 for fewer. */
  readonly tailSince: number;
  /** When changed rows were last asked for, or the last sweep began where that is later; null for neither. In seconds since 1970. */
  readonly readAt: number | null;
  /** Measures of a fingerprint that say nothing until the next whole sweep. */
  readonly ignoredMeasures: readonly string[];
  /** When what days add up to was last asked for, or the end of the last finished sweep where that is later. */
  readonly comparedAt: string | null;
  /** Why the table is read as one window; null where it is read by windows. */
  readonly oneWindow: string | null;
  /** The filter of the configuration by which the rows here were chosen; null for all rows. */
  readonly rowsFilter: string | null;
  /** Rows of a page, since larger ones did not fit; null if those of the configuration do. */
  readonly pageRows: number | null;
  /** seen: rows came with colors · kept: their colors are kept in `_color`. Null where none came. */
  readonly rowColors: 'seen' | 'kept' | null;
}

const TABLE_COLUMNS = sql`id, name, alias, local_name AS localName, state, row_count AS rowCount, sweep,
  sweep_open AS sweepOpen, end_proven AS endProven, identity_checked AS identityChecked, swept_at AS sweptAt,
  held_code AS heldCode, problem_code AS problemCode, push, match_column AS matchColumn, allow_add AS allowsAdd, doubted AS isDistrusted, compare_due AS compareDue,
  doubt_creates_from AS doubtCreatesFrom, pull_consent AS pullConsent, push_consent AS pushConsent,
  missing_columns AS missingColumns, left_out AS leftOut, watermark, late_ms AS lateMs, large_tail AS tailSince, ignored_measures AS ignoredMeasures,
  unixepoch(max(coalesce(followed_at, sweep_started_at), coalesce(sweep_started_at, followed_at))) AS readAt,
  compared_at AS comparedAt, one_window AS oneWindow, rows_filter AS rowsFilter, page_rows AS pageRows, row_colors AS rowColors`;

/** Every table that was ever replicated and not pruned, by origin id. */
export function readTables(from: Connection): readonly LedgerTable[] {
  return from
    .prepare(sql`SELECT ${TABLE_COLUMNS} FROM _rowsync_tables ORDER BY id`)
    .all()
    .map(tableFromRow);
}

/** Notes which writable columns of a two-way table vanished at the origin. */
export function storeMissingColumns(tx: Tx, tableId: number, seqs: readonly number[]): void {
  const text = sql`UPDATE _rowsync_tables SET missing_columns = ? WHERE id = ?`;
  tx.prepare(text).run(seqs.length === 0 ? null : JSON.stringify(seqs), tableId);
}

/** Notes which columns the configuration leaves out. */
export function storeLeftOut(tx: Tx, tableId: number, leftOut: LedgerTable['leftOut']): void {
  const text = sql`UPDATE _rowsync_tables SET left_out = ? WHERE id = ?`;
  tx.prepare(text).run(leftOut.length === 0 ? null : JSON.stringify(leftOut), tableId);
}

/** One table, or null where it is not known. */
export function findTable(from: Connection, tableId: number): LedgerTable | null {
  const row = from.prepare(sql`SELECT ${TABLE_COLUMNS} FROM _rowsync_tables WHERE id = ?`).get(tableId);
  return row === undefined ? null : tableFromRow(row);
}

/** One table; it must exist. */
export function readTable(from: Connection, tableId: number): LedgerTable {
  return must(findTable(from, tableId), 'a table that is worked on is in the ledger');
}

/** SQLite has no booleans: the flags arrive as 0 and 1. */
type TableRow = Omit<LedgerTable, Flag | List | 'isDistrusted'> &
  Readonly<Record<Flag, 0 | 1>> &
  Readonly<Record<List, string | null>> & { readonly isDistrusted: 0 | 1 | 2 };

type List = 'missingColumns' | 'ignoredMeasures' | 'leftOut';

type Flag = 'sweepOpen' | 'endProven' | 'identityChecked' | 'allowsAdd' | 'compareDue';

function tableFromRow(row: unknown): LedgerTable {
  const table = row as TableRow; // columns and types are ours
  return {
    ...table,
    sweepOpen: table.sweepOpen === 1,
    endProven: table.endProven === 1,
    identityChecked: table.identityChecked === 1,
    allowsAdd: table.allowsAdd === 1,
    isDistrusted: table.isDistrusted !== 0,
    compareDue: table.compareDue === 1,
    ignoredMeasures: JSON.parse(table.ignoredMeasures ?? '[]') as string[], // written as such a list
    missingColumns: JSON.parse(table.missingColumns ?? '[]') as number[], // written as such a list
    leftOut: JSON.parse(table.leftOut ?? '[]') as LedgerTable['leftOut'], // written as such a list
  };
}

/** Begins a sweep, or continues with an unfinished one; returns its number. */
export function openSweep(tx: Tx, tableId: number, at: string): number {
  const { sweep, sweepOpen } = readTable(tx, tableId);
  if (sweepOpen) return sweep;
  tx.prepare(sql`UPDATE _rowsync_tables SET sweep = sweep + 1, sweep_open = 1, sweep_started_at = ? WHERE id = ?`).run(
    at,
    tableId,
  );
  return sweep + 1;
}

/** Stores up to which stamp of the origin changed rows are here, when that was asked, and when days were; null for not this time. */
export function storeFollowed(
  tx: Tx,
  tableId: number,
  followed: { readonly watermark: string; readonly at: string; readonly comparedAt: string | null },
): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET watermark = @watermark, followed_at = @at, compared_at = coalesce(@comparedAt, compared_at), problem_code = NULL, problem_message = NULL, problem_hint = NULL
        WHERE id = @tableId`,
  ).run({ ...followed, tableId });
}

/** Notes since when the rows that were changed last are more than a page and stand as they are; 0 for fewer. */
export function storeTail(tx: Tx, tableId: number, since: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET large_tail = ? WHERE id = ?`).run(BigInt(since), tableId);
}

/** Stores how late a row was that following had missed; the longest time stays. */
export function storeLateness(tx: Tx, tableId: number, lateMs: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET late_ms = max(late_ms, ?) WHERE id = ?`).run(lateMs, tableId);
}

/** Notes which measures of a fingerprint say nothing; the next whole sweep forgets it. */
export function storeIgnoredMeasures(tx: Tx, tableId: number, measures: readonly string[]): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET ignored_measures = ? WHERE id = ?`).run(JSON.stringify(measures), tableId);
}

/** Stores why a table is read as one window; null for windows. */
export function storeOneWindow(tx: Tx, tableId: number, why: string | null): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET one_window = ? WHERE id = ?`).run(why, tableId);
}

/** Notes by which filter the rows that are here were chosen; null for all rows. */
export function storeRowsFilter(tx: Tx, tableId: number, filter: string | null): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET rows_filter = ? WHERE id = ?`).run(filter, tableId);
}

/** Stores how many rows of a page fit into an answer; null for as many as the configuration says. */
export function storePageRows(tx: Tx, tableId: number, pageRows: number | null): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET page_rows = ? WHERE id = ?`).run(pageRows, tableId);
}

/** Ends a sweep: the table is steady, and the last failure is forgotten. */
export function closeSweep(
  tx: Tx,
  tableId: number,
  { at, watermark, filter }: { readonly at: string; readonly watermark: string | null; readonly filter: string | null },
): void {
  if (readTable(tx, tableId).state === 'loading') touchTable(tx, tableId);
  tx.prepare(
    sql`UPDATE _rowsync_tables SET state = 'steady', sweep_open = 0, swept_at = @at, end_proven = 1,
          large_tail = iif(large_tail > 0 AND @watermark <> watermark, unixepoch(sweep_started_at), large_tail),
          rows_filter = iif(swept_at IS NULL, @filter, rows_filter),
          watermark = coalesce(@watermark, watermark), ignored_measures = NULL, compared_at = @at, doubted = 0,
          problem_code = NULL, problem_message = NULL, problem_hint = NULL WHERE id = @tableId`,
  ).run({ at, watermark, filter, tableId });
  vouchJournal(tx, tableId, at);
}

/** Stores whether edits of a table are captured. */
export function storePush(tx: Tx, tableId: number, push: LedgerTable['push']): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET push = ? WHERE id = ?`).run(push, tableId);
}

/** Stores what decides on edits of a table beside its columns: the match column, and whether rows may be added. */
export function storeEditing(
  tx: Tx,
  tableId: number,
  editing: { readonly matchColumn: string | null; readonly allowsAdd: boolean },
): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET match_column = @match, allow_add = @add
        WHERE id = @tableId AND (match_column, allow_add) IS NOT (@match, @add)`,
  ).run({ tableId, match: editing.matchColumn, add: editing.allowsAdd ? 1 : 0 });
}

/** Notes whether the next capture must compare all rows of a table. */
export function storeCompareDue(tx: Tx, tableId: number, isDue: boolean): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET compare_due = @due WHERE id = @tableId AND compare_due <> @due`).run({
    tableId,
    due: isDue ? 1 : 0,
  });
}

/** An error as the bookkeeping keeps it. */
export interface Complaint {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Stores why a table could not be finished; null forgets it. */
export function storeProblem(tx: Tx, tableId: number, problem: Complaint | null): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET problem_code = ?, problem_message = ?, problem_hint = ? WHERE id = ?`).run(
    problem?.code ?? null,
    problem?.message ?? null,
    problem?.hint ?? null,
    tableId,
  );
}

/** Stores what kept the push of a table from its end; null forgets it. */
export function storePushProblem(tx: Tx, tableId: number, problem: Complaint | null): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET push_code = @code, push_message = @message, push_hint = @hint WHERE id = @tableId`,
  ).run(pushProblemParameters(tableId, problem));
}

/**
 * Ends the hold of a table's push, with a consent to it, once none of the edits that it held is left. Columns that vanished hold the table itself.
 */
export function endPushHold(tx: Tx, tableId: number): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET push_code = NULL, push_message = NULL, push_hint = NULL, push_consent = NULL
        WHERE id = @tableId AND push_code GLOB 'guard.*' AND push_code <> 'guard.columns'
          AND NOT EXISTS (SELECT 1 FROM _rowsync_rows WHERE table_id = @tableId AND state = 'edited')`,
  ).run({ tableId });
}

/** Whether just that is stored about the push of a table, so that nothing need be written. */
export function isPushProblemStored(from: Connection, tableId: number, problem: Complaint | null): boolean {
  const text = sql`SELECT 1 FROM _rowsync_tables
                   WHERE id = @tableId AND (push_code, push_message, push_hint) IS (@code, @message, @hint)`;
  return from.prepare(text).get(pushProblemParameters(tableId, problem)) !== undefined;
}

function pushProblemParameters(
  tableId: number,
  problem: Complaint | null,
): Readonly<Record<string, number | string | null>> {
  return {
    tableId,
    code: problem?.code ?? null,
    message: problem?.message ?? null,
    hint: problem?.hint ?? null,
  };
}

/** Stores why a table waits for a person; the time of the first such stop is kept. Null lets it continue. */
export function storeHold(tx: Tx, tableId: number, hold: Complaint | null, at: string): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET held_code = @code, held_message = @message, held_hint = @hint,
          held_at = CASE WHEN @code IS NULL THEN NULL ELSE coalesce(held_at, @at) END WHERE id = @tableId`,
  ).run({ tableId, code: hold?.code ?? null, message: hold?.message ?? null, hint: hold?.hint ?? null, at });
}

/** Notes that deletes of the table no longer wait for the last change of identity. */
export function storeIdentityChecked(tx: Tx, tableId: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET identity_checked = 1 WHERE id = ?`).run(tableId);
}

/** Marks a table that is no longer described; its rows stay. */
export function storeGone(tx: Tx, tableId: number): void {
  // What reading or pushing it failed of says nothing any more.
  tx.prepare(
    sql`UPDATE _rowsync_tables SET state = 'gone', problem_code = NULL, problem_message = NULL, problem_hint = NULL,
          push_code = NULL, push_message = NULL, push_hint = NULL WHERE id = ?`,
  ).run(tableId);
}

/** Marks a table that is described again after it was gone: it must be swept before it counts as steady. */
export function storeReturned(tx: Tx, tableId: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET state = 'loading', sweep_open = 0 WHERE id = ? AND state = 'gone'`).run(
    tableId,
  );
}

/** Moves the number of rows in `sync_status`. */
export function addToRowCount(tx: Tx, tableId: number, by: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET row_count = row_count + ? WHERE id = ?`).run(by, tableId);
}

/** Stores what a table is called at the origin and here. */
export function storeTableName(
  tx: Tx,
  { id, name, alias, localName }: { id: number; name: string; alias: string; localName: string },
): void {
  const text = sql`UPDATE _rowsync_tables SET name = ?, alias = ?, local_name = ? WHERE id = ?`;
  tx.prepare(text).run(name, alias, localName, id);
}

/** What waits for a consent: deletes and schemas of pulls, or edits on their way to the origin. */
export type ConsentKind = 'pull' | 'push';

const STORE_CONFIRMED = {
  pull: sql`UPDATE _rowsync_tables SET pull_consent = ? WHERE id = ?`,
  push: sql`UPDATE _rowsync_tables SET push_consent = ? WHERE id = ?`,
} as const;

/** Whether a table waits because most of its columns vanished or some are to be removed; a consent for the table then means that. */
export function isSchemaHeld(from: Connection, tableId: number): boolean {
  const text = sql`SELECT 1 FROM _rowsync_tables WHERE id = ? AND problem_code = 'guard.schema'`;
  return from.prepare(text).get(tableId) !== undefined;
}

/**
 * Subtracts rows that are about to be sent from a consent: later edits were not shown to the person, however the push ends. A consent without
 * remaining rows still counts as given, and is used up at the end.
 */
export function spendPushConsent(tx: Tx, tableId: number, rowCount: number): void {
  const text = sql`UPDATE _rowsync_tables SET push_consent = max(0, push_consent - ?) WHERE id = ? AND push_consent > 0`;
  tx.prepare(text).run(BigInt(rowCount), tableId);
}

/** Forgets a consent that was used, or is not needed any more. */
export function useUpConsent(tx: Tx, tableId: number, kind: ConsentKind): void {
  storeConfirmedCount(tx, tableId, kind, null);
}

/** Deletes of every table wait once after a change of identity, and no sweep continues. */
export function doubtIdentity(tx: Tx): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET identity_checked = 0, end_proven = 0, sweep_open = 0, pull_consent = NULL`,
  ).run();
}

/** Counts an answer with rows that is applied to a table; returns its number. */
export function nextAnswer(tx: Tx, tableId: number): number {
  const text = sql`UPDATE _rowsync_tables SET applied = applied + 1 WHERE id = ? RETURNING applied`;
  return tx.prepare(text).pluck().get(tableId) as number; // applied is an INTEGER
}

/** Lets the next sweep read every page; an unfinished one starts over. */
export function restartSweep(tx: Tx, tableId: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET sweep_open = 0, end_proven = 0, one_window = NULL WHERE id = ?`).run(
    tableId,
  );
}

/** Doubts the rows of a table until the next finished sweep. */
export function storeDoubted(tx: Tx, tableId: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET doubted = 1 WHERE id = ?`).run(tableId);
}

/** Counts the rows of a table anew, those that `localName` holds. */
export function recountRows(tx: Tx, { id, localName }: { readonly id: number; readonly localName: string }): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET row_count = (SELECT count(*) FROM ${ident(localName)}) WHERE id = ?`).run(
    id,
  );
}

/** Lets the next capture of every two-way table compare all rows: edits may have gone unseen. */
export function storeAllCompareDue(to: Connection): void {
  to.prepare(sql`UPDATE _rowsync_tables SET compare_due = 1 WHERE push = 'on'`).run();
}

/** Stores what is known of the colors of a table's rows. */
export function storeColorState(tx: Tx, tableId: number, rowColors: 'seen' | 'kept'): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET row_colors = ? WHERE id = ?`).run(rowColors, tableId);
}

/** Notes that the creates of an older copy are in doubt; its other edits wait while there are any. */
export function storeCreatesDoubted(tx: Tx, tableId: number): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET doubt_creates_from = iif(EXISTS (
          SELECT 1 FROM _rowsync_rows WHERE table_id = @id AND state <> 'inDoubt'), 0, NULL) WHERE id = @id`,
  ).run({ id: tableId });
}

/** Lets the edits of an older copy go. */
export function forgetOlderCopy(tx: Tx, tableId: number): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET doubt_creates_from = NULL WHERE id = ?`).run(tableId);
}

/** Stores a table that is read for the first time, or once more after it was dropped here. */
export function storeNewTable(
  tx: Tx,
  {
    id,
    name,
    alias,
    localName,
  }: { readonly id: number; readonly name: string; readonly alias: string; readonly localName: string },
): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_tables (id, name, alias, local_name, state) VALUES (?, ?, ?, ?, 'loading')
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, alias = excluded.alias, local_name = excluded.local_name,
          state = 'loading', row_count = 0, sweep_open = 0, end_proven = 0, row_colors = iif(row_colors IS NULL, NULL, 'seen')`,
  ).run(id, name, alias, localName);
}

/** Stores what a table is called here. */
export function storeLocalName(tx: Tx, tableId: number, localName: string): void {
  tx.prepare(sql`UPDATE _rowsync_tables SET local_name = ? WHERE id = ?`).run(localName, tableId);
}

/** Forgets a table that was pruned. */
export function forgetTable(tx: Tx, tableId: number): void {
  tx.prepare(sql`DELETE FROM _rowsync_tables WHERE id = ?`).run(tableId);
}

/** Stores for how many rows a person gave a consent; null for none. */
export function storeConfirmedCount(to: Connection, tableId: number, kind: ConsentKind, rowCount: number | null): void {
  to.prepare(STORE_CONFIRMED[kind]).run(rowCount, tableId);
}
