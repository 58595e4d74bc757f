/**
 * What a role may do with a single row (specification 2.5, `@row.allow`). Nothing but read it, or edit and delete it, or that
 * only where the caller is its Record Owner. Input: a call, and who owns the row. Output: rights, and rows that tell them.
 */
import { emailOfUser } from '../wire/column-types.ts';
import type { Row, Value } from '../wire/schema.ts';
import type { Call } from './call.ts';
import type { Column, Table } from './store/catalog.ts';

/** The column that says whose a row is. */
export function ownerColumn(table: Table): Column | undefined {
  return table.columns.find((column) => column.kind === 'RecordOwner' && column.sqlName !== null);
}

/** Whether the caller may edit and delete a row with this owner; `undefined` stands for a table without owners. */
export function mayEdit({ role, user }: Pick<Call, 'role' | 'user'>, owner: Value | undefined): boolean {
  if (!role.canWrite) return false;
  if (!role.editOwnOnly || owner === undefined) return true;
  return owner !== null && emailOfUser(String(owner)).toLowerCase() === user.email.toLowerCase();
}

/** Rows by id, in the order of the ids, each with what the caller may do with it. */
export function readRowsWithRights(
  call: Pick<Call, 'store' | 'role' | 'user'>,
  table: Table,
  columns: readonly Column[],
  ids: readonly number[],
): readonly Row[] {
  const textOf = (owner: Value | undefined): string => (mayEdit(call, owner) ? 'Edit, Delete' : '');
  const owner = ownerColumn(table);
  if (!call.role.canWrite || !call.role.editOwnOnly || owner === undefined) {
    return call.store.readRows(table, columns, ids, textOf(undefined));
  }
  return call.store
    .readRows(table, [...columns, owner], ids, null)
    .map(({ id, values }) => ({ id, allow: textOf(values.at(-1)), values: values.slice(0, -1) }));
}
