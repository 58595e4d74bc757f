/**
 * What a column demands of the values in it: none of them empty, none too long, no two of them the same. Takes a cell
 * that is about to be written, by a caller or by a rule; produces the demand that it would break. Pure.
 */
import type { Value } from '../../../src/wire/schema.ts';
import { hasOption, valueTypeOf, type ModelColumn, type ModelTable } from './state.ts';
import { isFile, type ModelCell } from './writer.ts';

/** What a cell breaks. */
export type BrokenConstraint = 'isEmpty' | 'isTooLong' | 'isTaken';

/** The types whose width bounds the length of their texts. */
const BOUNDED = new Set(['Text', 'Phone', 'EMail', 'URL', 'Autonumber', 'Unknown']);

/** What a cell would break in the row `rowId`, or in a new one (null). */
export function brokenConstraint(
  table: ModelTable,
  column: ModelColumn,
  cell: ModelCell,
  rowId: number | null,
): BrokenConstraint | null {
  if (cell === null || cell === '') {
    return column.id === table.keyId || hasOption(column.options, 'Required') ? 'isEmpty' : null;
  }
  if (isFile(cell)) return null;
  const { width } = column;
  const isBounded = width !== null && typeof cell === 'string' && BOUNDED.has(valueTypeOf(column));
  if (isBounded && cell.length > width) return 'isTooLong';
  return isUnique(table, column) && isTaken(table, column, cell, rowId) ? 'isTaken' : null;
}

/** Whether no two rows may share a value of the column. */
export function isUnique(table: ModelTable, column: ModelColumn): boolean {
  return column.id === table.keyId || hasOption(column.options, 'Unique');
}

function isTaken(table: ModelTable, column: ModelColumn, value: Value, rowId: number | null): boolean {
  return table.rows.values().some(({ id, cells }) => id !== rowId && cells.get(column.id) === value);
}
