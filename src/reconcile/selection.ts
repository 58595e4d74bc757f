/**
 * Which columns are requested, and in which order rows come. `column=*` returns the updateable columns only, so every other readable column is named
 * too. If the configuration chooses columns, `*` would bring omitted ones, so all are named. The order must be total and should be append-only:
 * creation time, then key; without an explicit sort the origin promises none. Pure.
 */
import type { SortKey } from '../wire/query.ts';
import { type ColumnDescriptor, type TableDescriptor, isWritable } from '../wire/schema.ts';
import { createdColumn } from './windows.ts';

/** The parameters of `select`. */
export interface Selection {
  readonly columns: readonly string[];
  readonly sort: readonly string[];
}

/**
 * Decides the selection of a table. `sortOverride` (configuration) wins; unknown names in it are returned as a problem.
 * The key ends the order in any case, because it is what makes it total.
 */
export function planSelection(
  table: Pick<TableDescriptor, 'key' | 'columns' | 'asksByName'>,
  sortOverride: readonly string[] | null,
): { readonly selection: Selection; readonly unknownSort: readonly string[] } {
  const byLowerName = new Map(table.columns.map(({ name }) => [name.toLowerCase(), name]));
  const wished = sortOverride ?? defaultSort(table.columns);
  const known = wished.flatMap((name) => byLowerName.get(name.toLowerCase()) ?? []);
  // A key that the calling user may not see cannot be sorted by.
  const key = table.columns.find(({ name }) => name === table.key)?.name;
  const sort = key === undefined || known.includes(key) ? known : [...known, key];
  const unknownSort = wished.filter((name) => !byLowerName.has(name.toLowerCase()));
  return { selection: { columns: columnNames(table), sort }, unknownSort };
}

/** The `column` parameters for exactly the columns of the description. */
export function columnNames({
  columns,
  asksByName,
}: Pick<TableDescriptor, 'columns' | 'asksByName'>): readonly string[] {
  if (asksByName === true) return columns.map(({ name }) => name);
  return ['*', ...columns.filter((column) => !isWritable(column)).map(({ name }) => name)];
}

/** The order with the newest rows first; empty if the calling user does not see creation times. */
export function newestFirst(table: {
  readonly key: string;
  readonly columns: readonly ColumnDescriptor[];
}): readonly SortKey[] {
  if (defaultSort(table.columns).length === 0) return [];
  return planSelection(table, null).selection.sort.map((column) => ({ column, descending: true }));
}

function defaultSort(columns: readonly ColumnDescriptor[]): readonly string[] {
  const created = createdColumn(columns);
  return created === null ? [] : [created.name];
}
