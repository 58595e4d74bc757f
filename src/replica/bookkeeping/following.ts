/**
 * How far only the changes of each table were read, and what sums of days told. Columns of `_rowsync_tables` (tables.ts).
 */
import { sql } from '../../base/sql.ts';
import type { Tx, Connection } from '../connection.ts';
import { withFlags } from '../query.ts';
import { readTableProblems, type TableProblems } from './table-errors.ts';
import { readSweep, type SweepState } from './sweeps.ts';
import { type TableRecord, readPart } from './tables.ts';

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
export type FollowableTable = TableRecord & SweepState & Pick<TableProblems, 'heldCode' | 'pushCode'> & Following;

/** A table with what decides whether only its changes may be read. */
export function readFollowable(from: Connection, table: TableRecord): FollowableTable {
  const { heldCode, pushCode } = readTableProblems(from, table.id);
  return { ...table, ...readSweep(from, table.id), heldCode, pushCode, ...readFollowing(from, table.id) };
}
