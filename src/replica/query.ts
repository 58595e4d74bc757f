/**
 * Reading with a statement that was made elsewhere (capture/). What comes back has only the types that SQLite knows; the caller
 * checks what it needs beyond that.
 */
import type { Connection, Stored } from './connection.ts';
import type { Sql } from '../base/sql.ts';

/** Every row as an array of its columns; every INTEGER is a bigint. */
export function queryRows(from: Connection, text: Sql, values: readonly Stored[]): readonly (readonly Stored[])[] {
  return from
    .prepare(text)
    .safeIntegers()
    .raw()
    .all(...values) as Stored[][]; // the replica's tables hold no BLOB
}

/** What is bound in a statement: values in their order, or one object of them by their names. */
type Bound = readonly (Stored | Readonly<Record<string, Stored>>)[];

/** The first column of every row, which must be an id or a count. */
export function queryNumbers(from: Connection, text: Sql, values: Bound): readonly number[] {
  return from
    .prepare(text)
    .pluck()
    .all(...values)
    .map(Number);
}

/** The first column of the first row, which must be an id or a count, and is there. */
export function queryNumber(from: Connection, text: Sql, values: Bound = []): number {
  return Number(
    from
      .prepare(text)
      .pluck()
      .get(...values),
  );
}

/** How many rows are in memory at once. */
export const BLOCK_ROWS = 500;

/** Ids in blocks of as many. */
export function* blocks(ids: readonly number[]): IterableIterator<readonly number[]> {
  for (let start = 0; start < ids.length; start += BLOCK_ROWS) yield ids.slice(start, start + BLOCK_ROWS);
}
