/**
 * Changes to what a sandbox's database consists of: tables and columns created, renamed, retyped, dropped.
 *
 * A table or column is in SQLite under its own name. Where SQLite cannot hold that name (reserved, empty, NUL, or
 * equal to another one but for case) it is under its alias, `t_N` or `f_N`.
 */
import { assert, must } from '../../base/assert.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import { numericFromText } from '../../wire/decimal.ts';
import { columnType, hasOption, type ColumnType, type Value } from '../../wire/schema.ts';
import {
  findByName,
  type Catalog,
  type StoreColumn,
  type ComputedById,
  type Table,
  type ViewShown,
} from './catalog.ts';
import { sqlFromValue, textFromValue, valueFromSql, type SqlValue } from './cells.ts';
import { ident, type StoreConnection } from './file.ts';
import type { ColumnSpec, Computed, TableSpec, ViewSpec } from './spec.ts';
import { sortKeyFromText } from '../wire/query.ts';

/** Kinds of computed columns; like all kinds but Updatable, Key and RecordOwner they are read-only. */
const KIND_BY_HOW = { lookup: 'Lookup', count: 'Summary', sum: 'Summary', max: 'Summary', join: 'Formula' } as const;

const SYSTEM_COLUMNS: readonly ColumnSpec[] = [
  { name: 'Record Owner', type: 'User', kind: 'RecordOwner' },
  { name: 'Created By', type: 'User', kind: 'CreatedBy', displayOptions: [] },
  { name: 'Date Created', type: 'Timestamp', kind: 'DateCreated', displayOptions: [] },
  { name: 'Last Modified By', type: 'User', kind: 'LastModifiedBy', displayOptions: [] },
  { name: 'Date Modified', type: 'Timestamp', kind: 'DateModified', displayOptions: [] },
];

/** The color of tables that name none, as in the documented samples. */
const COLOR = '#0061B0';

/** Creates a table with its columns and views, the one of all rows first; rows come later. */
export function createTable(connection: StoreConnection, catalog: Catalog, spec: TableSpec): void {
  const id = takeId(connection, 'next_table_id', spec.described?.id);
  const alias = spec.described?.alias ?? `t_${id}`;
  const sqlName = sqlNameFor(spec.name, alias, sqlTableNames(connection));
  const taken: string[] = [];
  const planned = allColumns(spec).map((column) => {
    const made = planColumn(connection, column, taken);
    if (made.sqlName !== null) taken.push(made.sqlName);
    return made;
  });
  // Only rows of another database say these; without them, a table has room for as many columns as SQLite takes.
  const ownFacts = spec.described === undefined ? [] : ['_sandbox_allow TEXT', '_sandbox_color TEXT'];
  const definitions = [
    '_sandbox_row INTEGER PRIMARY KEY AUTOINCREMENT',
    '_sandbox_created_ms INTEGER NOT NULL',
    '_sandbox_modified_ms INTEGER NOT NULL',
    ...ownFacts,
    ...planned.flatMap(definitionOf),
  ];
  connection.exec(`CREATE TABLE ${ident(sqlName)} (${definitions.join(', ')}) STRICT`);
  const keyName = spec.key ?? must(planned[0], 'a table without a key gets one').spec.name;
  connection
    .prepare(
      `INSERT INTO _sandbox_tables (id, name, plural, alias, color, show_tab, allow_add, key_id, sql_name, rules,
         described)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
    )
    .run(
      id,
      spec.name,
      spec.plural ?? `${spec.name}s`,
      alias,
      spec.color ?? COLOR,
      (spec.showTab ?? true) ? 1 : 0,
      (spec.allowAdd ?? true) ? 1 : 0,
      sqlName,
      JSON.stringify(spec.rules ?? []),
      spec.described === undefined ? null : JSON.stringify(spec.described.words),
    );
  const table = { tableId: id, sqlTable: sqlName };
  for (const column of planned) {
    const isKey = column.spec.name === keyName;
    const isNewKey = isKey && column.spec.described === undefined;
    recordColumn(connection, catalog, table, isNewKey ? { ...column, spec: { ...column.spec, kind: 'Key' } } : column);
    if (isKey) connection.prepare('UPDATE _sandbox_tables SET key_id = ? WHERE id = ?').run(column.id, id);
  }
  const automatic: readonly ViewSpec[] =
    spec.described === undefined ? [{ name: `List All ${spec.plural ?? `${spec.name}s`}` }] : [];
  for (const view of [...automatic, ...(spec.views ?? [])]) {
    const place = {
      id: takeId(connection, 'next_view_id', view.described?.id),
      tableId: id,
      columns: columnsNow(connection, id),
    };
    insertView(connection, place, view);
  }
}

/** The key in front unless it is among the columns, the system columns behind; added names never repeat a given one. */
function allColumns(spec: TableSpec): readonly ColumnSpec[] {
  const taken = new Set(spec.columns.map(({ name }) => name.toLowerCase()));
  const renamed = (column: ColumnSpec): ColumnSpec =>
    taken.has(column.name.toLowerCase()) ? { ...column, name: `${column.name} (2)` } : column;
  const key: ColumnSpec = { name: 'Id', type: 'Autonumber', options: ['Unique', 'Required'] };
  assert(
    spec.key === undefined || spec.columns.some(({ name }) => name === spec.key),
    `the key of the sandbox's table "${spec.name}" is one of its columns`,
  );
  return [
    ...(spec.key === undefined ? [renamed(key)] : []),
    ...spec.columns,
    ...((spec.systemColumns ?? true) ? SYSTEM_COLUMNS.map(renamed) : []),
  ];
}

