/**
 * Changes of tables and columns as each pull saw them: at the origin, by the configuration, or by another program that
 * dropped them here. Written in the transaction that follows the change, so that each change is recorded once.
 */
import { sql } from '../../base/sql.ts';
import type { RemadePart } from '../../reconcile/account/facts.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAll } from '../query.ts';

/**
 * One row per change; the newest thousands are kept. Names are those at the origin.
 *
 *    kind           tableNew · tableRenamed · tableGone · tableBack · columnNew · columnRenamed · columnGone ·
 *                   columnBack · columnType · columnLeftOut, columnIncluded (by the configuration) · tableRemade,
 *                   columnRemade, guardsRemade (after another program dropped it)
 *    former, now    names before and after a rename, or types. now of tableRemade: how many edits it had; of
 *                   columnIncluded: the mask that it has now; of columnLeftOut: the same, or 'none'; else null
 */
export const SCHEMA_CHANGES = sql`
  CREATE TABLE _rowsync_schema_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, run_id INTEGER, kind TEXT NOT NULL,
    table_name TEXT NOT NULL, column_name TEXT, former TEXT, now TEXT
  ) STRICT`;

const CHANGES_MAX = 10_000;

export interface SchemaChange {
  readonly kind:
    | `table${'New' | 'Renamed' | 'Gone' | 'Back' | 'Remade'}`
    | `column${'New' | 'Renamed' | 'Gone' | 'Back' | 'Type' | 'Included' | 'LeftOut' | 'Remade'}`
    | 'guardsRemade';
  readonly table: string;
  readonly column: string | null;
  readonly former: string | null;
  readonly now: string | null;
}

export function storeSchemaChanges(tx: Tx, changes: readonly SchemaChange[], at: string): void {
  if (changes.length === 0) return;
  const store = tx.prepare(
    sql`INSERT INTO _rowsync_schema_changes (at, run_id, kind, table_name, column_name, former, now)
        VALUES (@at, @runId, @kind, @table, @column, @former, @now)`,
  );
  for (const change of changes) store.run({ ...change, at, runId: tx.cause.runId });
  tx.prepare(
    sql`DELETE FROM _rowsync_schema_changes WHERE seq <= (SELECT max(seq) FROM _rowsync_schema_changes) - ${CHANGES_MAX}`,
  ).run();
}

/** Tables, columns and guards that were restored at a time or later, the oldest first. */
export function readRemade(from: Connection, since: string): readonly RemadePart[] {
  const text = sql`SELECT c.kind, coalesce(t.local_name, c.table_name) AS "table", c.column_name AS "column",
            CAST(coalesce(c.now, 0) AS INTEGER) AS editCount, c.at AS since
          FROM _rowsync_schema_changes c LEFT JOIN _rowsync_tables t ON t.name = c.table_name AND t.state <> 'gone'
          WHERE c.kind GLOB '*Remade' AND c.at >= ? ORDER BY c.seq`;
  return queryAll(from, text, [since]) as RemadePart[];
}

export interface SeenSchemaChange extends SchemaChange {
  readonly at: string;
  readonly runId: number | null;
}

/** The changes that a run saw, or all, the oldest first. */
export function readSchemaChanges(from: Connection, runId: number | null = null): readonly SeenSchemaChange[] {
  const text = sql`SELECT at, run_id AS runId, kind, table_name AS "table", column_name AS "column", former, now
          FROM _rowsync_schema_changes WHERE @runId IS NULL OR run_id = @runId ORDER BY seq`;
  return queryAll(from, text, [{ runId }]) as SeenSchemaChange[];
}
