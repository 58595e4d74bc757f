/**
 * Converts the cells of proposed edits into what their columns would store, or gives the reason for a refusal.
 */
import type { BrowsedColumn } from '../shared/rows-page.ts';
import type { Stored } from '../../replica/connection.ts';
import { storedFromValue } from '../../replica/rows.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import { columnType } from '../../wire/schema.ts';

export function exactOf(column: BrowsedColumn, value: string | number | boolean | null): Stored {
  if (value === null || value === '') return null;
  const type = columnType(column.type);
  if (type === 'Checkbox' && /^(?:true|false|0|1)$/.test(String(value))) {
    return BigInt(value === true || value === 'true' || String(value) === '1');
  }
  const stored = storedFromValue(TYPE_RULES[type].valueFromText(String(value)));
  return typeof stored === 'number' && Number.isSafeInteger(stored) ? BigInt(stored) : stored;
}

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
