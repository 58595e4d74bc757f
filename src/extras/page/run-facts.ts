/**
 * What the page shows of runs: how every table fared over the last day, and what each run did to it.
 */
import { sql } from '../../base/sql.ts';
import { RESULTS_MAX, type TableResult } from '../../replica/bookkeeping/runs.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryAll, withFlags } from '../../replica/query.ts';

export interface Quarter {
  /** Quarters of an hour since 1970. */
  readonly quarter: number;
  readonly fare: 'failed' | 'fresh' | 'followed';
  readonly wentWell: boolean;
}

/** The quarters that are kept, the oldest first, by the name of the table here. */
export function readQuarters(from: Connection): ReadonlyMap<string, readonly Quarter[]> {
  const text = sql`SELECT t.local_name AS "table", q.quarter, q.fare, q.went_well AS wentWell
          FROM _rowsync_quarters q JOIN _rowsync_tables t ON t.id = q.table_id ORDER BY q.table_id, q.quarter`;
  const rows = queryAll(from, text).map((row) => withFlags(row, 'wentWell') as Quarter & { readonly table: string });
  return Map.groupBy(rows, ({ table }) => table);
}

/** A pull or a follow that ended. Stamps are UTC text. */
export interface Try {
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Whether every table failed, or none was reached. */
  readonly allFailed: boolean;
}

/** Those that began since a moment, and the last one before, the oldest first. A stopped run tells nothing. */
export function readTries(from: Connection, since: string): readonly Try[] {
  const isTry = sql`kind IN ('pull', 'follow') AND finished_at IS NOT NULL AND outcome <> 'stopped'`;
  // Of many tables only some are listed, after a line for what concerned all; of old runs, none is.
  const failed = sql`(SELECT count(*) FROM json_each(per_table) WHERE value ->> 'table' IS NOT NULL AND value ->> 'problem' IS NOT NULL)`;
  const text = sql`SELECT started_at AS startedAt, finished_at AS finishedAt,
            outcome = 'failed' AND ${failed} >= min(tables, ${RESULTS_MAX - 1}) AS allFailed
          FROM _rowsync_runs
          WHERE ${isTry} AND id >= coalesce((SELECT max(id) FROM _rowsync_runs WHERE ${isTry} AND started_at < @since), 0)
          ORDER BY id`;
  return queryAll(from, text, [{ since }]).map((row) => withFlags(row, 'allFailed') as Try);
}

/** What the newest runs did to each table, by their ids; runs without these facts are left out. */
export function readRunResults(from: Connection, limit: number): ReadonlyMap<number, readonly TableResult[]> {
  const text = sql`SELECT id, per_table AS results FROM (SELECT id, per_table FROM _rowsync_runs ORDER BY id DESC LIMIT ?)
                 WHERE per_table IS NOT NULL`;
  const rows = queryAll(from, text, [limit]) as { id: number; results: string }[];
  return new Map(rows.map(({ id, results }) => [id, JSON.parse(results) as TableResult[]])); // written by closeRun
}
