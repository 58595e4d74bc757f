/**
 * The tables, columns, views, users and roles of a sandbox as they are in the bookkeeping tables. Read as a whole
 * into plain objects, and looked up by name or alias.
 */
import { must } from '../../base/assert.ts';
import { columnType, type ColumnType, type JsonObject, type Value } from '../../wire/schema.ts';
import { ident, type StoreConnection } from './file.ts';
import type { ColumnWords, TableWords, WorkflowRule } from './spec.ts';

/** How a computed column gets its value, by ids, so that renames do not matter. */
export type ComputedById =
  | {
      readonly how: 'lookup';
      readonly referenceId: number;
      readonly tableId: number;
      readonly columnId: number;
    }
  | {
      readonly how: 'count' | 'sum' | 'max';
      readonly tableId: number;
      readonly referenceId: number;
      readonly columnId: number | null;
    }
  | { readonly how: 'join'; readonly columnIds: readonly number[] };

/** One column. */
export interface StoreColumn {
  readonly id: number;
  readonly tableId: number;
  readonly name: string;
  readonly alias: string;
  /** As described; `valueType` decides how values are stored and written. */
  readonly type: string;
  readonly valueType: ColumnType;
  readonly kind: string;
  readonly readOnly: boolean;
  readonly options: readonly string[];
  readonly displayOptions: readonly string[];
  readonly width: number | null;
  readonly defaultValue: Value;
  readonly format: string;
  readonly computed: ComputedById | null;
  /** Name in the SQLite table; null for computed columns. */
  readonly sqlName: string | null;
  readonly described: ColumnWords | null;
}

/** One table. */
export interface Table {
  readonly id: number;
  readonly name: string;
  readonly plural: string;
  readonly alias: string;
  readonly color: string;
  readonly showTab: boolean;
  readonly allowAdd: boolean;
  readonly sqlName: string;
  readonly key: StoreColumn;
  readonly columns: readonly StoreColumn[];
  readonly views: readonly View[];
  readonly rules: readonly WorkflowRule[];
  readonly described: TableWords | null;
}

/** Which rows and columns a view shows, and how. Ids of columns that were dropped stay, and mean nothing. */
export interface ViewShown {
  /** Null shows the columns with the display option ShowInViews. */
  readonly columnIds: readonly number[] | null;
  readonly groups: readonly { readonly columnId: number; readonly suffix: string }[];
  readonly sort: readonly { readonly columnId: number; readonly descending: boolean }[];
  readonly filter: string | null;
}

/** One view. */
export interface View extends ViewShown {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly alias: string;
  readonly showInMenu: boolean;
  readonly actions: readonly string[];
  /** Names of the roles that see it; null for all. */
  readonly roles: readonly string[] | null;
  readonly described: JsonObject | null;
}

/** A user who may sign in. */
export interface User {
  readonly id: number;
  readonly email: string;
  readonly password: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: string;
  readonly culture: string;
  readonly timezone: string;
  readonly admin: readonly string[];
}

/** What a role may do. */
export interface Role {
  readonly name: string;
  readonly canWrite: boolean;
  /** Rows of other owners can be read only. */
  readonly editOwnOnly: boolean;
  readonly hiddenTableIds: readonly number[];
  readonly hiddenColumnIds: readonly number[];
}

/** Everything that is described, at one moment. */
export interface Catalog {
  readonly database: {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly culture: string;
    readonly timeZone: string;
    readonly source: string;
    readonly other: JsonObject;
  };
  readonly tables: readonly Table[];
  readonly users: readonly User[];
  readonly roles: readonly Role[];
}

type SqlRow = Readonly<Record<string, unknown>>;

const text = (row: SqlRow, column: string): string => String(row[column]);
const json = (row: SqlRow, column: string): unknown => (row[column] === null ? null : JSON.parse(text(row, column)));
const list = (row: SqlRow, column: string): readonly string[] => JSON.parse(text(row, column)) as string[];

/** Reads the catalog; the database's row must exist. */
export function readCatalog(connection: StoreConnection): Catalog {
  const rowsOf = (sql: string): readonly SqlRow[] => connection.prepare<[], SqlRow>(sql).all();
  const database = must(
    rowsOf('SELECT id, name, description, culture, time_zone, source, other FROM _sandbox_database')[0],
    'the store has a database row',
  );
  const columns = rowsOf(
    `SELECT id, table_id, name, alias, type, kind, read_only, options, display_options, width, default_value, format,
            computed, sql_name, described
     FROM _sandbox_columns ORDER BY rowid`,
  ).map(columnFromRow);
  const views = rowsOf(
    'SELECT id, table_id, name, alias, type, show_in_menu, actions, shown, roles, described FROM _sandbox_views ORDER BY rowid',
  );
  const tables = rowsOf(
    `SELECT id, name, plural, alias, color, show_tab, allow_add, key_id, sql_name, rules, described
     FROM _sandbox_tables ORDER BY rowid`,
  );
  return {
    database: {
      id: text(database, 'id'),
      name: text(database, 'name'),
      description: text(database, 'description'),
      culture: text(database, 'culture'),
      timeZone: text(database, 'time_zone'),
      source: text(database, 'source'),
      other: json(database, 'other') as JsonObject,
    },
    tables: tables.map((table) => tableFromRow(table, columns, views)),
    users: rowsOf(
      'SELECT id, email, password, first_name, last_name, role, culture, timezone, admin FROM _sandbox_users ORDER BY id',
    ).map(userFromRow),
    roles: rowsOf('SELECT name, rights FROM _sandbox_roles ORDER BY name').map((role) => ({
      ...(JSON.parse(text(role, 'rights')) as Omit<Role, 'name'>),
      name: text(role, 'name'),
    })),
  };
}

