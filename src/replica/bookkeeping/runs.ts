/**
 * What each run did to each table, and how every table fared over the last day. Both are written in the transaction
 * that closes the record of a run, and both are bounded.
 */
import { stampFromMs, type Clock } from '../../base/clock.ts';
import { asRowsyncError, type RowsyncError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAny, queryText } from '../query.ts';
import type { Complaint } from '../../reconcile/account/facts.ts';

/**
 * One row per recorded run; the newest thousands are kept.
 *
 *    kind        pull · follow (only changes were requested; earlier versions recorded these as pull) · push · files
 *                (only file work that failed as a whole, and the next that succeeded)
 *    per_table   JSON: what the run did to each table (TableResult), of the newest thousand runs; null for nothing
 */
export const RUNS = sql`
  CREATE TABLE _rowsync_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, started_at TEXT NOT NULL, finished_at TEXT,
    outcome TEXT NOT NULL,
    tables INTEGER NOT NULL DEFAULT 0, requests INTEGER NOT NULL DEFAULT 0, not_modified INTEGER NOT NULL DEFAULT 0,
    received_bytes INTEGER NOT NULL DEFAULT 0,
    inserted INTEGER NOT NULL DEFAULT 0, updated INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,
    error_code TEXT, error_message TEXT, per_table TEXT
  ) STRICT`;

/**
 * The outcomes of a table's pulls in the quarters of an hour of the last day, and the newest success before that.
 *
 *    quarter     quarters of an hour since 1970
 *    fare        the first that applies: failed (or held) · fresh (read whole) · followed (what changed was read)
 *    went_well   1 where the table was read at least once
 */
export const QUARTERS = sql`
  CREATE TABLE _rowsync_quarters (
    table_id INTEGER NOT NULL, quarter INTEGER NOT NULL, fare TEXT NOT NULL, went_well INTEGER NOT NULL,
    PRIMARY KEY (table_id, quarter)
  ) STRICT, WITHOUT ROWID`;

export const RUNS_VIEW = sql`
  CREATE VIEW sync_runs AS
  SELECT id, kind, started_at, finished_at, outcome, tables, requests, not_modified, received_bytes,
         inserted, updated, deleted, error_code, error_message, per_table
  FROM _rowsync_runs`;

/** Runs kept in `sync_runs`; at one run a minute a week's worth. */
const RUNS_MAX = 10_000;

const DETAILED_RUNS_MAX = 1_000;

/** Tables of a run, and characters of a reason, that are kept: a thousand runs that fail must stay small. */
export const RESULTS_MAX = 100;

const REASON_CHARS_MAX = 500;

export const QUARTERS_KEPT = 96;

export interface RunTable {
  /** Its name in the replica. */
  readonly table: string;
  readonly insertedCount: number;
  readonly updatedCount: number;
  readonly deletedCount: number;
  /** Rows that the origin refused; absent in a pull. */
  readonly refusedCount?: number;
  readonly error: Complaint | null;
  readonly held: Complaint | null;
  /** Whether only changed rows were read; absent in a push. */
  readonly isFollowed?: boolean;
}

export interface RunTotals {
  readonly requestCount: number;
  readonly notModifiedCount: number;
  /** Bytes of answers as they came over the wire (compressed). */
  readonly receivedBytes: number;
  /** The error that ended the whole run. */
  readonly error: Complaint | null;
  readonly tables: readonly RunTable[];
}

/** What a run did to one table, as in `per_table`; a null table stands for all of them. */
export interface TableResult {
  readonly table: string | null;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly refused: number;
  readonly problem: string | null;
  readonly hint: string | null;
  /** Set once a person agreed to the guard that held the whole run. */
  readonly agreed?: true;
}

