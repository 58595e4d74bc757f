/**
 * One row of a user table with every digit of its values, to tell later whether it changed. Input: an open replica. Output: values.
 */
import { ident, joinSql, sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import type { Exact } from '../../replica/history-cells.ts';

/** The values of a row in the order of the columns; null where there is no such row. */
export function readExactCells(
  from: Connection,
  table: string,
  { id, columns }: { readonly id: number; readonly columns: readonly string[] },
): readonly Exact[] | null {
  const names = joinSql([sql`_id`, ...columns.map((column) => ident(column))]);
  const row = from
    .prepare(sql`SELECT ${names} FROM ${ident(table)} WHERE _id = ?`)
    .safeIntegers()
    .raw()
    .get(id) as Exact[] | undefined; // raw() gives arrays
  return row?.slice(1) ?? null;
}
