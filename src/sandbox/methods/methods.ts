/**
 * Which function answers which method: from a routed, authorized request to an answer or a refusal. The methods themselves
 * are in files of their own; here the table that the path names is found, for those that the role may see.
 */
import { pairsFromQuery } from '../../wire/query.ts';
import { attachment, attachments } from './attachments.ts';
import type { MethodAnswer, MethodCall, RequestBody } from './call.ts';
import { deleted, updated } from './changes.ts';
import { deleteRecords, write } from './write.ts';
import { describeDatabase, describeTable, describeUser } from './describe.ts';
import { visibleTables } from './parameters.ts';
import { badParameter, noTable, type MethodRefusal } from './refusal.ts';
import type { Method, Route } from './route.ts';
import type { ServerRules } from './rules.ts';
import { retrieve, select } from './select.ts';
import { findByName, type Role, type Table, type User } from '../store/catalog.ts';
import type { Store } from '../store/store.ts';

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
