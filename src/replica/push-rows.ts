/**
 * Reading the bookkeeping of pushes (push-book.ts) as plain values; what they mean is said in capture/batches.ts and
 * capture/refusals.ts, which also write it.
 */
import type { Connection } from './connection.ts';
import { sql } from '../base/sql.ts';

/** A row of a batch as it is kept: id, kind, cells as pairs of ledger row and value, answer. */
export type KeptRow = readonly [id: number, kind: string, cells: readonly KeptCell[], answer: KeptAnswer | null];

/** A cell as it is kept; the third part stands where a file was sent in place of the value. */
export type KeptCell =
  | readonly [seq: number, value: KeptValue]
  | readonly [seq: number, value: KeptValue, file: KeptFile];

/** A file that was sent (reconcile/uploads.ts). */
export interface KeptFile {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly before: string | null;
}

/** A value in JSON, which has no long integers. */
export type KeptValue = null | string | boolean | number | { readonly integer: string };

/** What the origin answered about a row. */
export interface KeptAnswer {
  readonly as: string;
  readonly id: number | null;
  readonly refusal: {
    readonly status: number;
    readonly code: number | null;
    readonly message: string;
    readonly source: string | null;
  } | null;
}

/** The batches of a table, the oldest first. */
export function readKeptBatches(
  from: Connection,
  tableId: number,
): readonly {
  readonly id: number;
  readonly method: string;
  readonly sentAt: string;
  readonly rows: readonly KeptRow[];
}[] {
  const batches = from
    .prepare(sql`SELECT id, method, sent_at AS sentAt, rows FROM _rowsync_batches WHERE table_id = +? ORDER BY id`)
    .all(tableId) as { id: number; method: string; sentAt: string; rows: string }[]; // columns and types are ours
  return batches.map((batch) => ({ ...batch, rows: JSON.parse(batch.rows) as KeptRow[] })); // written as KeptRow
}

/** Ids of the tables that have batches. */
export function readBatchTables(from: Connection): readonly number[] {
  return from
    .prepare(sql`SELECT DISTINCT table_id FROM _rowsync_batches ORDER BY table_id`)
    .pluck()
    .all() as number[]; // table_id is an INTEGER within 53 bits
}

/** Origin names of the two-way tables with rows that may be pushed, as far as marks say. */
export function readEditedTables(from: Connection): readonly string[] {
  return from
    .prepare(
      sql`SELECT name FROM _rowsync_tables t WHERE push = 'on' AND state <> 'gone'
          AND EXISTS (SELECT 1 FROM _rowsync_rows r WHERE r.table_id = t.id AND r.state = 'edited')`,
    )
    .pluck()
    .all() as string[]; // name is TEXT
}

/** Rows of a table that were refused and are to be tried again by now. */
export function readDueIds(from: Connection, tableId: number, nowMs: number): readonly number[] {
  return from
    .prepare(
      sql`SELECT f.row_id FROM _rowsync_refusals f JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id
          WHERE f.table_id = @tableId AND r.state = 'refused' AND f.retry_at_ms IS NOT NULL
            AND (f.retry_at_ms <= @now OR f.since_ms > @now)`, // refused later than now: the clock was set back
    )
    .pluck()
    .all({ tableId, now: Math.floor(nowMs) }) as number[]; // row_id is an INTEGER within 53 bits
}

/** Why rows of a table wait, or waited, by row; `isOfOrigin` if the origin answered so. */
export function readReasons(
  from: Connection,
  tableId: number,
): ReadonlyMap<number, { readonly reason: string; readonly isOfOrigin: boolean }> {
  const rows = from
    .prepare(sql`SELECT row_id AS rowId, reason, status FROM _rowsync_refusals WHERE table_id = ?`)
    .all(tableId) as { rowId: number; reason: string; status: number | null }[]; // columns and types are ours
  return new Map(rows.map(({ rowId, reason, status }) => [rowId, { reason, isOfOrigin: status !== null }]));
}

/** A row that waits. */
export interface WaitingRow {
  /** Of the failure, as `sync_failures` has it. */
  readonly id: number;
  readonly tableId: number;
  readonly rowId: number;
  readonly state: 'refused' | 'inDoubt';
}

