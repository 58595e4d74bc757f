/**
 * Select and Retrieve: rows of a table by page, by key or by id. Reads the store, writes nothing. Source: specification,
 * sections 4.4 and 4.5.
 */
import { KEYS_MAX, TOP_MAX } from '../wire/query.ts';
import type { Answer, Call } from './call.ts';
import { readFilters } from './filter.ts';
import { readColumns, readInteger, readSort, valuesOf } from './parameters.ts';
import { badParameter, Refusal } from './refusal.ts';
import { tablesBehind, type Column, type Table } from './store/catalog.ts';

/** Select. */
export function select(call: Call, table: Table): Answer | Refusal {
  const { role, pairs, store } = call;
  const columns = readColumns(table, role, pairs);
  if (columns instanceof Refusal) return columns;
  const sort = readSort(table, role, pairs);
  if (sort instanceof Refusal) return sort;
  const top = readInteger(pairs, 'top', { min: 1, max: TOP_MAX, missing: TOP_MAX });
  if (top instanceof Refusal) return top;
  const skip = readInteger(pairs, 'skip', { min: 0, max: Number.MAX_SAFE_INTEGER, missing: 0 });
  if (skip instanceof Refusal) return skip;
  const filters = readFilters(call, table);
  if (filters instanceof Refusal) return filters;
  const ids = store.orderedIds(table, sort, filters).slice(skip, skip + top);
  const agesByItself = filters.some(({ key }) => key === null);
  return { ...rowsAnswer(call, table, columns, ids), agesByItself };
}

/** Retrieve. */
export function retrieve(call: Call, table: Table): Answer | Refusal {
  const { role, pairs, store } = call;
  const columns = readColumns(table, role, pairs);
  if (columns instanceof Refusal) return columns;
  const keys = valuesOf(pairs, 'key');
  const ids = valuesOf(pairs, 'id');
  if (keys.length > 0 && ids.length > 0) return badParameter('id', 'Keys and ids cannot be mixed');
  if (keys.length === 0 && ids.length === 0) return badParameter('key', 'A key or an id is required');
  if (keys.length > KEYS_MAX || ids.length > KEYS_MAX) {
    return badParameter(ids.length > 0 ? 'id' : 'key', `At most ${KEYS_MAX} records can be requested at once`);
  }
  if (ids.some((id) => !/^\d{1,15}$/.test(id))) return badParameter('id', 'An id must be a whole number');
  const found = ids.length > 0 ? ids.map(Number) : store.idsFromKeys(table, keys);
  return rowsAnswer(call, table, columns, [...new Set(found)]);
}

function rowsAnswer(call: Call, table: Table, columns: readonly Column[], ids: readonly number[]): Answer {
  const allow = call.role.canWrite ? 'Edit,Delete' : '';
  const rows = call.store.readRows(table, columns, ids, allow);
  const shapes = columns.map(({ name, valueType }) => ({ name, type: valueType }));
  return { text: call.format.rowsWriter(shapes, call.user.timezone)(rows), tableIds: tablesBehind(table) };
}
