/**
 * Mirrors under triggers of another client's. Whenever we write rows, our guards are off, and such a trigger may change rows of any table that it
 * names. Of the one that it stands on, or of another. In a table with a base that shows as an edit. In a mirror this cannot be detected, so its pages
 * are read again, and the trigger's changes are undone. The suspicion is kept with the table, because the trigger may be gone later. Called after
 * every write of rows in user tables. Input: the file. Output: bookkeeping.
 */
import type { Connection, Tx } from './connection.ts';
import { hasForeignTriggers, oncePerSchema } from './objects.ts';
import { sql } from '../base/sql.ts';

/** Tables without a base that some trigger names which is not ours. A name that is written otherwise within quotes may stand in any. */
const EXPOSED = sql`
  WITH others(text) AS MATERIALIZED (SELECT lower(sql) FROM sqlite_schema WHERE type = 'trigger' AND name NOT GLOB '_rowsync_*')
  SELECT t.id FROM _rowsync_tables t
  WHERE '_rowsync_base_' || t.id NOT IN (SELECT name FROM sqlite_schema)
    AND EXISTS (
      SELECT 1 FROM others
      WHERE instr(text, lower(t.local_name)) > 0 OR t.local_name GLOB '*["''\`]*' OR instr(t.local_name, ']') > 0)`;

/** Ids of the exposed tables, as a JSON array: a table is placed, named and given a base by changes of the schema. */
const readExposed = oncePerSchema((from) => JSON.stringify(from.prepare(EXPOSED).pluck().all()));

/** Trusts nothing of the mirrors that another client's trigger may have changed while rows were written. */
export function distrustMirrors(tx: Tx): void {
  if (!hasForeignTriggers(tx)) return;
  const ids = readExposed(tx);
  for (const text of [
    sql`UPDATE _rowsync_tables SET doubted = 2 WHERE doubted <> 2 AND id IN (SELECT value FROM json_each(?))`,
    sql`UPDATE _rowsync_pages SET etag = NULL WHERE etag IS NOT NULL AND table_id IN (SELECT value FROM json_each(?))`,
  ]) {
    tx.prepare(text).run(ids);
  }
}

/** Whether another client's trigger may have put rows into a mirror, or taken some out, since its rows were last doubted. */
export function mayHaveStrangers(from: Connection, tableId: number): boolean {
  const text = sql`SELECT 1 FROM _rowsync_tables WHERE id = ? AND doubted = 2 AND sweep_open = 0`;
  return from.prepare(text).get(tableId) !== undefined;
}
