/**
 * Refuses to answer from tables that are older than a question allows; for whoever answers questions.
 */
import { RowsyncError, usageError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { AGE_FORMS, agesText, ageMsOf, staleAmong, type AgedTable } from '../../reconcile/fresh.ts';
import { readAges, type FilterOf } from '../../replica/bookkeeping/following.ts';
import type { ReplicaReader } from '../../replica/reader.ts';

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

/** Leaves the reader in a transaction in which the tables are young enough. `failure`: of reading them now. @throws RowsyncError `fresh.stale`. */
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
    hint: failure?.hint ?? 'Try later, or allow more; rowsync status says what is wrong with a table.',
    cause: failure,
  });
}