/** Opens the record of a run and returns its id; earlier runs that never ended are marked as interrupted. */
export function openRun(tx: Tx, kind: string, at: string): number {
  tx.prepare(
    sql`UPDATE _rowsync_runs SET outcome = 'interrupted' WHERE finished_at IS NULL AND outcome = 'running'`,
  ).run();
  const { lastInsertRowid } = tx
    .prepare(sql`INSERT INTO _rowsync_runs (kind, started_at, outcome) VALUES (?, ?, 'running')`)
    .run(kind, at);
  const id = Number(lastInsertRowid);
  tx.prepare(sql`DELETE FROM _rowsync_runs WHERE id <= ?`).run(id - RUNS_MAX);
  tx.prepare(sql`UPDATE _rowsync_runs SET per_table = NULL WHERE id = ?`).run(id - DETAILED_RUNS_MAX);
  return id;
}

/** Closes the record of a run at a stamp. A run that ended at a mistyped name, and saw no change, leaves none. */
export function closeRun(tx: Tx, runId: number, at: string, totals: RunTotals): void {
  const { tables, ...traffic } = totals;
  const error = totals.error ?? tables.find((table) => table.error !== null)?.error ?? null;
  const success = tables.some(({ held }) => held !== null) ? 'held' : 'done';
  const isMistyped = error?.code === 'usage.invalid';
  if (isMistyped && !queryAny(tx, sql`SELECT 1 FROM _rowsync_schema_changes WHERE run_id = ?`, [runId])) {
    tx.prepare(sql`DELETE FROM _rowsync_runs WHERE id = ?`).run(runId);
    return;
  }
  const outcome = error === null ? success : isMistyped || error.code === 'origin.stopped' ? 'stopped' : 'failed';
  const sum = (count: (table: RunTable) => number): number => tables.reduce((total, table) => total + count(table), 0);
  const results = resultsOf(totals);
  tx.prepare(
    sql`UPDATE _rowsync_runs SET finished_at = @at, outcome = @outcome, tables = @tableCount, requests = @requestCount,
          not_modified = @notModifiedCount, received_bytes = @receivedBytes, inserted = @inserted, updated = @updated,
          deleted = @deleted, error_code = @code, error_message = @message, per_table = @perTable WHERE id = @runId`,
  ).run({
    ...traffic,
    runId,
    at,
    outcome,
    tableCount: tables.length,
    code: error?.code ?? null,
    message: error?.message ?? null,
    inserted: sum(({ insertedCount }) => insertedCount),
    updated: sum(({ updatedCount }) => updatedCount),
    deleted: sum(({ deletedCount }) => deletedCount),
    perTable: results.length === 0 ? null : JSON.stringify(results),
  });
  for (const table of tables) noteQuarter(tx, table, { runId, quarter: Math.floor(Date.parse(at) / QUARTER_MS) });
}

type Write = (what: string, change: (tx: Tx) => void) => Promise<void>;

/** Closes the record of a run, durably after a person's decision. Returns an error, so that the report is not lost. */
export async function recordRun(
  { replica, clock }: { readonly replica: Record<'write' | 'writeDurably', Write>; readonly clock: Clock },
  runId: number,
  totals: RunTotals,
  isDurable = false,
): Promise<RowsyncError | null> {
  const record = (tx: Tx): void => closeRun(tx, runId, stampFromMs(clock.nowMs()), totals);
  try {
    await (isDurable ? replica.writeDurably('Recording a run', record) : replica.write('Recording a run', record));
    return null;
  } catch (thrown) {
    return asRowsyncError(thrown);
  }
}

/** Records file work that failed as a whole, and the first success after it. */
export function recordFilesRun(
  tx: Tx,
  { startedAt, finishedAt, error }: Readonly<Record<'startedAt' | 'finishedAt', string>> & { error: Complaint | null },
): void {
  const nothing = { requestCount: 0, notModifiedCount: 0, receivedBytes: 0, tables: [] };
  closeRun(tx, openRun(tx, 'files', startedAt), finishedAt, { ...nothing, error });
}

export function hasFilesFailed(from: Connection): boolean {
  const last = sql`SELECT outcome FROM _rowsync_runs WHERE kind = 'files' ORDER BY id DESC LIMIT 1`;
  return queryText(from, last) === 'failed';
}

