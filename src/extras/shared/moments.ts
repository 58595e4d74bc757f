/**
 * Moments at which all tables were as they are here, for whoever needs one.
 */
import { sql } from '../../base/sql.ts';
import type { ProvenMoment } from '../../replica/bookkeeping/changed-rows.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryFirst } from '../../replica/query.ts';

/** The last moment, and whether the tables are still as they were then; null for none. */
export function readLastMoment(from: Connection): (ProvenMoment & { readonly holds: boolean }) | null {
  const text = sql`SELECT at, tables, not_covered AS notCovered, holds FROM _rowsync_moments ORDER BY seq DESC LIMIT 1`;
  const row = queryFirst(from, text) as (Record<'at' | 'tables' | 'notCovered', string> & { holds: 0 | 1 }) | null;
  if (row === null) return null;
  const list = (json: string): readonly string[] => JSON.parse(json) as string[]; // stored as such lists
  return { at: row.at, tables: list(row.tables), notCovered: list(row.notCovered), holds: row.holds === 1 };
}

/** The last moment while the tables still are as they were then; null for none. */
export function readHeldMoment(from: Connection): ProvenMoment | null {
  const last = readLastMoment(from);
  return last?.holds === true ? last : null;
}
