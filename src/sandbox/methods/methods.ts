/**
 * Which function answers which method: from a routed, authorized request to an answer or a refusal. The table that the
 * path names is found here, for those that the role may see. Describe, User, Select and Retrieve, which only read, are
 * here too (specification 4.1 to 4.5).
 */
import { attachment, attachments } from './attachments.ts';
import type { MethodAnswer, MethodCall, RequestBody } from './call.ts';
import { deleted, updated } from './changes.ts';
import { deleteRecords, write } from './write.ts';
import { visibleTables, visibleColumns, readColumns, readPage, readRecords, readSort } from './parameters.ts';
import { badParameter, noTable, MethodRefusal } from './refusal.ts';
import type { Method, Route } from './route.ts';
import type { ServerRules } from './rules.ts';
import { findByName, type Role, type Table, type User, type StoreColumn } from '../store/catalog.ts';
import type { Store } from '../store/store.ts';
import { isWritable, type ColumnDescriptor, type TableDescriptor, type TableSummary } from '../../wire/schema.ts';
import { describeViews, selectView } from './view.ts';
import { aggregate, asksForAggregates } from './aggregate.ts';
import { readFilters } from './filter.ts';
import { pageAnswer, rowsAnswer } from './rows-answer.ts';
import { pairsFromQuery } from '../wire/query.ts';

const DATABASE_METHODS: Readonly<Partial<Record<Method, (call: MethodCall) => MethodAnswer | MethodRefusal>>> = {
  describe: describeDatabase,
  user: describeUser,
};

const TABLE_METHODS: Readonly<
  Partial<Record<Method, (call: MethodCall, table: Table) => MethodAnswer | MethodRefusal>>
> = {
  describe: describeTable,
  select,
  retrieve,
  updated,
  deleted,
  create: write,
  update: write,
  upsert: write,
  delete: deleteRecords,
  attachments,
  attachment,
};

/** What follows a route: who calls, when, with what. */
export interface MethodRequest {
  readonly store: Store;
  readonly user: User;
  readonly rules: ServerRules;
  /** As sent, without the question mark. */
  readonly query: string;
  readonly nowMs: number;
  readonly body: RequestBody | null;
}

/** Runs a method for a user. */
export function answer(route: Route, request: MethodRequest): MethodAnswer | MethodRefusal {
  const { query, ...rest } = request;
  const { store, user } = request;
  const pairs = pairsFromQuery(query);
  if (pairs === undefined) return badParameter('query', 'The query string is not valid percent-encoded UTF-8');
  const call: MethodCall = { ...rest, role: roleOf(store, user), format: route.format, route, pairs };
  if (route.tableNames === null) return DATABASE_METHODS[route.method]?.(call) ?? noTable('');
  const table = findTable(call, route.tableNames);
  if (table === undefined) return noTable(route.tableNames[0] ?? '');
  return TABLE_METHODS[route.method]?.(call, table) ?? noTable('');
}

/** The role of a user; an undefined role may do everything. */
function roleOf(store: Store, user: User): Role {
  const known = store.catalog.roles.find(({ name }) => name === user.role);
  return known ?? { name: user.role, canWrite: true, editOwnOnly: false, hiddenTableIds: [], hiddenColumnIds: [] };
}

function findTable({ store, role }: MethodCall, names: readonly string[]): Table | undefined {
  const tables = visibleTables(store.catalog, role);
  for (const name of names) {
    const table = findByName(tables, name);
    if (table !== undefined) return table;
  }
  return undefined;
}

/** Describe (Database). */
function describeDatabase({ store, role, format }: MethodCall): MethodAnswer {
  const { id, name, description, culture, timeZone, other } = store.catalog.database;
  const tables = visibleTables(store.catalog, role).map(summary);
  const text = (): string => format.writeDatabase({ id, name, description, culture, timeZone, tables, other });
  return { kind: 'page', text, tableIds: [] };
}

/** User. */
function describeUser({ user, format }: MethodCall): MethodAnswer {
  const { id, email, firstName, lastName, role, culture, timezone, admin } = user;
  const described = { id, email, firstName, lastName, role, culture, timezone, admin, other: {} };
  return { kind: 'page', text: () => format.writeUser(described), tableIds: [] };
}

/** Describe (Table). */
function describeTable({ role, format, rules }: MethodCall, table: Table): MethodAnswer {
  const descriptor: TableDescriptor = {
    ...summary(table),
    other: table.described?.other ?? {},
    allowAdd: table.allowAdd && role.canWrite,
    key: table.key.name,
    columns: visibleColumns(table, role).map((column) => describeColumn(column, role, rules)),
    views: describeViews(table, role),
  };
  return { kind: 'page', text: () => format.writeTable(descriptor), tableIds: [] };
}

function summary(table: Table): TableSummary {
  const { id, name, plural, alias, showTab, color, described } = table;
  return { id, recordName: name, recordsName: plural, alias, showTab, color, other: described?.inDatabase ?? {} };
}

/** Where the length of a value is not bounded, its width is 0. What another database says of a column is repeated. */
function describeColumn(column: StoreColumn, role: Role, { widthsOfTextOnly }: ServerRules): ColumnDescriptor {
  const { id, name, alias, type, options, displayOptions, kind, described } = column;
  const width = column.width ?? (widthsOfTextOnly ? null : 0);
  const readOnly = column.readOnly || !role.canWrite || !isWritable({ kind, readOnly: null });
  return {
    id,
    name,
    alias,
    type,
    dataOptions: options,
    displayOptions,
    width,
    kind,
    readOnly,
    other: {},
    ...described,
  };
}

/** Select on a table, or on the view that the path names. */
function select(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
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
function retrieve(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const { role, pairs, store } = call;
  const columns = readColumns(table, role, pairs);
  if (columns instanceof MethodRefusal) return columns;
  const records = readRecords(pairs);
  if (records instanceof MethodRefusal) return records;
  const found = records.by === 'id' ? records.ids : store.idsFromKeys(table, records.keys);
  return rowsAnswer(call, table, columns, [...new Set(found)]);
}
