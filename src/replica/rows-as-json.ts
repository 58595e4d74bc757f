/**
 * Rows kept as JSON by column name, for people to read and to take again: versions of whole-row conflicts, refused
 * cells, and deleted rows. They follow renames, or a value would go into another column once two columns swapped names,
 * and into none once its column has another name.
 */
import type { Tx, Stored } from './connection.ts';
import { blocks, queryNumbers, queryRows } from './query.ts';
import { sql } from '../base/sql.ts';
import { parseExactJson } from '../wire/exact-json.ts';
import { storeVersions } from './bookkeeping/conflicts.ts';
import { storeLastValues } from './bookkeeping/deleted-rows.ts';
import { storeSentNames } from './bookkeeping/refusals.ts';

/** Brings what is kept of a table up to the names that its columns have from now on, all at once. */
export function renameInKeptRows(tx: Tx, tableId: number, newNames: ReadonlyMap<string, string>): void {
  if (newNames.size === 0) return;
  // Not by SQLite, which takes five times as long: there may be many deleted rows.
  const renamed = (row: Stored): Stored => {
    if (typeof row !== 'string') return row;
    const cells = Object.entries(parseExactJson(row) as object);
    return JSON.stringify(Object.fromEntries(cells.map(([name, value]) => [newNames.get(name) ?? name, value])));
  };
  const conflicts = sql`SELECT id FROM _rowsync_conflicts WHERE table_id = ? AND kind <> 'cell'`;
  const readConflicts = sql`SELECT id, base, local, remote FROM _rowsync_conflicts WHERE id IN (SELECT value FROM json_each(?))`;
  for (const ids of blocks(queryNumbers(tx, conflicts, [tableId])))
    for (const [id, base = null, local = null, remote = null] of queryRows(tx, readConflicts, [JSON.stringify(ids)]))
      storeVersions(tx, Number(id), { base: renamed(base), local: renamed(local), remote: renamed(remote) });
  const deleted = sql`SELECT seq FROM _rowsync_deleted WHERE table_id = ?`;
  const readDeleted = sql`SELECT seq, row_values FROM _rowsync_deleted WHERE seq IN (SELECT value FROM json_each(?))`;
  for (const seqs of blocks(queryNumbers(tx, deleted, [tableId])))
    for (const [seq, values = null] of queryRows(tx, readDeleted, [JSON.stringify(seqs)]))
      storeLastValues(tx, Number(seq), renamed(values));
  const refusals = sql`SELECT id, column_name, sent FROM _rowsync_refusals WHERE table_id = ?`;
  for (const [id = null, name = null, sent = null] of queryRows(tx, refusals, [tableId]))
    storeSentNames(tx, id, { name: newNames.get(String(name)) ?? name, sent: renamed(sent) });
}

/** The values of a row that was kept, by the names of its columns now. */
export function readKeptRow(tx: Tx, text: string): ReadonlyMap<string, Stored> {
  const cells = queryRows(tx, sql`SELECT key, value FROM json_each(?)`, [text]);
  return new Map(cells.map(([name, value = null]) => [String(name), value]));
}
