/**
 * What rows say beside their values (specification 2.5): what the caller's role may do with each one, which may depend
 * on its Record Owner, and its color.
 */
import { emailOfUser } from '../../wire/column-types.ts';
import { hasOption, type Row, type Value } from '../../wire/schema.ts';
import type { MethodCall } from './call.ts';
import type { StoreColumn, Table } from '../store/catalog.ts';
import type { RowWriter } from '../store/writer.ts';

/** The column that says whose a row is. */
function ownerColumn(table: Table): StoreColumn | undefined {
  return table.columns.find((column) => column.kind === 'RecordOwner' && column.sqlName !== null);
}

/** Whether the caller may edit and delete a row with this owner; `undefined` means a table without owners. */
function mayEdit({ role, user }: Pick<MethodCall, 'role' | 'user'>, owner: Value | undefined): boolean {
  if (!role.canWrite) return false;
  if (!role.editOwnOnly || owner === undefined) return true;
  return owner !== null && emailOfUser(String(owner)).toLowerCase() === user.email.toLowerCase();
}

/** Whether the caller may do something with a row, which itself says so or leaves it to its owner and the role. */
export function mayDo(
  call: Pick<MethodCall, 'role' | 'user'>,
  table: Table,
  writer: RowWriter,
  row: { readonly id: number; readonly what: 'Edit' | 'Delete' },
): boolean {
  const allow = writer.allowOf(table, row.id);
  if (allow !== null) return hasOption(allow.split(/[\s,]+/), row.what);
  const owner = ownerColumn(table);
  return mayEdit(call, owner === undefined ? undefined : writer.read(table, [owner], row.id)?.[0]);
}

/** The column that means the formula of the table by which its rows have colors. Also for callers who do not see it. */
function colorColumn(table: Table): StoreColumn | undefined {
  return table.columns.find(({ options }) => hasOption(options, 'RowColor'));
}

/** Rows by id, in the order of the ids, each with what the caller may do with it, and its color. */
export function readRowsWithRights(
  call: Pick<MethodCall, 'store' | 'role' | 'user'>,
  table: Table,
  columns: readonly StoreColumn[],
  ids: readonly number[],
): readonly Row[] {
  const textOf = (owner: Value | undefined): string => (mayEdit(call, owner) ? 'Edit, Delete' : '');
  const owner = call.role.canWrite && call.role.editOwnOnly ? ownerColumn(table) : undefined;
  const color = colorColumn(table);
  if (owner === undefined && color === undefined) return call.store.readRows(table, columns, ids, textOf(undefined));
  const more = [owner, color].filter((column) => column !== undefined);
  return call.store.readRows(table, [...columns, ...more], ids, null).map(({ values, ...row }) => {
    const said = color === undefined ? null : values.at(-1);
    return {
      ...row,
      allow: row.allow ?? textOf(owner === undefined ? undefined : values[columns.length]),
      ...(typeof said === 'string' && said !== '' ? { color: said } : {}),
      values: values.slice(0, columns.length),
    };
  });
}