function columnFromRow(row: SqlRow): StoreColumn {
  const type = text(row, 'type');
  return {
    id: Number(row['id']),
    tableId: Number(row['table_id']),
    name: text(row, 'name'),
    alias: text(row, 'alias'),
    type,
    valueType: columnType(type),
    kind: text(row, 'kind'),
    readOnly: row['read_only'] === 1,
    options: list(row, 'options'),
    displayOptions: list(row, 'display_options'),
    width: row['width'] === null ? null : Number(row['width']),
    defaultValue: JSON.parse(text(row, 'default_value')) as Value,
    format: text(row, 'format'),
    computed: row['computed'] === null ? null : (JSON.parse(text(row, 'computed')) as ComputedById),
    sqlName: row['sql_name'] === null ? null : text(row, 'sql_name'),
    described: json(row, 'described') as ColumnWords | null,
  };
}

function tableFromRow(row: SqlRow, allColumns: readonly StoreColumn[], views: readonly SqlRow[]): Table {
  const id = Number(row['id']);
  const columns = allColumns.filter((column) => column.tableId === id);
  return {
    id,
    name: text(row, 'name'),
    plural: text(row, 'plural'),
    alias: text(row, 'alias'),
    color: text(row, 'color'),
    showTab: row['show_tab'] === 1,
    allowAdd: row['allow_add'] === 1,
    sqlName: text(row, 'sql_name'),
    key: must(
      columns.find((column) => column.id === row['key_id']),
      'a table has a key column',
    ),
    columns,
    views: views.filter((view) => view['table_id'] === id).map(viewFromRow),
    rules: JSON.parse(text(row, 'rules')) as readonly WorkflowRule[],
    described: json(row, 'described') as TableWords | null,
  };
}

function viewFromRow(row: SqlRow): View {
  return {
    ...(JSON.parse(text(row, 'shown')) as ViewShown),
    id: Number(row['id']),
    type: text(row, 'type'),
    name: text(row, 'name'),
    alias: text(row, 'alias'),
    showInMenu: row['show_in_menu'] === 1,
    actions: list(row, 'actions'),
    roles: row['roles'] === null ? null : list(row, 'roles'),
    described: json(row, 'described') as JsonObject | null,
  };
}

function userFromRow(row: SqlRow): User {
  return {
    id: Number(row['id']),
    email: text(row, 'email'),
    password: text(row, 'password'),
    firstName: text(row, 'first_name'),
    lastName: text(row, 'last_name'),
    role: text(row, 'role'),
    culture: text(row, 'culture'),
    timezone: text(row, 'timezone'),
    admin: list(row, 'admin'),
  };
}

/** Finds a table or column by name or alias: the exact name first, then the alias, then the name in any case. */
export function findByName<T extends { readonly name: string; readonly alias: string }>(
  items: readonly T[],
  name: string,
): T | undefined {
  const lower = name.toLowerCase();
  return (
    items.find((item) => item.name === name) ??
    items.find((item) => item.alias.toLowerCase() === lower) ??
    items.find((item) => item.name.toLowerCase() === lower)
  );
}

/** `First Last <email>`, as User columns hold it. */
export function userText({ firstName, lastName, email }: Pick<User, 'firstName' | 'lastName' | 'email'>): string {
  return `${firstName} ${lastName} <${email}>`;
}

/** Ids of the tables whose rows decide what the rows of `table` look like; itself first. */
export function tablesBehind(table: Table): readonly number[] {
  const ids = new Set([table.id]);
  for (const { computed } of table.columns) if (computed !== null && computed.how !== 'join') ids.add(computed.tableId);
  return [...ids];
}

/** The SQL expression for a column's value in a statement that reads its table as `t`. */
export function columnSql(catalog: Catalog, column: StoreColumn): string {
  if (column.sqlName !== null) return `t.${ident(column.sqlName)}`;
  const computed = must(column.computed, 'a column is stored or computed');
  const table = must(findById(catalog.tables, column.tableId), 'a column has a table');
  if (computed.how === 'join') {
    const parts = computed.columnIds.map((id) => `nullif(t.${storedName(table, id)}, '')`);
    return `nullif(concat_ws(' ', ${parts.join(', ')}), '')`;
  }
  const other = must(findById(catalog.tables, computed.tableId), 'a computed column refers to a table');
  const from = `FROM ${ident(other.sqlName)} o`;
  if (computed.how === 'lookup') {
    const key = ident(must(other.key.sqlName, 'a key is stored'));
    const reference = `t.${storedName(table, computed.referenceId)}`;
    return `(SELECT o.${storedName(other, computed.columnId)} ${from} WHERE o.${key} = ${reference})`;
  }
  const where = `WHERE o.${storedName(other, computed.referenceId)} = t.${ident(must(table.key.sqlName, 'a key is stored'))}`;
  if (computed.columnId === null) return `(SELECT count(*) ${from} ${where})`;
  const name = `o.${storedName(other, computed.columnId)}`;
  if (computed.how === 'max' && findById(other.columns, computed.columnId)?.valueType === 'Timestamp') {
    // Instants compare without their Z, before which a fraction of a second would come.
    return `(SELECT max(rtrim(${name}, 'Z')) || 'Z' ${from} ${where})`;
  }
  const value = `${computed.how}(${name})`;
  return `(SELECT ${computed.how === 'sum' ? `coalesce(${value}, 0)` : value} ${from} ${where})`;
}

function storedName(table: Table, columnId: number): string {
  const column = must(findById(table.columns, columnId), 'a computed column refers to a column');
  return ident(must(column.sqlName, 'a computed column refers to a stored one'));
}

function findById<T extends { readonly id: number }>(items: readonly T[], id: number): T | undefined {
  return items.find((item) => item.id === id);
}
