/**
 * Some columns of all rows, block by block, to be summed. Input: a table and local names of columns. Output: stored values, in which long integers
 * are rounded: this is no way to read rows that are kept.
 */
import { ident, joinSql, sql } from '../base/sql.ts';
import type { Connection } from './connection.ts';
import type { RowTarget } from './rows.ts';

/** A row: its id, and then the values of the columns asked for. */
export type MeasuredRow = readonly [id: number, ...values: (string | number | null)[]];

/** Rows above an id in order, at most `count`. */
export function readMeasured(
  from: Connection,
  { localName }: RowTarget,
  { columns, after, count }: { readonly columns: readonly string[]; readonly after: number; readonly count: number },
): readonly MeasuredRow[] {
  const list = joinSql([sql`_id`, ...columns.map(ident)]);
  return from
    .prepare(sql`SELECT ${list} FROM ${ident(localName)} WHERE _id > ? ORDER BY _id LIMIT ?`)
    .raw()
    .all(after, count) as unknown as readonly MeasuredRow[]; // raw() gives arrays
}
