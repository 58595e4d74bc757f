/**
 * What changed since yesterday, as counts by table, person and hour. Input: a moment to begin from. Output: counts, from the stamps that the
 * origin puts on its rows, and from the runs that were recorded. Nothing is written.
 */
import { ident, sql } from '../../base/sql.ts';
import type { BrowsedTable } from '../shared/browse.ts';
import type { Connection } from '../../replica/connection.ts';

/** How many rows of a table were changed in an hour, and by whom; null where the table does not show it. */
export interface HourCount {
  /** `YYYY-MM-DDThh`, UTC. */
  readonly hour: string;
  readonly by: string | null;
  readonly count: number;
}

/** Rows by the stamp and the user that the origin shows as the last change; null for a table that shows no stamp. */
export function readStampedHours(from: Connection, table: BrowsedTable, since: string): readonly HourCount[] | null {
  const stamp = table.columns.find(({ kind }) => kind === 'DateModified');
  if (stamp === undefined) return null;
  const user = table.columns.find(({ kind }) => kind === 'LastModifiedBy');
  const at = ident(stamp.name);
  const by = user === undefined ? sql`NULL` : ident(user.name);
  return from
    .prepare(
      sql`SELECT substr(${at}, 1, 13) AS hour, ${by} AS "by", count(*) AS count FROM ${ident(table.name)}
          WHERE ${at} >= ? GROUP BY 1, 2`,
    )
    .all(since) as HourCount[]; // the columns just listed
}

/** Rows that runs brought, sent or took away, by hour. */
export interface RunHour {
  readonly hour: string;
  readonly kind: string;
  readonly runCount: number;
  readonly failedCount: number;
  readonly rowCount: number;
}

/** Every hour with runs since a moment. */
export function readRunHours(from: Connection, since: string): readonly RunHour[] {
  return from
    .prepare(
      sql`SELECT substr(started_at, 1, 13) AS hour, kind, count(*) AS runCount, sum(outcome IN ('failed', 'interrupted')) AS failedCount,
            sum(inserted + updated + deleted) AS rowCount
          FROM sync_runs WHERE started_at >= ? GROUP BY 1, 2`,
    )
    .all(since) as RunHour[]; // the columns just listed
}

/** Rows deleted here since a moment, because the origin no longer has them, by table. */
export function readDeletedCounts(
  from: Connection,
  since: string,
): readonly { readonly table: string; readonly hour: string; readonly count: number }[] {
  return from
    .prepare(
      sql`SELECT "table", substr(deleted_at, 1, 13) AS hour, count(*) AS count FROM sync_deleted WHERE deleted_at >= ? GROUP BY 1, 2`,
    )
    .all(since) as { table: string; hour: string; count: number }[]; // the columns just listed
}
