/**
 * Refuses to answer from tables that are older than a question allows, and reads the moments at which all were as here.
 */
import { RowsyncError, usageError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { AGE_FORMS, agesText, ageMsOf, staleAmong, type AgedTable } from './freshness.ts';
import type { ProvenMoment } from '../../replica/bookkeeping/changed-rows.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryAll, queryFirst } from '../../replica/query.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { baseName } from '../../replica/user-tables.ts';

/** How old tables may be, from when the question was asked. */
export interface AgeBound {
  readonly text: string;
  readonly askedMs: number;
  readonly withinMs: number;
  /** What a configuration selects that may be newer than the last pull. */
  readonly filterOf?: FilterOf | undefined;
}

/** Reads a bound as people write it. @throws RowsyncError `usage.invalid`. */
export function ageBound(text: string, askedMs: number, filterOf?: FilterOf): AgeBound {
  const withinMs = ageMsOf(text);
  if (withinMs !== null) return { text, askedMs, withinMs, filterOf };
  throw usageError(`Cannot read "${text}" as an age`, `Write it as ${AGE_FORMS}.`);
}

export function staleTables(reader: ReplicaReader, names: readonly string[], bound: AgeBound): readonly AgedTable[] {
  return staleAmong(readAges(reader, names, bound.filterOf), bound);
}

/** Begins a transaction in which tables are young enough. `failure`: of reading. @throws RowsyncError `fresh.stale`. */
export function requireFresh(
  reader: ReplicaReader,
  { names, bound, failure = null }: { names: () => readonly string[]; bound: AgeBound; failure?: RowsyncError | null },
): readonly AgedTable[] {
  reader.prepare(sql`BEGIN`).run();
  const tables = readAges(reader, names(), bound.filterOf);
  const stale = staleAmong(tables, bound);
  if (stale.length === 0) return tables;
  const reason = failure === null ? '' : ` (${failure.message})`;
  throw new RowsyncError('originDown', 'fresh.stale', {
    message: `Older than ${bound.text}, so there is no answer: ${agesText(stale, bound.askedMs)}${reason}`,
    hint: failure?.hint ?? 'Try later, or allow older tables; rowsync status says what is wrong with a table.',
    cause: failure,
  });
}

/** The filter of a table by its name at the origin; null for all rows, undefined for a table that is left out. */
export type FilterOf = (name: string) => string | null | undefined;

/** Tables, by their names here, whose rows another filter chose than that of the last pull, or the given one. */
export function readRefiltered(from: Connection, filterOf?: FilterOf): ReadonlySet<string> {
  const text = sql`SELECT name, local_name AS localName, rows_filter AS isBy, rows_wanted AS wanted FROM _rowsync_tables`;
  const tables = queryAll(from, text) as Record<'name' | 'localName' | 'isBy' | 'wanted', string | null>[]; // as selected
  const isOther = ({ name, isBy, wanted }: (typeof tables)[number]): boolean => {
    const filter = filterOf?.(name ?? '');
    return isBy !== wanted || (filter !== undefined && isBy !== filter);
  };
  return new Set(tables.filter(isOther).map(({ localName }) => localName ?? ''));
}

/** When tables were last read to their end; null if another filter is due. A table of ours stands for all tables. */
export function readAges(from: Connection, names: readonly string[], filterOf?: FilterOf): readonly AgedTable[] {
  const text = sql`SELECT id, name, local_name AS localName, state = 'gone' AS isGone,
            iif(state = 'steady' AND end_proven = 1 AND identity_checked = 1 AND doubted = 0 AND held_code IS NULL
                AND missing_columns IS NULL AND push <> 'waiting'
                AND NOT EXISTS (SELECT 1 FROM _rowsync_unreadable u WHERE u.table_id = t.id),
              iif(sweep_open = 1, followed_at, max(coalesce(followed_at, sweep_started_at), sweep_started_at)), NULL) AS asOf
          FROM _rowsync_tables t ORDER BY id`;
  const tables = queryAll(from, text) as (AgedTable & { readonly isGone: 0 | 1 })[];
  const read = new Set(names);
  const refiltered = readRefiltered(from, filterOf);
  const bases = new Set(tables.map(({ id }) => baseName(id)));
  const isOfAll = names.some((name) => name.startsWith('_rowsync_') && !bases.has(name));
  return tables
    .filter(({ id, localName, isGone }) => read.has(localName) || read.has(baseName(id)) || (isOfAll && isGone === 0))
    .map(({ id, name, localName, asOf }) => ({ id, name, localName, asOf: refiltered.has(localName) ? null : asOf }));
}

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
