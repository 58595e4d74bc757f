/**
 * What monitoring wants to know of the replica beyond `sync_status`.
 */
import { sql } from '../../base/sql.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { readPrunable } from '../shared/drift.ts';

export interface ReplicaMeasures {
  /** Sweeps that were begun of each table, over the life of the replica. */
  readonly sweeps: readonly TableCount[];
  /** All conflicts that were kept, by who won when they came up. */
  readonly conflicts: readonly (TableCount & { readonly winner: string })[];
  /** Tables and columns that the origin no longer describes. */
  readonly driftCount: number;
  /** Pages in the write-ahead log that are not in the file yet. */
  readonly pendingFrameCount: number;
}

interface TableCount {
  readonly table: string;
  readonly count: number;
}

/** Counts for monitoring; tables by name. */
export function readReplicaMeasures(reader: ReplicaReader): ReplicaMeasures {
  // Looks without moving anything.
  const [log] = reader.all(sql`PRAGMA wal_checkpoint(NOOP)`) as { log: number; checkpointed: number }[]; // its two columns
  return {
    sweeps: reader.all(
      sql`SELECT local_name AS "table", sweep AS count FROM _rowsync_tables ORDER BY local_name`,
    ) as TableCount[], // columns and types are ours
    conflicts: reader.all(
      sql`SELECT "table", winner, count(*) AS count FROM sync_conflicts GROUP BY "table", winner`,
    ) as (TableCount & { winner: string })[], // as above
    driftCount: readPrunable(reader).length,
    pendingFrameCount: Math.max(0, (log?.log ?? 0) - (log?.checkpointed ?? 0)),
  };
}
