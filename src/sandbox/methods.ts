/**
 * The methods of the API, one function each: from a routed, authorized request to the text of its answer or a refusal.
 * Input: query pairs and the caller. Output: text, and which tables it was read from, so that the server knows how long
 * it stays true. Reads the store, writes nothing. Source: specification, sections 4.1 to 4.5.
 */
import { KEYS_MAX, pairsFromQuery, sortKeyFromText, TOP_MAX } from '../wire/query.ts';
import { isWritable, type ColumnDescriptor, type TableDescriptor, type TableSummary } from '../wire/schema.ts';
import { badParameter, CODES, hiddenColumn, noColumn, noTable, Refusal } from './refusal.ts';
import type { Renderer } from './render.ts';
import type { Method, Route } from './route.ts';
import { findByName, tablesBehind, type Column, type Role, type Table, type User } from './store/catalog.ts';
import type { ColumnOrder } from './store/rows.ts';
import type { Store } from './store/store.ts';

/** Everything a method needs. */
export interface Call {
  readonly store: Store;
  readonly user: User;
  readonly role: Role;
  readonly renderer: Renderer;
  /** As sent, without the question mark. */
  readonly query: string;
}

/** The text of an answer with status 200. */
export interface Answer {
  readonly text: string;
  /** Tables whose rows decide the text; the schema, users and rights always do. */
  readonly tableIds: readonly number[];
}

type Pairs = readonly (readonly [string, string])[];

const HANDLERS: Readonly<Record<Method, (call: Call, table: Table | null, pairs: Pairs) => Answer | Refusal>> = {
  describe: (call, table) => (table === null ? describeDatabase(call) : describeTable(call, table)),
  user: describeUser,
  select: (call, table, pairs) => (table === null ? noTable('') : select(call, table, pairs)),
  retrieve: (call, table, pairs) => (table === null ? noTable('') : retrieve(call, table, pairs)),
};

/** The role of a user; one that nobody defined may do everything. */
export function roleOf(store: Store, user: User): Role {
  const known = store.catalog.roles.find(({ name }) => name === user.role);
  return known ?? { name: user.role, canWrite: true, hiddenTableIds: [], hiddenColumnIds: [] };
}

/** Runs a method. */
export function answer(route: Route, call: Call): Answer | Refusal {
  const pairs = pairsFromQuery(call.query);
  if (pairs === undefined) return badParameter('query', 'The query string is not valid percent-encoded UTF-8');
  if (route.tableNames === null) return HANDLERS[route.method](call, null, pairs);
  const table = findTable(call, route.tableNames);
  if (table === undefined) return noTable(route.tableNames[0] ?? '');
  return HANDLERS[route.method](call, table, pairs);
}

function visibleTables({ store, role }: Call): readonly Table[] {
  return store.catalog.tables.filter(({ id }) => !role.hiddenTableIds.includes(id));
}

function findTable(call: Call, names: readonly string[]): Table | undefined {
  const tables = visibleTables(call);
  for (const name of names) {
    const table = findByName(tables, name);
    if (table !== undefined) return table;
  }
  return undefined;
}

function summary(table: Table): TableSummary {
  const { id, name, plural, alias, showTab, color } = table;
  return { id, recordName: name, recordsName: plural, alias, showTab, color, other: {} };
}

function describeDatabase(call: Call): Answer {
  const { id, name, description, culture, timeZone } = call.store.catalog.database;
  const tables = visibleTables(call).map(summary);
  const text = call.renderer.database({ id, name, description, culture, timeZone, tables, other: {} });
  return { text, tableIds: [] };
}

function describeUser({ user, renderer }: Call): Answer {
  const { id, email, firstName, lastName, role, culture, timezone, admin } = user;
  const text = renderer.user({ id, email, firstName, lastName, role, culture, timezone, admin, other: {} });
  return { text, tableIds: [] };
}

function describeTable({ role, renderer }: Call, table: Table): Answer {
  const descriptor: TableDescriptor = {
    ...summary(table),
    allowAdd: table.allowAdd && role.canWrite,
    key: table.key.name,
    columns: visibleColumns(table, role).map((column) => describeColumn(column, role)),
    views: table.views,
  };
  return { text: renderer.table(descriptor), tableIds: [] };
}

function describeColumn(column: Column, role: Role): ColumnDescriptor {
  const { id, name, alias, type, options, displayOptions, width, kind } = column;
  const readOnly = column.readOnly || !role.canWrite || !isWritable({ kind, readOnly: null });
  return { id, name, alias, type, dataOptions: options, displayOptions, width, kind, readOnly, other: {} };
}

function visibleColumns(table: Table, role: Role): readonly Column[] {
  return table.columns.filter(({ id }) => !role.hiddenColumnIds.includes(id));
}

