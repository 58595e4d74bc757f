/**
 * Changes to what the model's database consists of: tables and columns created, renamed, retyped, dropped. Takes the
 * specs of the sandbox, so that both take the same tables; produces a changed state. What a name refers to is kept by
 * id.
 */
import { createHash } from 'node:crypto';
import type { ColumnSpec, Computed, TableSpec, ViewSpec, WorkflowRule } from '../../../src/sandbox/store/spec.ts';
import type { Value } from '../../../src/wire/schema.ts';
import { decimalFromText } from './decimal.ts';
import type { ModelRule } from './knobs.ts';
import {
  columnNamed,
  findNamed,
  putTable,
  tableNamed,
  valueTypeOf,
  type ComputedById,
  type ModelColumn,
  type ModelState,
  type ModelTable,
  type ModelView,
} from './state.ts';
import { keyText, storedValue } from './values.ts';

/** What `changeColumn` may change. */
export type ColumnChange = Partial<
  Pick<ColumnSpec, 'type' | 'kind' | 'options' | 'displayOptions' | 'width' | 'readOnly'>
>;

const SYSTEM: readonly ColumnSpec[] = [
  { name: 'Record Owner', type: 'User', kind: 'RecordOwner' },
  { name: 'Created By', type: 'User', kind: 'CreatedBy', displayOptions: [] },
  { name: 'Date Created', type: 'Timestamp', kind: 'DateCreated', displayOptions: [] },
  { name: 'Last Modified By', type: 'User', kind: 'LastModifiedBy', displayOptions: [] },
  { name: 'Date Modified', type: 'Timestamp', kind: 'DateModified', displayOptions: [] },
];

/** A database without tables. */
export function emptyState(): Pick<ModelState, 'tables' | 'roles' | 'nextTableId' | 'nextColumnId' | 'nextViewId'> {
  return { tables: [], roles: [], nextTableId: 115_442, nextColumnId: 2_445_930, nextViewId: 730_247 };
}

/** The names of all columns, with whose they are, in short. */
export function namesOf({ tables }: Pick<ModelState, 'tables'>): string {
  const named = tables.map(({ id, columns }) => [id, columns.map((column) => [column.id, column.name])]);
  return createHash('sha1').update(JSON.stringify(named)).digest('base64url').slice(0, 8);
}

/** Adds a table without rows. */
export function addTable(state: ModelState, spec: TableSpec): void {
  const taken = new Set(spec.columns.map(({ name }) => name.toLowerCase()));
  const beside = (column: ColumnSpec): ColumnSpec =>
    taken.has(column.name.toLowerCase()) ? { ...column, name: `${column.name} (2)` } : column;
  const ownKey = beside({ name: 'Id', type: 'Autonumber', options: ['Unique', 'Required'] });
  const specs = [
    ...(spec.key === undefined ? [ownKey] : []),
    ...spec.columns,
    ...(spec.systemColumns === false ? [] : SYSTEM.map(beside)),
  ];
  const keyName = spec.key ?? ownKey.name;
  const id = state.nextTableId;
  state.nextTableId += 1;
  let table: ModelTable = {
    id,
    name: spec.name,
    plural: spec.plural ?? `${spec.name}s`,
    alias: `t_${id}`,
    color: spec.color ?? '#0061B0',
    showTab: spec.showTab ?? true,
    allowAdd: spec.allowAdd ?? true,
    keyId: 0,
    columns: [],
    views: [],
    rules: (spec.rules ?? []).map((rule) => ruleFrom(spec.name, rule)),
    rows: new Map(),
    nextNumberByColumn: new Map(),
    nextRow: 1,
    deleted: [],
    files: [],
  };
  for (const column of specs) {
    const made = makeColumn(state, table, column.name === keyName ? { ...column, kind: 'Key' } : column);
    table = { ...table, columns: [...table.columns, made], keyId: column.name === keyName ? made.id : table.keyId };
  }
  const views = [{ name: `List All ${table.plural}` }, ...(spec.views ?? [])].map((view) =>
    makeView(state, table, view),
  );
  state.tables = [...state.tables, { ...table, views }];
}

