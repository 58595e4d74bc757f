/**
 * A user table that is not trusted any more: another client may have edited it, or an ETag may be wrong. Every row of it has to be proven again. The
 * next sweep brings back what was edited or deleted here; rows that no page has are looked up like any missing row.
 */
import type { Tx, WrittenTable } from './connection.ts';
import { forgetEtags } from './bookkeeping/pages.ts';
import { baseName } from './tables.ts';
import { touchTable } from './bookkeeping/touched.ts';
import { suspectUnpaged } from './bookkeeping/suspects.ts';
import { recountRows, storeFacts } from './bookkeeping/tables.ts';

/** Takes nothing in the user table for certain; it must be in the file. */
export function distrustRows(tx: Tx, table: WrittenTable): void {
  storeFacts(tx, table.id, { doubted: 1 });
  distrustConfirmed(tx, table);
}

/** Takes nothing in the base of a two-way table for certain. What was edited is found by comparing all rows with it. */
export function distrustBase(tx: Tx, table: WrittenTable): void {
  storeFacts(tx, table.id, { compare_due: 1 });
  distrustConfirmed(tx, { id: table.id, localName: baseName(table.id) });
}

function distrustConfirmed(tx: Tx, table: WrittenTable): void {
  forgetEtags(tx, table.id);
  touchTable(tx, table.id);
  recountRows(tx, table);
  suspectUnpaged(tx, table);
}
