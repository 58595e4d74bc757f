/**
 * Texts that are not valid UTF-8, as clients with another encoding write them. SQLite keeps any bytes as text, and readers get U+FFFD for invalid
 * ones. A row that is written as it was read would then hold other texts, and the origin would get a value that is not here. No trigger rule can
 * detect them, so a cell with that character is checked byte by byte. Input: rows as they were read. Output: which texts are raw; their bytes are put
 * back after such a row was written.
 */
import { isUtf8 } from 'node:buffer';

import { must } from '../base/assert.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { queryRows } from '../replica/query.ts';
import { writeRows } from '../replica/rows.ts';
import { ident, sql, type Sql } from '../base/sql.ts';
import type { Row } from '../wire/schema.ts';
import type { TwoWayTable } from './table.ts';

/** A text of a row that is not valid UTF-8. */
export interface RawText {
  /** Index in the table's columns. */
  readonly column: number;
  /** As it is read. */
  readonly text: string;
  /** Its bytes, in hexadecimal digits. */
  readonly hex: string;
}

/** The raw texts of a row that was just read from the user table. */
export function readRawTexts(from: Connection, table: TwoWayTable, row: Row | null): readonly RawText[] {
  return (row?.values ?? []).flatMap((text, column): readonly RawText[] => {
    if (row === null || typeof text !== 'string' || !text.includes('\uFFFD')) return [];
    const select = sql`SELECT hex(${nameOf(table, column)}) FROM ${ident(table.localName)} WHERE _id = ?`;
    const [hex] = queryRows(from, select, [row.id])[0] ?? [];
    return typeof hex === 'string' && !isUtf8(Buffer.from(hex, 'hex')) ? [{ column, text, hex }] : [];
  });
}

/** Writes a row over the one that had these raw texts, which keep their bytes if the row still has them. */
export function writeKeepingRaw(tx: Tx, table: TwoWayTable, row: Row, raw: readonly RawText[]): void {
  writeRows(tx, table, [row]);
  putRawBack(tx, table, row, raw);
}

/** Gives raw texts their bytes back in a row that was written since, if it still has the same text. */
export function putRawBack(tx: Tx, table: TwoWayTable, { id, values }: Row, raw: readonly RawText[]): void {
  for (const { column, text, hex } of raw) {
    if (values[column] !== text) continue;
    tx.journal.willChange(table, [id], tx.cause);
    const update = sql`UPDATE ${ident(table.localName)} SET ${nameOf(table, column)} = CAST(unhex(?) AS TEXT) WHERE _id = ?`;
    tx.prepare(update).run(hex, id);
  }
}

function nameOf({ columns }: TwoWayTable, column: number): Sql {
  return ident(must(columns[column], 'a row has the columns of its table').localName);
}
