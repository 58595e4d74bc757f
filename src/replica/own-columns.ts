/**
 * Columns that other clients added to a user table, or gave another name. Nothing of them is synced, and what is there stays
 * with its row where that gets another id. Input: ids. Output: values, and rows that have them again.
 */
import type { Connection, Tx } from './connection.ts';
import { readCells, type Pair, type RowTarget } from './rows.ts';
import { ident, joinSql, sql } from '../base/sql.ts';

/** What rows say in columns that the ledger does not know, by their ids; without those that SQLite computes. */
export function readOwnCells(
  from: Connection,
  { id, localName }: Pick<RowTarget, 'id' | 'localName'>,
  ids: readonly number[],
): ReadonlyMap<number, readonly Pair[]> {
  if (ids.length === 0) return new Map();
  const names = from
    .prepare(
      sql`SELECT name FROM pragma_table_info(?) WHERE name COLLATE NOCASE NOT IN ('_id', '_allow')
            AND name COLLATE NOCASE NOT IN (SELECT local_name FROM _rowsync_columns WHERE table_id = ?)
            AND NOT (name = '_color' AND EXISTS (SELECT 1 FROM _rowsync_tables WHERE id = ? AND row_colors = 'kept'))`,
    )
    .pluck()
    .all(localName, id, id) as string[]; // name is TEXT
  return readCells(from, localName, { names, ids });
}

/** Gives a row that continues under another id what it said in such columns. */
export function carryOwnCells(
  tx: Tx,
  { localName }: Pick<RowTarget, 'localName'>,
  id: number,
  cells: readonly Pair[] | undefined,
): void {
  if (cells === undefined) return;
  const names = cells.map(([name]) => sql`${ident(name)} = ?`);
  const text = sql`UPDATE ${ident(localName)} SET ${joinSql(names)} WHERE _id = ?`;
  tx.prepare(text).run(...cells.map(([, value]) => value), id);
}