/** Refused rows and creates in doubt, in the order of their failures; empty `ids` for all. */
export function readWaiting(from: Connection, ids: readonly number[]): readonly WaitingRow[] {
  return from
    .prepare(
      sql`SELECT f.id, f.table_id AS tableId, f.row_id AS rowId, r.state FROM _rowsync_refusals f
          JOIN _rowsync_rows r ON r.table_id = f.table_id AND r.row_id = f.row_id AND r.state IN ('refused', 'inDoubt')
          WHERE @all OR f.id IN (SELECT value FROM json_each(@ids)) ORDER BY f.id`,
    )
    .all({ all: ids.length === 0 ? 1 : 0, ids: JSON.stringify(ids) }) as WaitingRow[]; // columns and types are ours
}

/** How many rows of a table wait: to be pushed, for a person or a timer, for a decision. */
export interface WaitingCounts {
  readonly waitingCount: number;
  readonly parkedCount: number;
  /** Those of the parked rows that may have been taken. */
  readonly parkedInDoubtCount: number;
  /** Those of the parked rows that were stopped here, before they were sent. */
  readonly parkedUnsendableCount: number;
  readonly openConflictCount: number;
}

/** Counts the rows of a table that wait. */
export function countWaiting(from: Connection, tableId: number): WaitingCounts {
  return from
    .prepare(
      sql`SELECT count(*) FILTER (WHERE state IN ('edited', 'sending', 'unknown')) AS waitingCount,
            count(*) FILTER (WHERE state IN ('refused', 'inDoubt')) AS parkedCount,
            count(*) FILTER (WHERE state = 'inDoubt') AS parkedInDoubtCount,
            count(*) FILTER (WHERE state = 'refused' AND f.id IS NOT NULL AND f.status IS NULL) AS parkedUnsendableCount,
            count(*) FILTER (WHERE state = 'conflicted') AS openConflictCount
          FROM _rowsync_rows r
          LEFT JOIN _rowsync_refusals f ON r.state = 'refused' AND f.table_id = r.table_id AND f.row_id = r.row_id
          WHERE r.table_id = ?`,
    )
    .get(tableId) as WaitingCounts; // an aggregate always has one row
}

/** How many conflicts of a table are kept, old ones among them. */
export function countConflicts(from: Connection, tableId: number): number {
  return from
    .prepare(sql`SELECT count(*) FROM _rowsync_conflicts WHERE table_id = ?`)
    .pluck()
    .get(tableId) as number; // count(*) is an integer
}

/** Ids of the rows of a table that are edited, or on their way. */
export function readUnsentIds(from: Connection, tableId: number): readonly number[] {
  return from
    .prepare(sql`SELECT row_id FROM _rowsync_rows WHERE table_id = +? AND state IN ('edited', 'sending', 'unknown')`)
    .pluck()
    .all(tableId) as number[]; // row_id is an INTEGER within 53 bits
}

/** The states of the rows of a table that are not clean, and the status of their refusals. */
export function readRowEnds(
  from: Connection,
  tableId: number,
): ReadonlyMap<number, { readonly state: string; readonly status: number | null }> {
  const ends = from
    .prepare(
      sql`SELECT r.row_id AS id, r.state, f.status FROM _rowsync_rows r
          LEFT JOIN _rowsync_refusals f ON f.table_id = r.table_id AND f.row_id = r.row_id WHERE r.table_id = ?`,
    )
    .all(tableId) as { id: number; state: string; status: number | null }[]; // columns and types are ours
  return new Map(ends.map(({ id, ...end }) => [id, end]));
}

/** The id of the newest conflict of any table; 0 without one. */
export function readLastConflictId(from: Connection): number {
  return from
    .prepare(sql`SELECT coalesce(max(id), 0) FROM _rowsync_conflicts`)
    .pluck()
    .get() as number; // an integer
}

/** The rows of a table with conflicts behind an id, and who won. */
export function readConflictsSince(
  from: Connection,
  tableId: number,
  afterId: number,
): readonly { readonly rowId: number; readonly winner: string }[] {
  return from
    .prepare(sql`SELECT row_id AS rowId, winner FROM _rowsync_conflicts WHERE table_id = ? AND id > ?`)
    .all(tableId, afterId) as { rowId: number; winner: string }[]; // columns and types are ours
}