function valuesOf(pairs: Pairs, parameter: string): readonly string[] {
  return pairs.filter(([name]) => name === parameter).map(([, value]) => value);
}

function findColumn(table: Table, role: Role, name: string): Column | Refusal {
  const column = findByName(table.columns, name);
  if (column === undefined) return noColumn(name);
  return role.hiddenColumnIds.includes(column.id) ? hiddenColumn(name) : column;
}

/** The columns to return; `*` stands for those that can be written by somebody. Each comes once, at its first mention. */
function readColumns(table: Table, role: Role, pairs: Pairs): readonly Column[] | Refusal {
  const names = valuesOf(pairs, 'column');
  const columns = new Set<Column>();
  for (const name of names.length === 0 ? ['*'] : names) {
    if (name === '*') {
      for (const column of visibleColumns(table, role)) {
        // The role's own rights do not matter here: a reader sees the same columns as a writer.
        if (isWritable({ kind: column.kind, readOnly: null })) columns.add(column);
      }
      continue;
    }
    const column = findColumn(table, role, name);
    if (column instanceof Refusal) return column;
    columns.add(column);
  }
  return [...columns];
}

function readSort(table: Table, role: Role, pairs: Pairs): readonly ColumnOrder[] | Refusal {
  const sort: ColumnOrder[] = [];
  for (const value of valuesOf(pairs, 'sort')) {
    const { column: name, descending } = sortKeyFromText(value);
    const column = findColumn(table, role, name);
    if (column instanceof Refusal) return column;
    sort.push({ column, descending: descending === true });
  }
  return sort;
}

/** A whole number within bounds; the last one counts where a client repeats itself. */
function readInteger(
  pairs: Pairs,
  parameter: string,
  bounds: { readonly min: number; readonly max: number; readonly missing: number },
): number | Refusal {
  const value = valuesOf(pairs, parameter).at(-1);
  if (value === undefined) return bounds.missing;
  const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= bounds.min && number <= bounds.max) return number;
  const range = bounds.max === Number.MAX_SAFE_INTEGER ? `${bounds.min} or more` : `${bounds.min} to ${bounds.max}`;
  return badParameter(parameter, `The value of the parameter must be a whole number, ${range}`);
}

function select(call: Call, table: Table, pairs: Pairs): Answer | Refusal {
  const columns = readColumns(table, call.role, pairs);
  if (columns instanceof Refusal) return columns;
  const sort = readSort(table, call.role, pairs);
  if (sort instanceof Refusal) return sort;
  const top = readInteger(pairs, 'top', { min: 1, max: TOP_MAX, missing: TOP_MAX });
  if (top instanceof Refusal) return top;
  const skip = readInteger(pairs, 'skip', { min: 0, max: Number.MAX_SAFE_INTEGER, missing: 0 });
  if (skip instanceof Refusal) return skip;
  if (valuesOf(pairs, 'filter').length > 0) {
    // Rows that the filter should have kept out would be worse than no rows.
    const message = 'This sandbox does not evaluate filter formulas';
    return new Refusal(400, { code: CODES.unsupported, message, source: 'filter' });
  }
  return rowsAnswer(call, table, columns, call.store.orderedIds(table, sort).slice(skip, skip + top));
}

function retrieve(call: Call, table: Table, pairs: Pairs): Answer | Refusal {
  const columns = readColumns(table, call.role, pairs);
  if (columns instanceof Refusal) return columns;
  const keys = valuesOf(pairs, 'key');
  const ids = valuesOf(pairs, 'id');
  if (keys.length > 0 && ids.length > 0) return badParameter('id', 'Keys and ids cannot be mixed');
  if (keys.length === 0 && ids.length === 0) return badParameter('key', 'A key or an id is required');
  if (keys.length > KEYS_MAX || ids.length > KEYS_MAX) {
    return badParameter(ids.length > 0 ? 'id' : 'key', `At most ${KEYS_MAX} records can be requested at once`);
  }
  if (ids.some((id) => !/^\d{1,15}$/.test(id))) return badParameter('id', 'An id must be a whole number');
  const found = ids.length > 0 ? ids.map(Number) : call.store.idsFromKeys(table, keys);
  return rowsAnswer(call, table, columns, [...new Set(found)]);
}

function rowsAnswer(call: Call, table: Table, columns: readonly Column[], ids: readonly number[]): Answer {
  const allow = call.role.canWrite ? 'Edit,Delete' : '';
  const rows = call.store.readRows(table, columns, ids, allow);
  const shapes = columns.map(({ name, valueType }) => ({ name, type: valueType }));
  return { text: call.renderer.rows(shapes, call.user.timezone, rows), tableIds: tablesBehind(table) };
}