/** The tables to which something happened, and the entry for all of them. */
function resultsOf({ error, tables }: RunTotals): readonly TableResult[] {
  const results = tables.flatMap((table) => {
    const { insertedCount: inserted, updatedCount: updated, deletedCount: deleted, refusedCount: refused = 0 } = table;
    const trouble = table.error ?? table.held;
    if (trouble === null && inserted + updated + deleted + refused === 0) return [];
    return [{ table: table.table, inserted, updated, deleted, refused, ...reasonOf(trouble) }];
  });
  const ofAll =
    error === null ? [] : [{ table: null, inserted: 0, updated: 0, deleted: 0, refused: 0, ...reasonOf(error) }];
  return [...ofAll, ...results].slice(0, RESULTS_MAX);
}

function cut(text: string): string {
  return text.slice(0, REASON_CHARS_MAX).toWellFormed();
}

/** The last pull, if a guard held it as a whole. */
const HELD_PULL = sql`id = (SELECT max(id) FROM _rowsync_runs
    WHERE kind = 'pull' AND finished_at IS NOT NULL AND outcome NOT IN ('stopped', 'interrupted'))
  AND error_code GLOB 'guard.*' AND json_type(per_table, '$[0].table') = 'null'`;

/** Stores that a person agreed to the guard that held the whole last pull, with the message `shown` unless null. */
export function agreeToPull(to: Connection, shown: string | null): boolean {
  const text = sql`UPDATE _rowsync_runs SET per_table = json_set(per_table, '$[0].agreed', json('true'))
    WHERE ${HELD_PULL} AND coalesce(per_table ->> '$[0].problem' = ?, 1)`;
  return to.prepare(text).run(shown).changes > 0;
}

/** Whether a person agreed to the guard that held the whole last pull, and it holds this one with that message. */
export function isAgreedPull(from: Connection, message: string): boolean {
  const text = sql`SELECT 1 FROM _rowsync_runs
    WHERE ${HELD_PULL} AND per_table ->> '$[0].agreed' AND per_table ->> '$[0].problem' = ?`;
  return queryAny(from, text, [cut(message)]);
}

function reasonOf(trouble: Complaint | null): Pick<TableResult, 'problem' | 'hint'> {
  return trouble === null ? { problem: null, hint: null } : { problem: cut(trouble.message), hint: cut(trouble.hint) };
}

const QUARTER_MS = 900_000;

function noteQuarter(
  tx: Tx,
  { table, error, held, isFollowed }: RunTable,
  { runId, quarter }: { readonly runId: number; readonly quarter: number },
): void {
  // A run that was stopped on request is no result for the table.
  if (isFollowed === undefined || error?.code === 'origin.stopped') return;
  const fare = error !== null || held !== null ? 'failed' : isFollowed ? 'followed' : 'fresh';
  const wentWell = fare === 'failed' ? 0 : 1;
  // A table that cannot be followed is skipped while others are: only a sweep that ended in this run makes it fresh.
  const { changes } = tx
    .prepare(
      sql`INSERT INTO _rowsync_quarters (table_id, quarter, fare, went_well)
          SELECT id, @quarter, @fare, @wentWell FROM _rowsync_tables
          WHERE local_name = @table AND (@fare <> 'fresh' OR swept_at >= (SELECT started_at FROM _rowsync_runs WHERE id = @runId))
          ON CONFLICT DO UPDATE SET went_well = max(went_well, excluded.went_well),
            fare = CASE WHEN 'failed' IN (fare, excluded.fare) THEN 'failed' ELSE 'fresh' END
          WHERE went_well < excluded.went_well OR (fare <> excluded.fare AND fare <> 'failed' AND excluded.fare <> 'followed')`,
    )
    .run({ table, quarter, fare, wentWell, runId });
  if (changes === 0) return;
  tx.prepare(
    sql`DELETE FROM _rowsync_quarters
        WHERE table_id = (SELECT id FROM _rowsync_tables WHERE local_name = @table) AND quarter <= @oldest
          AND quarter IS NOT (SELECT max(q.quarter) FROM _rowsync_quarters q
            WHERE q.table_id = _rowsync_quarters.table_id AND q.quarter <= @oldest AND q.went_well = 1)`,
  ).run({ table, oldest: quarter - QUARTERS_KEPT });
}
