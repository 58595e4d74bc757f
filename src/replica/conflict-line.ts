/**
 * Conflicts as `sync_conflicts` shows them, without a lost digit, and a digest of what a person saw of one, by which a decision is refused that is
 * about an older version.
 */
import { hash } from 'node:crypto';
import { sql, type Sql } from '../base/sql.ts';
import type { Connection } from './connection.ts';

/** Something that was changed on both sides, as `sync_conflicts` shows it; a whole row is a JSON object. */
export interface ConflictLine {
  readonly id: number;
  readonly table: string;
  readonly rowId: number;
  readonly kind: string;
  readonly column: string | null;
  readonly base: string | number | null;
  readonly local: string | number | null;
  readonly remote: string | number | null;
  readonly winner: string;
  readonly at: string;
  readonly state: string;
  readonly resolution: string | null;
  readonly problem: string | null;
}

/** The columns of a ConflictLine in `sync_conflicts`. */
export const CONFLICT_LINE = sql`id, "table", row_id AS rowId, kind, "column", ${exact(sql`base`)} AS base, ${exact(sql`local`)} AS local,
  ${exact(sql`remote`)} AS remote, winner, at, state, resolution, problem`;

/** One conflict, or null. */
export function readConflictLine(from: Connection, id: number): ConflictLine | null {
  const row = from.prepare(sql`SELECT ${CONFLICT_LINE} FROM sync_conflicts WHERE id = ?`).get(id);
  return (row as ConflictLine | undefined) ?? null; // the columns just listed
}

/** A digest of the versions that a person saw. */
export function conflictVersion({ base, local, remote, state }: ConflictLine): string {
  return hash('sha256', JSON.stringify([base, local, remote, state]), 'base64url').slice(0, 22);
}

/** A value without a lost digit: an integer that a double does not hold comes as text. */
function exact(value: Sql): Sql {
  const isLong = sql`typeof(${value}) = 'integer' AND ${value} NOT BETWEEN -9007199254740991 AND 9007199254740991`;
  return sql`CASE WHEN ${isLong} THEN CAST(${value} AS TEXT) ELSE ${value} END`;
}
