/**
 * The output formats: how descriptors, rows and errors become bytes. A format is one `Renderer`; the methods know no
 * other difference between formats. Input: descriptors and rows. Output: text. Pure.
 */
import { writeDatabase, writeError, writeTable, writeUser, rowsWriter, type ErrorDescriptor } from '../wire/json.ts';
import type { ColumnShape, DatabaseDescriptor, Row, TableDescriptor, UserDescriptor } from '../wire/schema.ts';

/** One output format. */
export interface Renderer {
  readonly contentType: string;
  database(database: DatabaseDescriptor): string;
  table(table: TableDescriptor): string;
  user(user: UserDescriptor): string;
  /** Rows for a user in `zone`. */
  rows(columns: readonly ColumnShape[], zone: string, rows: readonly Row[]): string;
  error(error: ErrorDescriptor): string;
}

/** JSON, also for errors of every other format but XML (origin facts 1.7). */
export const jsonRenderer: Renderer = {
  contentType: 'application/json;charset=utf-8',
  database: writeDatabase,
  table: writeTable,
  user: writeUser,
  rows: (columns, zone, rows) => rowsWriter(columns, zone)(rows),
  error: writeError,
};