function makeColumn(state: ModelState, table: ModelTable, spec: ColumnSpec): ModelColumn {
  const id = state.nextColumnId;
  state.nextColumnId += 1;
  const { computed } = spec;
  const computedKind = computed?.how === 'lookup' ? 'Lookup' : computed?.how === 'join' ? 'Formula' : 'Summary';
  const type = { type: spec.type };
  const column = {
    id,
    name: spec.name,
    alias: `f_${id}`,
    type: spec.type,
    kind: spec.kind ?? (computed === undefined ? 'Updatable' : computedKind),
    readOnly: spec.readOnly ?? false,
    options: spec.options ?? [],
    displayOptions: spec.displayOptions ?? ['ShowInViews'],
    width: spec.width ?? (valueTypeOf(type) === 'Text' ? 255 : null),
    defaultValue: null,
    format: spec.format ?? '{0}',
    computed: computed === undefined ? null : computedById(state, table, computed),
  };
  return { ...column, defaultValue: storedValue(column, spec.defaultValue ?? null) };
}

function computedById(state: ModelState, own: ModelTable, computed: Computed): ComputedById {
  if (computed.how === 'join') {
    return { how: 'join', columns: computed.columns.map((name) => columnNamed(own, name).id) };
  }
  const other = tableNamed(state, computed.table);
  if (computed.how === 'lookup') {
    const reference = columnNamed(own, computed.reference).id;
    return { how: 'lookup', reference, table: other.id, column: columnNamed(other, computed.column).id };
  }
  const reference = columnNamed(other, computed.reference).id;
  const column = computed.column === undefined ? null : columnNamed(other, computed.column).id;
  return { how: computed.how, table: other.id, reference, column };
}

function makeView(state: ModelState, table: ModelTable, spec: ViewSpec): ModelView {
  const id = state.nextViewId;
  state.nextViewId += 1;
  const idOf = (name: string): number => (findNamed(table.columns, name) ?? columnNamed(table, name)).id;
  const groups = (spec.groups ?? []).map((group) => {
    const at = group.lastIndexOf('//');
    return { column: idOf(group.slice(0, at)), suffix: group.slice(at + 2) };
  });
  return { id, alias: `v_${id}`, spec, columns: spec.columns?.map(idOf) ?? null, groups };
}

/** The few formulas that the rules of the tests use; the model has no language of its own. */
function ruleFrom(table: string, { when, set, to, where }: WorkflowRule): ModelRule {
  const [, name = '', argument = ''] = /^(Upper|Lower|Trim)\(\[([^\]]+)\]\)$/.exec(to) ?? [];
  if (argument !== set || where !== undefined) throw new Error(`The model does not know the rule that sets "${set}"`);
  const effects = { Upper: 'upper', Lower: 'lower', Trim: 'trim' } as const;
  return { table, column: set, when, does: effects[name as keyof typeof effects] };
}

/** Drops a table, and every computed column that looked at it. */
export function dropTable(state: ModelState, name: string): void {
  const gone = tableNamed(state, name);
  state.tables = state.tables
    .filter((table) => table !== gone)
    .map((table) => withoutColumns(table, ({ computed }) => computed !== null && looksAtTable(computed, gone.id)));
}

function looksAtTable(computed: ComputedById, tableId: number): boolean {
  return computed.how !== 'join' && computed.table === tableId;
}

/** Renames a table; id and alias stay. */
export function renameTable(state: ModelState, name: string, now: string): void {
  const table = tableNamed(state, name);
  const rules = table.rules.map((rule) => ({ ...rule, table: now }));
  putTable(state, { ...table, name: now, rules });
}

/** Adds a column at the end; rows get its default. */
export function addColumn(state: ModelState, name: string, spec: ColumnSpec): void {
  const table = tableNamed(state, name);
  const column = makeColumn(state, table, spec);
  if (column.computed === null && column.defaultValue !== null) {
    changeCells(table, () => [column.id, column.defaultValue]);
  }
  putTable(state, { ...table, columns: [...table.columns, column] });
}

