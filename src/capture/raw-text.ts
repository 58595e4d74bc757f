/**
 * Texts that are not valid UTF-8, as clients with another encoding write them. SQLite keeps any bytes as text, and readers get U+FFFD for invalid
 * ones, so the origin would get a value that is not here. No trigger rule can detect them: a cell with that character is checked byte by byte.
 */
import { isUtf8 } from 'node:buffer';

import { must } from '../base/assert.ts';
import type { Connection } from '../replica/connection.ts';
import { queryRows } from '../replica/query.ts';
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

function nameOf({ columns }: TwoWayTable, column: number): Sql {
  return ident(must(columns[column], 'a row has the columns of its table').localName);
}