/** The table of a column. */
interface ColumnPlace {
  readonly tableId: number;
  readonly sqlTable: string;
}

/** A column that has its names, and may not be in SQLite yet. */
interface PlannedColumn {
  readonly spec: ColumnSpec;
  readonly id: number;
  readonly alias: string;
  readonly valueType: ColumnType;
  /** Null for a computed column. */
  readonly sqlName: string | null;
}

function planColumn(connection: StoreConnection, spec: ColumnSpec, taken: readonly string[]): PlannedColumn {
  const id = takeId(connection, 'next_column_id', spec.described?.id);
  const alias = spec.described?.alias ?? `f_${id}`;
  const valueType = columnType(spec.type);
  const sqlName = spec.computed === undefined ? sqlNameFor(spec.name, alias, taken) : null;
  return { spec, id, alias, valueType, sqlName };
}

function definitionOf({ sqlName, valueType }: PlannedColumn): readonly string[] {
  return sqlName === null ? [] : [`${ident(sqlName)} ${TYPE_RULES[valueType].storedAs}`];
}

/** Creates a column at the end of a table; existing rows get its default. */
export function createColumn(
  connection: StoreConnection,
  catalog: Catalog,
  place: ColumnPlace,
  spec: ColumnSpec,
): void {
  const table = ident(place.sqlTable);
  const column = planColumn(connection, spec, sqlColumnNames(connection, place.sqlTable));
  const { sqlName, valueType } = column;
  for (const definition of definitionOf(column)) connection.exec(`ALTER TABLE ${table} ADD COLUMN ${definition}`);
  const first = sqlFromValue({ name: spec.name, valueType }, spec.defaultValue ?? null);
  if (sqlName !== null && first !== null) connection.prepare(`UPDATE ${table} SET ${ident(sqlName)} = ?`).run(first);
  recordColumn(connection, catalog, place, column);
}

