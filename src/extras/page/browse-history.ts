/**
 * Reads the history for the page: the changes of a row, the last changes, and counts by table, person and hour.
 * Bounded in number.
 */
import { sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';

/** One change of a row. */
export interface HistoryLine {
  readonly id: number;
  readonly table: string;
  readonly rowId: number;
  /** insert · update · delete · forgotten. */
  readonly kind: string;
  /** When it happened here. */
  readonly at: string;
  readonly notBefore: string | null;
  readonly notAfter: string | null;
  readonly originBy: string | null;
  /** 1 where the time that the origin says is `notAfter`. */
  readonly stamped: number | null;
  /** pull · push · edit · decision · schema · restore. */
  readonly cause: string;
  readonly runId: number | null;
  /** JSON objects of the changed cells; null where there was or is no row. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Changes of an hour, by table and person; `by` is null if the origin names no person. */
export interface HistoryHour {
  readonly table: string;
  /** `YYYY-MM-DDThh`, UTC. */
  readonly hour: string;
  readonly by: string | null;
  readonly kind: string;
  readonly count: number;
}

/** Entries of one row that are shown. */
const LIFE_MAX = 200;

/** Tables whose changes are kept, by their names here; none in a file of an earlier version. */
export function readJournalled(from: Connection): ReadonlySet<string> {
  const text = sql`SELECT 1 FROM sqlite_schema WHERE name = '_rowsync_history_tables'`;
  if (from.prepare(text).get() === undefined) return new Set();
  const names = from
    .prepare(
      sql`SELECT t.local_name FROM _rowsync_history_tables j JOIN _rowsync_tables t ON t.id = j.table_id
          WHERE j.begun_seq IS NOT NULL`,
    )
    .pluck()
    .all() as string[]; // names are text
  return new Set(names);
}

const LINES = sql`
  SELECT id, "table", row_id AS rowId, kind, at, not_before AS notBefore, not_after AS notAfter, origin_by AS originBy,
         stamped, cause, run_id AS runId, before, after
  FROM sync_history`;

/** What happened to a row, the newest first. */
export function readLife(
  from: Connection,
  { table, id }: { readonly table: string; readonly id: number },
): readonly HistoryLine[] {
  return from
    .prepare(sql`${LINES} WHERE row_id = ? AND "table" = ? ORDER BY id DESC LIMIT ${LIFE_MAX}`)
    .all(id, table) as HistoryLine[]; // the columns just listed
}

/** The last changes of any row. */
export function readLastChanges(from: Connection, countMax: number): readonly HistoryLine[] {
  return from.prepare(sql`${LINES} WHERE row_id IS NOT NULL ORDER BY id DESC LIMIT ?`).all(countMax) as HistoryLine[]; // the columns just listed
}

/** Counts of all changes since a moment; edits that were made here have no author at the origin. */
export function readHistoryHours(from: Connection, since: string): readonly HistoryHour[] {
  return from
    .prepare(
      sql`SELECT "table", substr(at, 1, 13) AS hour, CASE cause WHEN 'edit' THEN 'edited here' WHEN 'decision' THEN 'decided here'
                 ELSE origin_by END AS "by", kind, count(*) AS count
          FROM sync_history WHERE at >= ? AND kind IN ('insert', 'update', 'delete') GROUP BY 1, 2, 3, 4`,
    )
    .all(since) as HistoryHour[]; // the columns just listed
}
