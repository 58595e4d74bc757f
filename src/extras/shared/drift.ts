/**
 * How the replica still differs from the shape that the origin describes.
 */
import { sql } from '../../base/sql.ts';
import { queryTexts } from '../../replica/query.ts';
import type { ReplicaReader } from '../../replica/reader.ts';

/** Something in which the origin's schema went its own way, or would if a person let it. */
export interface DriftLine {
  readonly table: string;
  /** Null for the table as a whole. */
  readonly column: string | null;
  /** gone, removed: not described any more · aside: now in another form · stopped: a guard does not follow it. */
  readonly kind: 'gone' | 'removed' | 'aside' | 'stopped';
  readonly since: string | null;
  /** Why it is stopped, and what to do. */
  readonly problem: string | null;
  readonly hint: string | null;
}

/** Where the replica's shape is not what the origin describes, or was not told to follow. */
export function readDrift(reader: ReplicaReader): readonly DriftLine[] {
  return reader.all(
    sql`SELECT local_name AS "table", NULL AS "column", 'gone' AS kind, NULL AS since, NULL AS problem, NULL AS hint
        FROM _rowsync_tables WHERE state = 'gone'
        UNION ALL
        SELECT t.local_name, c.local_name, c.state, c.since, NULL, NULL
        FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id WHERE c.state <> 'live' AND t.state <> 'gone'
        UNION ALL
        SELECT local_name, NULL, 'stopped', NULL, problem_message, problem_hint
        FROM _rowsync_tables WHERE problem_code IN ('guard.schema', 'guard.pending', 'guard.columns')
        ORDER BY 1, 2`,
  ) as DriftLine[]; // columns and types are ours
}

/** What `schema prune` would drop, as `table` or `table.column`. */
export function readPrunable(reader: ReplicaReader): readonly string[] {
  return queryTexts(
    reader,
    sql`SELECT local_name FROM _rowsync_tables WHERE state = 'gone'
        UNION ALL
        SELECT t.local_name || '.' || c.local_name FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id
        WHERE t.state <> 'gone' AND (c.state <> 'live' OR c.seq IN (SELECT value FROM json_each(t.missing_columns)))`,
  );
}
