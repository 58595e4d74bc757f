/**
 * How far only the changes of each table were read, and what sums of days told. Columns of `_rowsync_tables` (tables.ts).
 */
import { sql } from '../../base/sql.ts';
import { readProblems, type TableProblems } from './problems.ts';
import { readSweep, type SweepState } from './sweeps.ts';
import { type LedgerTable, readPart } from './tables.ts';
import type { Tx, Connection } from '../connection.ts';
import type { AgedTable } from '../../reconcile/fresh.ts';
import { baseName } from '../tables.ts';
import { queryAll, withFlags } from '../query.ts';

/** How far the changes of a table were read. */
export interface Following {
  /** The origin's stamp up to which changed rows are here; null where none was asked for. */
  readonly watermark: string | null;
  /** Whether the rows that were changed last are more than a page. */
  readonly hasLargeTail: boolean;
  /** When changed rows were last asked for, or the last sweep began where that is later; null for neither. In seconds since 1970. */
  readonly readAt: number | null;
  /** Measures of a fingerprint that say nothing until the next whole sweep. */
  readonly ignoredMeasures: readonly string[];
  /** When what days add up to was last asked for, or the end of the last finished sweep where that is later. */
  readonly comparedAt: string | null;
}

export function readFollowing(from: Connection, tableId: number): Following {
  const columns = sql`watermark, large_tail <> 0 AS hasLargeTail, ignored_measures AS ignoredMeasures, compared_at AS comparedAt,
    unixepoch(max(coalesce(followed_at, sweep_started_at), coalesce(sweep_started_at, followed_at))) AS readAt`;
  const row = withFlags(readPart(from, tableId, columns), 'hasLargeTail') as Omit<Following, 'ignoredMeasures'> & {
    ignoredMeasures: string | null;
  }; // as selected
  return { ...row, ignoredMeasures: JSON.parse(row.ignoredMeasures ?? '[]') as string[] }; // written as such a list
}

/** Stores what a follow learned; `at` is null where deletes could not be seen, `comparedAt` where days were not asked for. */
export function storeFollowed(
  tx: Tx,
  tableId: number,
  {
    isLarge,
    ...followed
  }: {
    readonly watermark: string;
    readonly at: string | null;
    readonly isLarge: boolean;
    readonly comparedAt: string | null;
  },
): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET watermark = @watermark, followed_at = coalesce(@at, followed_at), large_tail = @isLarge, compared_at = coalesce(@comparedAt, compared_at), problem_code = NULL, problem_message = NULL, problem_hint = NULL
        WHERE id = @tableId`,
  ).run({ ...followed, isLarge: Number(isLarge), tableId });
}

/** Whether only the changes of a table may be read depends on all of this (reconcile/follow.ts). */
export type FollowableTable = LedgerTable & SweepState & Pick<TableProblems, 'heldCode' | 'pushCode'> & Following;

/** A table with what decides whether only its changes may be read. */
export function readFollowable(from: Connection, table: LedgerTable): FollowableTable {
  const { heldCode, pushCode } = readProblems(from, table.id);
  return { ...table, ...readSweep(from, table.id), heldCode, pushCode, ...readFollowing(from, table.id) };
}

/** What the configuration selects of a table, by its name at the origin; null for all rows, undefined where it leaves the table out. */
export type FilterOf = (name: string) => string | null | undefined;

/** Tables whose rows were chosen by another filter than the configuration has, by their names here: that of the last pull, or the one given. */
export function readRefiltered(from: Connection, filterOf?: FilterOf): ReadonlySet<string> {
  const text = sql`SELECT name, local_name AS localName, rows_filter AS isBy, rows_wanted AS wanted FROM _rowsync_tables`;
  const tables = queryAll(from, text) as Record<'name' | 'localName' | 'isBy' | 'wanted', string | null>[]; // as selected
  const isOther = ({ name, isBy, wanted }: (typeof tables)[number]): boolean => {
    const filter = filterOf?.(name ?? '');
    return isBy !== wanted || (filter !== undefined && isBy !== filter);
  };
  return new Set(tables.filter(isOther).map(({ localName }) => localName ?? ''));
}

/** When the tables that a query reads were last read to their end; null where another filter is due. A table of ours tells of all tables. */
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
