/**
 * What the parameters of a request mean for the caller's role: numbers within bounds, columns to return, sort orders.
 * A table or column that the role may not see is not found. Source: specification, section 4; origin facts, section
 * 7.3.
 */
import { KEYS_MAX, TOP_MAX } from '../../wire/request-paths.ts';
import { isWritable } from '../../wire/schema.ts';
import type { MethodCall, Pairs } from './call.ts';
import { badParameter, CODES, hiddenColumn, noColumn, MethodRefusal } from './refusal.ts';
import { findByName, type Catalog, type StoreColumn, type Role, type Table } from '../store/catalog.ts';
import type { ColumnOrder } from '../store/rows.ts';
import { sortKeyFromText } from '../wire/query.ts';

/** The tables that the role may see. */
export function visibleTables(catalog: Catalog, role: Role): readonly Table[] {
  return catalog.tables.filter(({ id }) => !role.hiddenTableIds.includes(id));
}

/** The columns of a table that the role may see. */
export function visibleColumns(table: Table, role: Role): readonly StoreColumn[] {
  return table.columns.filter(({ id }) => !role.hiddenColumnIds.includes(id));
}

/** All values of a parameter, in order. */
export function valuesOf(pairs: Pairs, parameter: string): readonly string[] {
  return pairs.filter(([name]) => name === parameter).map(([, value]) => value);
}

/** A column by name or alias, or why the role cannot have it. */
export function findColumn(table: Table, role: Role, name: string): StoreColumn | MethodRefusal {
  const column = findByName(table.columns, name);
  if (column === undefined) return noColumn(name);
  return role.hiddenColumnIds.includes(column.id) ? hiddenColumn(name) : column;
}

/** The columns to return; `*` means those that can be written by someone. Each comes once, at its first mention. */
export function readColumns(table: Table, role: Role, pairs: Pairs): readonly StoreColumn[] | MethodRefusal {
  const names = valuesOf(pairs, 'column');
  const columns = new Set<StoreColumn>();
  for (const name of names.length === 0 ? ['*'] : names) {
    if (name === '*') {
      for (const column of visibleColumns(table, role)) {
        // The role's own rights do not matter here: a reader sees the same columns as a writer.
        if (isWritable({ kind: column.kind, readOnly: null })) columns.add(column);
      }
      continue;
    }
    const column = findColumn(table, role, name);
    if (column instanceof MethodRefusal) return column;
    columns.add(column);
  }
  return [...columns];
}

/** The order of the rows. */
export function readSort(table: Table, role: Role, pairs: Pairs): readonly ColumnOrder[] | MethodRefusal {
  const sort: ColumnOrder[] = [];
  for (const value of valuesOf(pairs, 'sort')) {
    const { column: name, descending } = sortKeyFromText(value);
    const column = findColumn(table, role, name);
    if (column instanceof MethodRefusal) return column;
    sort.push({ column, descending: descending === true });
  }
  return sort;
}

/** A whole number within bounds; the last one counts where a client repeats itself. */
export function readInteger(
  pairs: Pairs,
  parameter: string,
  bounds: { readonly min: number; readonly max: number; readonly missing: number },
): number | MethodRefusal {
  const value = valuesOf(pairs, parameter).at(-1);
  if (value === undefined) return bounds.missing;
  const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= bounds.min && number <= bounds.max) return number;
  const range = bounds.max === Number.MAX_SAFE_INTEGER ? `${bounds.min} or more` : `${bounds.min} to ${bounds.max}`;
  return badParameter(parameter, `The value of the parameter must be a whole number, ${range}`);
}

/** Which rows of an order an answer shows. */
export interface Page {
  readonly top: number;
  readonly skip: number;
}

/** The parameters `top` and `skip`. */
export function readPage(pairs: Pairs): Page | MethodRefusal {
  const top = readInteger(pairs, 'top', { min: 1, max: TOP_MAX, missing: TOP_MAX });
  if (top instanceof MethodRefusal) return top;
  const skip = readInteger(pairs, 'skip', { min: 0, max: Number.MAX_SAFE_INTEGER, missing: 0 });
  return skip instanceof MethodRefusal ? skip : { top, skip };
}

/** `1` and `true`, `0` and `false`; the last one counts where a client repeats itself. */
export function readSwitch(pairs: Pairs, parameter: string, missing: boolean): boolean | MethodRefusal {
  switch (valuesOf(pairs, parameter).at(-1)?.toLowerCase()) {
    case undefined:
      return missing;
    case '1':
    case 'true':
      return true;
    case '0':
    case 'false':
      return false;
    default:
      return badParameter(parameter, 'The value of the parameter must be 0 or 1');
  }
}

/** Whether workflow rules run; only who may manage data may say that they do not (specification 4.6 and 4.7). */
export function readWorkflow({ pairs, user }: Pick<MethodCall, 'pairs' | 'user'>): boolean | MethodRefusal {
  const runs = readSwitch(pairs, 'workflow', true);
  if (runs !== false || user.admin.includes('ManageData')) return runs;
  const message = 'Suppressing workflow rules takes the permission ManageData';
  return new MethodRefusal(403, { code: CODES.noManageData, message, source: 'workflow' });
}

/** The records that a request names, in its order, by key or by internal id. */
export type RequestedRecords =
  | { readonly by: 'id'; readonly ids: readonly number[] }
  | { readonly by: 'key'; readonly keys: readonly string[] };

/** The parameters `key` and `id`: one of the two, repeated up to `max` times. */
export function readRecords(pairs: Pairs, max = KEYS_MAX): RequestedRecords | MethodRefusal {
  const keys = valuesOf(pairs, 'key');
  const ids = valuesOf(pairs, 'id');
  if (keys.length > 0 && ids.length > 0) return badParameter('id', 'Keys and ids cannot be mixed');
  if (keys.length === 0 && ids.length === 0) return badParameter('key', 'A key or an id is required');
  if (keys.length > max || ids.length > max) {
    const records = max === 1 ? 'One record' : `At most ${max} records`;
    return badParameter(ids.length > 0 ? 'id' : 'key', `${records} can be requested at once`);
  }
  if (ids.some((id) => !/^\d{1,15}$/.test(id))) return badParameter('id', 'An id must be a whole number');
  return ids.length > 0 ? { by: 'id', ids: ids.map(Number) } : { by: 'key', keys };
}