/** Writes down what a column is that SQLite has. */
function recordColumn(
  connection: StoreConnection,
  catalog: Catalog,
  place: ColumnPlace,
  { spec, id, alias, valueType, sqlName }: PlannedColumn,
): void {
  const kind = spec.kind ?? (spec.computed === undefined ? 'Updatable' : KIND_BY_HOW[spec.computed.how]);
  assert(spec.computed?.how !== 'join' || TYPE_RULES[valueType].storedAs === 'TEXT', 'joined texts make a text column');
  if (sqlName !== null) {
    // Also carries the promise that keys are unique.
    if (kind === 'Key' && spec.described === undefined)
      createIndex(connection, 'UNIQUE INDEX', { id, sqlName, sqlTable: place.sqlTable });
    // Writes look for the same value in other rows. Rows that code inserts may repeat it anyway.
    else if (kind === 'Key' || hasOption(spec.options ?? [], 'Unique')) {
      createIndex(connection, 'INDEX', { id, sqlName, sqlTable: place.sqlTable });
    }
  }
  const computed = spec.computed === undefined ? null : computedById(connection, catalog, place.tableId, spec.computed);
  connection
    .prepare(
      `INSERT INTO _sandbox_columns (id, table_id, name, alias, type, kind, read_only, options, display_options, width,
         default_value, format, next_number, computed, sql_name, described)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
    )
    .run(
      id,
      place.tableId,
      spec.name,
      alias,
      spec.type,
      kind,
      spec.readOnly === true ? 1 : 0,
      JSON.stringify(spec.options ?? []),
      JSON.stringify(spec.displayOptions ?? ['ShowInViews']),
      spec.width ?? (valueType === 'Text' && spec.described === undefined ? 255 : null),
      JSON.stringify(defaultToKeep(spec.defaultValue ?? null)),
      spec.format ?? '{0}',
      computed === null ? null : JSON.stringify(computed),
      sqlName,
      spec.described === undefined ? null : JSON.stringify(spec.described.words),
    );
}

/** JSON cannot carry a bigint; a number, or else the exact text, means the same to a Numeric column. */
function defaultToKeep(value: Value): Value {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function createIndex(
  connection: StoreConnection,
  index: 'INDEX' | 'UNIQUE INDEX',
  column: { readonly id: number; readonly sqlName: string; readonly sqlTable: string },
): void {
  connection.exec(
    `CREATE ${index} IF NOT EXISTS _sandbox_index_${column.id} ON ${ident(column.sqlTable)} (${ident(column.sqlName)})`,
  );
}

/** A column that is still being described: its names may belong to the table that is created right now. */
interface Names {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
  readonly sqlName: string | null;
}

function columnsNow(connection: StoreConnection, tableId: number): readonly Names[] {
  return connection
    .prepare<[number], Names>(
      'SELECT id, name, alias, sql_name AS sqlName FROM _sandbox_columns WHERE table_id = ? ORDER BY rowid',
    )
    .all(tableId);
}

function computedById(connection: StoreConnection, catalog: Catalog, ownId: number, computed: Computed): ComputedById {
  const idOf = (tableId: number, name: string): number =>
    must(findByName(columnsNow(connection, tableId), name), `a computed column refers to a column "${name}"`).id;
  if (computed.how === 'join') return { how: 'join', columnIds: computed.columns.map((name) => idOf(ownId, name)) };
  const other = must(findByName(catalog.tables, computed.table), `a computed column refers to "${computed.table}"`);
  if (computed.how === 'lookup') {
    const referenceId = idOf(ownId, computed.reference);
    return { how: 'lookup', referenceId, tableId: other.id, columnId: idOf(other.id, computed.column) };
  }
  const reference = must(findByName(other.columns, computed.reference), 'a summary refers to a column');
  const sqlName = must(reference.sqlName, 'a summary refers to a stored column');
  createIndex(connection, 'INDEX', { id: reference.id, sqlName, sqlTable: other.sqlName });
  const columnId = computed.column === undefined ? null : idOf(other.id, computed.column);
  return { how: computed.how, tableId: other.id, referenceId: reference.id, columnId };
}

/** Drops a table with its rows, and every computed column elsewhere that looked at it. */
export function removeTable(connection: StoreConnection, catalog: Catalog, table: Table): void {
  for (const column of catalog.tables.flatMap(({ columns }) => columns)) {
    const { computed } = column;
    if (computed !== null && computed.how !== 'join' && computed.tableId === table.id) forgetColumn(connection, column);
  }
  connection.exec(`DROP TABLE ${ident(table.sqlName)}`);
  for (const bookkeeping of ['columns', 'views', 'files', 'deleted']) {
    connection.prepare(`DELETE FROM _sandbox_${bookkeeping} WHERE table_id = ?`).run(table.id);
  }
  connection.prepare('DELETE FROM _sandbox_tables WHERE id = ?').run(table.id);
}

/** Drops a column, and every computed column that looked at it. The key cannot go. */
export function removeColumn(connection: StoreConnection, catalog: Catalog, table: Table, column: StoreColumn): void {
  assert(column.id !== table.key.id, 'the key column stays');
  for (const other of catalog.tables.flatMap(({ columns }) => columns)) {
    if (looksAt(other.computed, column.id)) forgetColumn(connection, other);
  }
  if (column.sqlName !== null) {
    connection.exec(`DROP INDEX IF EXISTS _sandbox_index_${column.id}`);
    connection.exec(`ALTER TABLE ${ident(table.sqlName)} DROP COLUMN ${ident(column.sqlName)}`);
  }
  forgetColumn(connection, column);
}

function looksAt(computed: ComputedById | null, columnId: number): boolean {
  if (computed === null) return false;
  if (computed.how === 'join') return computed.columnIds.includes(columnId);
  return computed.referenceId === columnId || computed.columnId === columnId;
}

function forgetColumn(connection: StoreConnection, column: StoreColumn): void {
  connection.prepare('DELETE FROM _sandbox_files WHERE column_id = ?').run(column.id);
  connection.prepare('DELETE FROM _sandbox_columns WHERE id = ?').run(column.id);
}

/** Renames a table here and in SQLite; its id and alias stay. */
export function renameTableTo(connection: StoreConnection, table: Table, name: string): void {
  const others = sqlTableNames(connection).filter((taken) => taken !== table.sqlName);
  const sqlName = sqlNameFor(name, table.alias, others);
  if (sqlName !== table.sqlName) {
    // By way of a third name, since SQLite takes a change of case for a name that is taken.
    connection.exec(`ALTER TABLE ${ident(table.sqlName)} RENAME TO _sandbox_renamed`);
    connection.exec(`ALTER TABLE _sandbox_renamed RENAME TO ${ident(sqlName)}`);
  }
  connection.prepare('UPDATE _sandbox_tables SET name = ?, sql_name = ? WHERE id = ?').run(name, sqlName, table.id);
}

/** Renames a column here and in SQLite; its id and alias stay. */
export function renameColumnTo(connection: StoreConnection, table: Table, column: StoreColumn, name: string): void {
  let { sqlName } = column;
  if (sqlName !== null) {
    const others = sqlColumnNames(connection, table.sqlName).filter((taken) => taken !== sqlName);
    const next = sqlNameFor(name, column.alias, others);
    if (next !== sqlName) {
      connection.exec(`ALTER TABLE ${ident(table.sqlName)} RENAME COLUMN ${ident(sqlName)} TO ${ident(next)}`);
    }
    sqlName = next;
  }
  connection.prepare('UPDATE _sandbox_columns SET name = ?, sql_name = ? WHERE id = ?').run(name, sqlName, column.id);
}

/** Makes another column the key, which needs a different value in every row; the former key becomes ordinary. */
export function moveKey(connection: StoreConnection, table: Table, column: StoreColumn): void {
  assert(column.sqlName !== null, 'a key is stored');
  connection.exec(`DROP INDEX IF EXISTS _sandbox_index_${column.id}`);
  createIndex(connection, 'UNIQUE INDEX', { id: column.id, sqlName: column.sqlName, sqlTable: table.sqlName });
  const setKind = connection.prepare('UPDATE _sandbox_columns SET kind = ?, read_only = ? WHERE id = ?');
  setKind.run('Updatable', table.key.valueType === 'Autonumber' ? 1 : 0, table.key.id);
  setKind.run('Key', 0, column.id);
  connection.prepare('UPDATE _sandbox_tables SET key_id = ? WHERE id = ?').run(column.id, table.id);
}

/** What `retypeColumn` may change. */
export type ColumnChange = Partial<
  Pick<ColumnSpec, 'type' | 'kind' | 'options' | 'displayOptions' | 'width' | 'readOnly'> & Pick<StoreColumn, 'alias'>
>;

/** Changes how a column is described. With a new type, values are converted where they mean something, else emptied. */
export function retypeColumn(
  connection: StoreConnection,
  catalog: Catalog,
  { table, column }: { readonly table: Table; readonly column: StoreColumn },
  change: ColumnChange,
): void {
  connection
    .prepare(
      `UPDATE _sandbox_columns
       SET alias = ?, type = ?, kind = ?, read_only = ?, options = ?, display_options = ?, width = ?, described = NULL
       WHERE id = ?`,
    )
    .run(
      change.alias ?? column.alias,
      change.type ?? column.type,
      change.kind ?? column.kind,
      (change.readOnly ?? column.readOnly) ? 1 : 0,
      JSON.stringify(change.options ?? column.options),
      JSON.stringify(change.displayOptions ?? column.displayOptions),
      change.width ?? column.width,
      column.id,
    );
  const valueType = columnType(change.type ?? column.type);
  if (column.sqlName === null || valueType === column.valueType) return;
  assert(column.id !== table.key.id, 'the key column keeps its type');
  // What is computed has the type of what it is computed from; its values could not be sent under another one.
  const others = catalog.tables.flatMap(({ columns }) => columns);
  assert(!others.some(({ computed }) => looksAt(computed, column.id)), 'a column that others read keeps its type');
  // A default of the old type would fail every row that is created without a value.
  const defaultValue = convertValue(column.defaultValue, valueType);
  connection
    .prepare('UPDATE _sandbox_columns SET default_value = ? WHERE id = ?')
    .run(JSON.stringify(defaultToKeep(defaultValue)), column.id);
  convertColumn(connection, table, { ...column, sqlName: column.sqlName }, valueType);
}

function convertColumn(
  connection: StoreConnection,
  table: Table,
  column: StoreColumn & { readonly sqlName: string },
  valueType: ColumnType,
): void {
  const from = ident(column.sqlName);
  const into = ident(`_sandbox_new_${column.id}`);
  const name = ident(table.sqlName);
  const rows = connection
    .prepare<[], [bigint, SqlValue]>(`SELECT _sandbox_row, ${from} FROM ${name}`)
    .raw()
    .safeIntegers()
    .all();
  connection.exec(`ALTER TABLE ${name} ADD COLUMN ${into} ${TYPE_RULES[valueType].storedAs}`);
  const write = connection.prepare(`UPDATE ${name} SET ${into} = ? WHERE _sandbox_row = ?`);
  for (const [id, stored] of rows) {
    const value = convertValue(valueFromSql(column.valueType, stored), valueType);
    write.run(sqlFromValue({ name: column.name, valueType }, value), id);
  }
  connection.exec(`DROP INDEX IF EXISTS _sandbox_index_${column.id}`);
  connection.exec(`ALTER TABLE ${name} DROP COLUMN ${from}`);
  connection.exec(`ALTER TABLE ${name} RENAME COLUMN ${into} TO ${from}`);
}

function convertValue(value: Value, type: ColumnType): Value {
  const text = textFromValue(value);
  if (text === null) return null;
  switch (TYPE_RULES[type].form) {
    case 'number':
      return numericFromText(text) ?? null;
    case 'checkbox':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : null;
    case 'date':
    case 'time':
    case 'timestamp':
      return null;
    default:
      return text;
  }
}

/** The next id; or the one that is given, which none to come repeats. */
function takeId(
  connection: StoreConnection,
  counter: 'next_table_id' | 'next_column_id' | 'next_view_id',
  given?: number,
): number {
  if (given !== undefined) {
    connection.prepare(`UPDATE _sandbox_database SET ${counter} = max(${counter}, ? + 1)`).run(given);
    return given;
  }
  const id = connection
    .prepare<[], number>(`UPDATE _sandbox_database SET ${counter} = ${counter} + 1 RETURNING ${counter} - 1`)
    .pluck()
    .get();
  return must(id, 'the store has a database row');
}

function sqlTableNames(connection: StoreConnection): readonly string[] {
  return connection.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all();
}

function sqlColumnNames(connection: StoreConnection, sqlTable: string): readonly string[] {
  return connection.prepare<[string], string>('SELECT name FROM pragma_table_xinfo(?)').pluck().all(sqlTable);
}

/** SQLite folds only ASCII letters when it compares names; folding more than that is harmless here. */
function sqlNameFor(name: string, alias: string, taken: readonly string[]): string {
  const usable = name !== '' && !name.includes('\0') && !/^(?:sqlite_|_sandbox_|rowid$|_rowid_$|oid$)/i.test(name);
  const isTaken = taken.some((other) => other.toLowerCase() === name.toLowerCase());
  return usable && !isTaken ? name : alias;
}

/** A column as far as a view must know it. */
interface ViewColumn {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
}

/** Writes a view of a table down. `columns` are those of the table. */
function insertView(
  connection: StoreConnection,
  place: { readonly id: number; readonly tableId: number; readonly columns: readonly ViewColumn[] },
  spec: ViewSpec,
): void {
  const idOf = (name: string): number =>
    must(findByName(place.columns, name), `the sandbox's view "${spec.name}" refers to a column "${name}"`).id;
  const groups = (spec.groups ?? []).map((group) => {
    const [, name = '', suffix = ''] = must(/^(.+)\/\/([^/]+)$/s.exec(group), `"${group}" has the form of a group`);
    return { columnId: idOf(name), suffix };
  });
  const sort = (spec.sort ?? []).map((text) => {
    const { column, descending } = sortKeyFromText(text);
    return { columnId: idOf(column), descending: descending === true };
  });
  const shown: ViewShown = { columnIds: spec.columns?.map(idOf) ?? null, groups, sort, filter: spec.filter ?? null };
  connection
    .prepare(
      `INSERT INTO _sandbox_views (id, table_id, name, alias, type, show_in_menu, actions, shown, roles, described)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      place.id,
      place.tableId,
      spec.name,
      spec.described?.alias ?? `v_${place.id}`,
      spec.type ?? 'Table',
      (spec.showInMenu ?? true) ? 1 : 0,
      JSON.stringify(spec.actions ?? ['Add', 'Edit', 'View', 'Delete']),
      JSON.stringify(shown),
      spec.roles === undefined ? null : JSON.stringify(spec.roles),
      spec.described === undefined ? null : JSON.stringify(spec.described.words),
    );
}
