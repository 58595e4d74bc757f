/**
 * Reads what stands in the base of the table: its rows as the origin last confirmed them. Input: whoever can be asked (the replica in
 * a transaction, or another connection). Output: rows by the names of the simulation. Pure but for the question.
 */
import { ident, joinSql, sql, type Sql } from '../../src/replica/sql.ts';
import type { LocalRow } from './books.ts';
import { rowFromReplica, type Names } from './names.ts';

/** Asks; each row is an array of its columns. */
export type Ask = (statement: Sql) => readonly (readonly unknown[])[];

/** The rows of the base by their ids; null while the table has none, or not all of the columns. */
export function readBase(ask: Ask, names: Names): ReadonlyMap<number, LocalRow> | null {
  const { tableId, columnIds } = names;
  if (ask(sql`SELECT 1 FROM sqlite_schema WHERE name = '_rowsync_base_${tableId}'`).length === 0) return null;
  const nameById = new Map(
    ask(sql`SELECT id, local_name FROM _rowsync_columns WHERE table_id = ${tableId} AND state = 'live'`).map(
      ([id, name]) => [Number(id), String(name)],
    ),
  );
  const columns = columnIds.flatMap((id) => nameById.get(id) ?? []);
  if (columns.length < columnIds.length) return null;
  const rows = ask(sql`SELECT _id, ${joinSql(columns.map(ident))} FROM _rowsync_base_${tableId}`);
  return new Map(rows.map((row) => [Number(row[0]), rowFromReplica(row)]));
}
