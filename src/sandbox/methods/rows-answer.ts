/**
 * Rows as an answer: a page of a table in some order, or rows by id. Reads the store, writes nothing.
 */
import type { Value } from '../../wire/schema.ts';
import { groupValue, type GroupField } from './aggregate.ts';
import type { MethodCall, PageAnswer } from './call.ts';
import type { Page } from './parameters.ts';
import { readRowsWithRights } from './row-rights.ts';
import { tablesBehind, type StoreColumn, type Table } from '../store/catalog.ts';
import type { RowFilter } from '../store/matching.ts';
import type { ColumnOrder } from '../store/rows.ts';

/** One page of the rows that pass the filters. */
export function pageAnswer(
  call: MethodCall,
  table: Table,
  what: {
    readonly columns: readonly StoreColumn[];
    readonly sort: readonly ColumnOrder[];
    readonly filters: readonly RowFilter[];
    readonly page: Page;
    /** Of a view: columns that come behind the others, as their groups say. */
    readonly groups?: readonly GroupField[];
  },
): PageAnswer {
  const { columns, sort, filters, page, groups = [] } = what;
  const ids = call.store.orderedIds(table, sort, filters, page);
  return {
    ...rowsAnswer(call, table, columns, ids, groups),
    version: call.store.rowsVersion(table, ids),
    agesByItself: filters.some(({ key }) => key === null),
  };
}

/** The rows with these ids, as far as they exist: a version of them would not tell that one went. */
export function rowsAnswer(
  call: MethodCall,
  table: Table,
  columns: readonly StoreColumn[],
  ids: readonly number[],
  groups: readonly GroupField[] = [],
): PageAnswer {
  return {
    kind: 'page',
    text: () => rowsText(call, table, { columns, ids, groups }),
    tableIds: tablesBehind(table),
  };
}

function rowsText(
  call: MethodCall,
  table: Table,
  what: {
    readonly columns: readonly StoreColumn[];
    readonly ids: readonly number[];
    readonly groups: readonly GroupField[];
  },
): string {
  const { columns, ids, groups } = what;
  const grouped = groups.map(({ column }) => column);
  const found = readRowsWithRights(call, table, [...columns, ...grouped], ids);
  const rows = groups.length === 0 ? found : found.map((row) => ({ ...row, values: row.values.map(inGroup) }));
  const shapes = [
    ...columns.map(({ name, valueType }) => ({ name, type: valueType })),
    ...groups.map(({ shape }) => shape),
  ];
  function inGroup(value: Value, index: number): Value {
    const group = groups[index - columns.length];
    return group === undefined ? value : groupValue(group, value, call.user.timezone);
  }
  return call.format.rowsWriter(shapes, call.user.timezone)(rows);
}
