/**
 * Everything that the model of the origin knows: tables with columns, rows and files, users and roles. Rows, columns
 * and files are never changed in place but replaced, so that a copy of the lists that hold them is a copy of
 * everything. Takes specs (changes in structure.ts); produces state, copies of it, and things found in it by name.
 * Pure.
 */
import type { UserSpec, ViewSpec } from '../../../src/sandbox/store/spec.ts';
import { columnType, type ColumnType, type Value } from '../../../src/wire/schema.ts';
import type { ModelRule } from './knobs.ts';

/** How a computed column gets its value, by ids. */
export type ComputedById =
  | { readonly how: 'lookup'; readonly reference: number; readonly table: number; readonly column: number }
  | {
      readonly how: 'count' | 'sum' | 'max';
      readonly table: number;
      readonly reference: number;
      readonly column: number | null;
    }
  | { readonly how: 'join'; readonly columns: readonly number[] };

/** One column. */
export interface ModelColumn {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
  /** As described. */
  readonly type: string;
  readonly kind: string;
  readonly readOnly: boolean;
  readonly options: readonly string[];
  readonly displayOptions: readonly string[];
  readonly width: number | null;
  readonly defaultValue: Value;
  readonly format: string;
  /** Null for columns that are stored. */
  readonly computed: ComputedById | null;
}

/** One row; `cells` holds the stored columns, by id. */
export interface ModelRow {
  readonly id: number;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly cells: ReadonlyMap<number, Value>;
}

/** One revision of a file in a cell. */
export interface ModelFile {
  readonly guid: string;
  readonly column: number;
  readonly row: number;
  readonly revision: number;
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly author: string;
  readonly createdMs: number;
}

/** One view, with its columns by id. */
export interface ModelView {
  readonly id: number;
  readonly alias: string;
  readonly spec: ViewSpec;
  readonly columns: readonly number[] | null;
  readonly groups: readonly { readonly column: number; readonly suffix: string }[];
}

/** One table. The maps and `nextRow` change in place; the rest is replaced. */
export interface ModelTable {
  readonly id: number;
  readonly name: string;
  readonly plural: string;
  readonly alias: string;
  readonly color: string;
  readonly showTab: boolean;
  readonly allowAdd: boolean;
  readonly keyId: number;
  readonly columns: readonly ModelColumn[];
  readonly views: readonly ModelView[];
  readonly rules: readonly ModelRule[];
  /** In the order of their ids. */
  readonly rows: Map<number, ModelRow>;
  readonly nextNumberByColumn: Map<number, number>;
  nextRow: number;
  files: readonly ModelFile[];
  /** The recycle bin, the row that was deleted last at the end. */
  deleted: readonly { readonly id: number; readonly atMs: number; readonly by: string }[];
}

/** Who may call. */
export type ModelUser = UserSpec & { readonly id: number };

/** What a role may do. */
export interface ModelRole {
  readonly name: string;
  readonly canWrite: boolean;
  readonly editOwnOnly: boolean;
  readonly hiddenTables: ReadonlySet<number>;
  readonly hiddenColumns: ReadonlySet<number>;
}

/** The whole of it; the first user is the one that the token stands for. */
export interface ModelState {
  tables: readonly ModelTable[];
  users: readonly ModelUser[];
  roles: readonly ModelRole[];
  nextTableId: number;
  nextColumnId: number;
  nextViewId: number;
}

/** A copy that later changes of the original do not reach. */
export function copyState(state: ModelState): ModelState {
  return { ...state, tables: state.tables.map(copyTable) };
}

/** The same of one table. */
export function copyTable(table: ModelTable): ModelTable {
  return { ...table, rows: new Map(table.rows), nextNumberByColumn: new Map(table.nextNumberByColumn) };
}

/** The state with one table replaced by another of the same id. */
export function putTable(state: ModelState, table: ModelTable): void {
  state.tables = state.tables.map((known) => (known.id === table.id ? table : known));
}

const valueTypes = new Map<string, ColumnType>();

/** How the values of a column look, by the type that is described. */
export function valueTypeOf({ type }: Pick<ModelColumn, 'type'>): ColumnType {
  let known = valueTypes.get(type);
  if (known === undefined) valueTypes.set(type, (known = columnType(type)));
  return known;
}

/** Whether a list of options has one, in any case. */
export function hasOption(options: readonly string[], option: string): boolean {
  return options.some((name) => name.toLowerCase() === option.toLowerCase());
}

/** Something by name or alias: the exact name before the alias, the alias before the name in another case. */
export function findNamed<T extends { readonly name: string; readonly alias: string }>(
  items: readonly T[],
  name: string,
): T | undefined {
  const folded = name.toLowerCase();
  const ranks = [
    (item: T) => item.name === name,
    (item: T) => item.alias.toLowerCase() === folded,
    (item: T) => item.name.toLowerCase() === folded,
  ];
  for (const isMeant of ranks) {
    const found = items.find(isMeant);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The table with this exact name; a wrong one is a mistake in the test. */
export function tableNamed(state: ModelState, name: string): ModelTable {
  const table = state.tables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new Error(`The model has no table "${name}"`);
  return table;
}

/** The column with this exact name. */
export function columnNamed(table: ModelTable, name: string): ModelColumn {
  const column = table.columns.find((candidate) => candidate.name === name);
  if (column === undefined) throw new Error(`The model's table "${table.name}" has no column "${name}"`);
  return column;
}

/** The key column. */
export function keyOf(table: ModelTable): ModelColumn {
  const key = table.columns.find(({ id }) => id === table.keyId);
  if (key === undefined) throw new Error(`The model's table "${table.name}" has lost its key`);
  return key;
}

/** `Name <email>`. */
export function userText({ firstName, lastName, email }: UserSpec): string {
  return `${firstName} ${lastName} <${email}>`;
}

/** What stands between < and >, or all of it, in lower case: it identifies a user. */
export function emailOf(user: string): string {
  const email = /<([^<]*)>$/.exec(user)?.[1] ?? user;
  return email.trim().toLowerCase();
}