/** Drops a column with its values and files, and every computed column that looked at it. The key stays. */
export function dropColumn(state: ModelState, name: string, columnName: string): void {
  const table = tableNamed(state, name);
  const { id } = columnNamed(table, columnName);
  if (id === table.keyId) throw new Error('The key column stays');
  state.tables = state.tables.map((known) =>
    withoutColumns(known, (column) => column.id === id || (column.computed !== null && looksAt(column.computed, id))),
  );
}

function looksAt(computed: ComputedById, column: number): boolean {
  if (computed.how === 'join') return computed.columns.includes(column);
  return computed.reference === column || computed.column === column;
}

function withoutColumns(table: ModelTable, isGone: (column: ModelColumn) => boolean): ModelTable {
  const gone = new Set(table.columns.filter(isGone).map(({ id }) => id));
  if (gone.size === 0) return table;
  for (const row of table.rows.values()) {
    const cells = new Map([...row.cells].filter(([column]) => !gone.has(column)));
    table.rows.set(row.id, { ...row, cells });
  }
  return {
    ...table,
    columns: table.columns.filter(({ id }) => !gone.has(id)),
    files: table.files.filter(({ column }) => !gone.has(column)),
  };
}

/** Renames a column; id and alias stay. */
export function renameColumn(state: ModelState, name: string, columnName: string, now: string): void {
  const table = tableNamed(state, name);
  const column = columnNamed(table, columnName);
  putColumn(state, table, { ...column, name: now });
}

/**
 * Changes how a column is described; with a new type values are converted where they mean something and else emptied.
 */
export function changeColumn(state: ModelState, name: string, columnName: string, change: ColumnChange): void {
  const table = tableNamed(state, name);
  const column = columnNamed(table, columnName);
  const type = change.type ?? column.type;
  const isRetyped = column.computed === null && valueTypeOf({ type }) !== valueTypeOf(column);
  if (isRetyped && isReadByOthers(state, table, column))
    throw new Error('A key, and a column that others read, keep their type');
  const changed: ModelColumn = {
    ...column,
    type,
    defaultValue: isRetyped ? converted(type, column.defaultValue) : column.defaultValue,
    kind: change.kind ?? column.kind,
    options: change.options ?? column.options,
    displayOptions: change.displayOptions ?? column.displayOptions,
    width: change.width ?? column.width,
    readOnly: change.readOnly ?? column.readOnly,
  };
  if (isRetyped) changeCells(table, (cells) => [column.id, converted(type, cells.get(column.id) ?? null)]);
  putColumn(state, table, changed);
}

function isReadByOthers(state: ModelState, table: ModelTable, { id }: ModelColumn): boolean {
  const others = state.tables.flatMap(({ columns }) => columns);
  return id === table.keyId || others.some(({ computed }) => computed !== null && looksAt(computed, id));
}

function converted(type: string, value: Value): Value {
  const text = typeof value === 'boolean' ? String(value) : keyText(value);
  if (text === null) return null;
  switch (valueTypeOf({ type })) {
    case 'Numeric':
    case 'Duration':
      return decimalFromText(text) ?? null;
    case 'Checkbox':
      return ['true', '1'].includes(text) ? true : ['false', '0'].includes(text) ? false : null;
    case 'Date':
    case 'Time':
    case 'Timestamp':
      return null;
    default:
      return text;
  }
}

function changeCells(table: ModelTable, change: (cells: ReadonlyMap<number, Value>) => readonly [number, Value]): void {
  for (const row of table.rows.values()) {
    const [column, value] = change(row.cells);
    table.rows.set(row.id, { ...row, cells: new Map(row.cells).set(column, value) });
  }
}

function putColumn(state: ModelState, table: ModelTable, column: ModelColumn): void {
  const columns = table.columns.map((known) => (known.id === column.id ? column : known));
  putTable(state, { ...table, columns });
}
