/**
 * Select and Retrieve: rows of a table or a view by page, rows by key or by id. Reads the store, writes nothing. Source: specification,
 * sections 4.4 and 4.5.
 */
import { aggregate, asksForAggregates } from './aggregate.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { readFilters } from './filter.ts';
import { readColumns, readPage, readRecords, readSort } from './parameters.ts';
import { MethodRefusal } from './refusal.ts';
import { pageAnswer, rowsAnswer } from './rows-answer.ts';
import type { Table } from '../store/catalog.ts';
import { selectView } from './view.ts';

/** Select on a table, or on the view that the path names. */
export function select(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const { role, pairs, route } = call;
  if (route.innerNames !== null) return selectView(call, table, route.innerNames);
  if (asksForAggregates(table, pairs)) return selectGroups(call, table);
  const columns = readColumns(table, role, pairs);
  if (columns instanceof MethodRefusal) return columns;
  const sort = readSort(table, role, pairs);
  if (sort instanceof MethodRefusal) return sort;
  const page = readPage(pairs);
  if (page instanceof MethodRefusal) return page;
  const filters = readFilters(call, table);
  if (filters instanceof MethodRefusal) return filters;
  return pageAnswer(call, table, { columns, sort, filters, page });
}

function selectGroups(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const page = readPage(call.pairs);
  if (page instanceof MethodRefusal) return page;
  const filters = readFilters(call, table);
  return filters instanceof MethodRefusal ? filters : aggregate(call, table, { page, filters });
}

/** Retrieve. */
export function retrieve(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const { role, pairs, store } = call;
  const columns = readColumns(table, role, pairs);
  if (columns instanceof MethodRefusal) return columns;
  const records = readRecords(pairs);
  if (records instanceof MethodRefusal) return records;
  const found = records.by === 'id' ? records.ids : store.idsFromKeys(table, records.keys);
  return rowsAnswer(call, table, columns, [...new Set(found)]);
}
