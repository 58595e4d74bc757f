/**
 * Rows kept as JSON by column name, for people to read and to take again: versions of whole-row conflicts, and refused cells. They follow renames, or a
 * value would go into another column once two columns swapped names. The evidence of deletes does not: only people read it, and it says its date.
 */
import type { Tx, Stored } from './connection.ts';
import { blocks, queryNumbers, queryRows } from './query.ts';
import { objectText } from './rows.ts';
import { sql } from '../base/sql.ts';
import { storeVersions } from './bookkeeping/conflicts.ts';
import { storeSentNames } from './bookkeeping/refusals.ts';

/** Brings what is kept of a table up to the names that its columns have from now on, all at once. */
export function renameInKeptRows(tx: Tx, tableId: number, newNames: ReadonlyMap<string, string>): void {
  if (newNames.size === 0) return;
  const renamed = (text: Stored): Stored => {
    if (typeof text !== 'string') return text;
    return objectText([...readKeptRow(tx, text)].map(([name, value]) => [newNames.get(name) ?? name, value]));
  };
  const conflicts = sql`SELECT id FROM _rowsync_conflicts WHERE table_id = ? AND kind <> 'cell'`;
  const readConflicts = sql`SELECT id, base, local, remote FROM _rowsync_conflicts WHERE id IN (SELECT value FROM json_each(?))`;
  for (const ids of blocks(queryNumbers(tx, conflicts, [tableId]))) {
    for (const [id, base = null, local = null, remote = null] of queryRows(tx, readConflicts, [JSON.stringify(ids)]))
      storeVersions(tx, Number(id), { base: renamed(base), local: renamed(local), remote: renamed(remote) });
  }
  const refusals = sql`SELECT id, column_name, sent FROM _rowsync_refusals WHERE table_id = ?`;
  for (const [id, name, sent] of queryRows(tx, refusals, [tableId])) {
    storeSentNames(tx, id ?? null, { name: newNames.get(String(name)) ?? name ?? null, sent: renamed(sent ?? null) });
  }
}

/** The values of a row that was kept, by the names of its columns now. */
export function readKeptRow(tx: Tx, text: string): ReadonlyMap<string, Stored> {
  return new Map(
    queryRows(tx, sql`SELECT key, value FROM json_each(?)`, [text]).map(([key, value]) => [String(key), value ?? null]),
  );
}
