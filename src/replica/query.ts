/**
 * Reading with a statement that was made elsewhere (capture/). What comes back has only the types that SQLite knows;
 * the caller checks what it needs beyond that.
 */
import { isUtf8 } from 'node:buffer';
import type { Connection, Stored } from './connection.ts';
import { ident, sql, type Sql } from '../base/sql.ts';

/** Every row as an array of its columns; every INTEGER is a bigint. */
export function queryRows(from: Connection, text: Sql, values: readonly Stored[]): readonly (readonly Stored[])[] {
  const statement = from.prepare(text).safeIntegers().raw();
  return statement.all(...values) as Stored[][]; // the replica's tables hold no BLOB
}

/** What is bound in a statement: values in their order, or one object of them by their names. */
type BoundValues = readonly (Stored | Readonly<Record<string, Stored>>)[];

/** The first column of every row, which must be an id or a count. */
export function queryNumbers(from: Connection, text: Sql, values: BoundValues): readonly number[] {
  const statement = from.prepare(text).pluck();
  return statement.all(...values).map(Number);
}

/** The first column of the first row, which must be an id or a count, and is there. */
export function queryNumber(from: Connection, text: Sql, values: BoundValues = []): number {
  const statement = from.prepare(text).pluck();
  return Number(statement.get(...values));
}

/** The bytes of a text that is no UTF-8, in hexadecimal; else null. Such a text is read with U+FFFD in it. */
export function readRawText(
  from: Connection,
  value: unknown,
  { tableName, name, id }: { readonly tableName: string; readonly name: string; readonly id: number },
): string | null {
  if (typeof value !== 'string' || !value.includes('\uFFFD')) return null;
  const text = sql`SELECT hex(${ident(name)}) FROM ${ident(tableName)} WHERE _id = ?`;
  const hex = queryText(from, text, [id]);
  return hex !== null && !isUtf8(Buffer.from(hex, 'hex')) ? hex.toLowerCase() : null;
}

/** Every row as an object of its columns; in a statement over tables of ours, the caller knows their types. */
export function queryAll(from: Connection, text: Sql, values: BoundValues = []): readonly unknown[] {
  return from.prepare(text).all(...values);
}

/** The first row as such an object; null for none. */
export function queryFirst(from: Connection, text: Sql, values: BoundValues = []): unknown {
  return from.prepare(text).get(...values) ?? null;
}

/** The first column of every row, which must be a text. */
export function queryTexts(from: Connection, text: Sql, values: BoundValues = []): readonly string[] {
  const statement = from.prepare(text).pluck();
  return statement.all(...values).map(String);
}

/** The first column of the first row, which must be a text; null for none. */
export function queryText(from: Connection, text: Sql, values: BoundValues = []): string | null {
  const statement = from.prepare(text).pluck();
  const found = statement.get(...values);
  return typeof found === 'string' ? found : null;
}

/** A row with the numbers 0 and 1 of some columns as false and true. */
export function withFlags(row: unknown, ...flags: readonly string[]): unknown {
  const copy = { ...(row as Readonly<Record<string, unknown>>) }; // a row of better-sqlite3
  for (const flag of flags) copy[flag] = copy[flag] === 1;
  return copy;
}

export function queryAny(from: Connection, text: Sql, values: BoundValues = []): boolean {
  return from.prepare(text).get(...values) !== undefined;
}

/** How many rows are in memory at once. */
export const BLOCK_ROWS = 500;

/** What `read` gives above a number, block by block until none is left; `idOf` tells the number of an item. */
export function* blocksAbove<T>(
  read: (after: number) => readonly T[],
  idOf: (item: T) => number,
): IterableIterator<readonly T[]> {
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const block = read(after);
    const last = block.at(-1);
    if (last === undefined) return; // ends: every block lies above the last one
    yield block;
    after = idOf(last);
  }
}

export function* blocks<T>(items: readonly T[]): IterableIterator<readonly T[]> {
  for (let start = 0; start < items.length; start += BLOCK_ROWS) yield items.slice(start, start + BLOCK_ROWS);
}
