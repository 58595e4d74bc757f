/**
 * Which cells a proposed edit may have, and must.
 */
import type { BrowsedColumn } from '../shared/rows-page.ts';
import { columnType } from '../../wire/schema.ts';

/** Whether a new row needs a value in a column, because the origin gives none. */
export function isNeeded({ isRequired, kind, ...column }: BrowsedColumn): boolean {
  const isGiven = kind === 'Key' || kind === 'RecordOwner';
  return isRequired && !isGiven && reasonNotWritten({ isRequired, kind, ...column }) === null;
}

/** Why a column takes no proposed value; null if it takes one. */
export function reasonNotWritten(column: BrowsedColumn | undefined): string | null {
  if (column === undefined) return 'there is no such column';
  if (columnType(column.type) === 'Attachment') return 'files are attached by people';
  if (column.mask !== null) return 'its values are masked here';
  return column.isWritable ? null : 'the column cannot be written';
}
