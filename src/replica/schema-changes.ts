/**
 * What changed in the tables and columns of the origin, as each pull saw it. Written in the transaction that follows the change, so that each change
 * is there once.
 */
import { sql } from '../base/sql.ts';
import type { Connection, Tx } from './connection.ts';
import { hasTable } from './objects.ts';

/**
 * One row per change; the newest thousands are kept. Names are those at the origin.
 *
 *    kind           tableNew · tableRenamed · tableGone · tableBack · columnNew · columnRenamed · columnGone · columnBack · columnType
 *    former, now    the names before and after a rename, or the types; null for other kinds
 */
export const SCHEMA_CHANGES = sql`
  CREATE TABLE _rowsync_schema_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, run_id INTEGER, kind TEXT NOT NULL,
    table_name TEXT NOT NULL, column_name TEXT, former TEXT, now TEXT
  ) STRICT`;

/** Changes that are kept. */
const CHANGES_MAX = 10_000;

/** One change. */
export interface SchemaChange {
  readonly kind:
    | 'tableNew'
    | 'tableRenamed'
    | 'tableGone'
    | 'tableBack'
    | 'columnNew'
    | 'columnRenamed'
    | 'columnGone'
    | 'columnBack'
    | 'columnType';
  readonly table: string;
  readonly column: string | null;
  readonly former: string | null;
  readonly now: string | null;
}

/** Adds changes, in their order. */
export function storeSchemaChanges(tx: Tx, changes: readonly SchemaChange[], at: string): void {
  if (changes.length === 0) return;
  const store = tx.prepare(
    sql`INSERT INTO _rowsync_schema_changes (at, run_id, kind, table_name, column_name, former, now)
        VALUES (@at, @runId, @kind, @table, @column, @former, @now)`,
  );
  for (const change of changes) store.run({ ...change, at, runId: tx.journal.work.runId });
  tx.prepare(
    sql`DELETE FROM _rowsync_schema_changes WHERE seq <= (SELECT max(seq) FROM _rowsync_schema_changes) - ${CHANGES_MAX}`,
  ).run();
}

/** A change, and when which run saw it. */
export interface SeenSchemaChange extends SchemaChange {
  readonly at: string;
  readonly runId: number | null;
}

/** The changes within bounds, the oldest first; null for no bound. None in a replica of an earlier version. */
export function readSchemaChanges(
  from: Connection,
  {
    runId,
    table,
    since,
    until,
  }: Readonly<Record<'table' | 'since' | 'until', string | null>> & { runId: number | null },
): readonly SeenSchemaChange[] {
  if (!hasTable(from, '_rowsync_schema_changes')) return [];
  return from
    .prepare(
      sql`SELECT at, run_id AS runId, kind, table_name AS "table", column_name AS "column", former, now
          FROM _rowsync_schema_changes
          WHERE (@runId IS NULL OR run_id = @runId) AND (@since IS NULL OR at >= @since) AND (@until IS NULL OR at <= @until)
            AND (@table IS NULL OR @table IN (table_name, former, now))
          ORDER BY seq`,
    )
    .all({ runId, table, since, until }) as SeenSchemaChange[]; // columns and types are ours
}
