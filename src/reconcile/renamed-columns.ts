/**
 * Whether the columns of a table still have the names under which its rows were read. Values that are stored under a
 * name that has moved belong to another column, and an edit of their row would keep them permanently. Pure.
 */
import { columnType, isWritable, type Row, type TableDescriptor } from '../wire/schema.ts';
import { cellOf, editedColumns, type MergeColumn, isSameValue } from './merge.ts';
import type { ChangeKind, SentCell } from './push-plan.ts';

/** Whether rows that were read under one description mean the same under another. */
export function isSameShape(one: TableDescriptor, other: TableDescriptor): boolean {
  const text = ({ key, columns }: TableDescriptor): string =>
    JSON.stringify([key, columns.map(({ id, name, type }) => [id, name, type])]);
  return text(one) === text(other);
}

export interface ReadColumn extends MergeColumn {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
}

/** Names of the columns that were renamed, retyped, removed or locked since they were read. */
export function changedColumns(columns: readonly ReadColumn[], { columns: now }: TableDescriptor): readonly string[] {
  const byId = new Map(now.map((column) => [column.id, column]));
  return columns.flatMap(({ id, name, alias, type, writable }) => {
    const column = byId.get(id);
    const isSame = column?.name === name && columnType(column.type) === type;
    // Values are sent by the alias.
    return isSame && (!writable || (column.alias === alias && isWritable(column))) ? [] : [name];
  });
}

/** Whether the cells that people can write are as expected; values that the origin computes do not count. */
export function isAsExpected(columns: readonly MergeColumn[], row: Row, expected: Row | null): boolean {
  return editedColumns(expected, row, columns).every((column) => columns[column]?.automatic === true);
}

/** Whether a row is as its accepted request left it. The origin shows files in another form than they were sent. */
export function isAsAccepted(
  columns: readonly MergeColumn[],
  row: Row,
  { kind, base, cells }: { readonly kind: ChangeKind; readonly base: Row | null; readonly cells: readonly SentCell[] },
): boolean {
  // A default that the origin fills into a new row is no surprise.
  const mayDiffer = (column: number): boolean => kind !== 'insert' && columns[column]?.automatic === true;
  const isHeld = cells.every(({ column, value, file }) => {
    const isAsSent = isSameValue(columns[column]?.type ?? 'Text', cellOf(row, column), value);
    return isAsSent || file !== undefined || mayDiffer(column);
  });
  if (kind === 'insert' || !isHeld) return isHeld;
  const isSent = (column: number): boolean => cells.some((cell) => cell.column === column);
  return editedColumns(base, row, columns).every((column) => isSent(column) || mayDiffer(column));
}
