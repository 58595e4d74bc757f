/**
 * Every table that the origin described last, even those left out of the replica, and under which name the
 * configuration applies to each (reconcile/option-bindings.ts).
 */
import { sql } from '../../base/sql.ts';
import type { Binding } from '../../reconcile/option-bindings.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAll, queryText, withFlags } from '../query.ts';

/**
 * One row per table, by origin id.
 *
 *    name           at the origin
 *    bound_name     the name under which the configuration applies; null while the table waits for a person
 *    bound_key      the key that decided on that name; null for none, or where an earlier version did not note it
 *    seen_key       the key that decided on its present name when a pull first saw that; null for none
 *    is_described   0 once the origin no longer shows the table: it may come back under another name
 */
export const DESCRIBED_TABLES = [
  sql`CREATE TABLE _rowsync_described (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, bound_name TEXT, bound_key TEXT, seen_key TEXT,
    is_described INTEGER NOT NULL
  ) STRICT`,
  sql`CREATE INDEX _rowsync_described_by_name ON _rowsync_described (name)`,
];

/** A table, and whether the origin still shows it. */
export interface DescribedTable extends Binding {
  readonly isDescribed: boolean;
}

export function readDescribed(from: Connection): readonly DescribedTable[] {
  const text = sql`SELECT id, name, bound_name AS boundName, bound_key AS boundKey, seen_key AS seenKey, is_described AS isDescribed
          FROM _rowsync_described ORDER BY id`;
  return queryAll(from, text).map((row) => withFlags(row, 'isDescribed') as DescribedTable);
}

/** Stores what is described now; tables that are no longer keep their bindings. */
export function storeDescribed(tx: Tx, bindings: readonly Binding[]): void {
  tx.prepare(sql`UPDATE _rowsync_described SET is_described = 0`).run();
  const store = tx.prepare(
    sql`INSERT INTO _rowsync_described (id, name, bound_name, bound_key, seen_key, is_described)
        VALUES (@id, @name, @boundName, @boundKey, @seenKey, 1)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, bound_name = excluded.bound_name,
          bound_key = excluded.bound_key, seen_key = excluded.seen_key, is_described = 1`,
  );
  for (const binding of bindings) store.run(binding);
}

/** The name under which the configuration applies to a table that the origin calls `name`. */
export function boundNameOf(from: Connection, name: string): string {
  // A pull that ended early may have stored a new name here without renaming the table yet.
  const text = sql`SELECT bound_name FROM _rowsync_described WHERE name = @name AND is_described = 1
      UNION ALL
      SELECT d.bound_name FROM _rowsync_tables t JOIN _rowsync_described d USING (id) WHERE t.name = @name
      LIMIT 1`;
  return queryText(from, text, [{ name }]) ?? name;
}
