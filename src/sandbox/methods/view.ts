/**
 * Views: what a role sees of them in describe, and Select on a view (origin facts 1.1 and 3.4). Reads the store, writes
 * nothing. The view decides columns and order, whatever the request says. Its filter may read columns that the role
 * does not see, because the author of the view could. The request's own filter applies too.
 */
import { hasOption, type ViewDescriptor } from '../../wire/schema.ts';
import { groupField, type GroupField } from './aggregate.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { filterFromText, readFilters } from './filter.ts';
import { readPage, visibleColumns } from './parameters.ts';
import { CODES, noView, MethodRefusal } from './refusal.ts';
import { pageAnswer } from './rows-answer.ts';
import { findByName, type StoreColumn, type Role, type Table, type View } from '../store/catalog.ts';
import type { RowFilter } from '../store/matching.ts';
import type { ColumnOrder } from '../store/rows.ts';

/** Names that the automatic view has beside its own. */
const AUTOMATIC_NAMES: ReadonlySet<string> = new Set(['default view', 'list all']);

/** Select on the view that one of the names means. */
export function selectView(call: MethodCall, table: Table, names: readonly string[]): MethodAnswer | MethodRefusal {
  const views = visibleViews(table, call.role);
  const isAutomatic = names.some((name) => AUTOMATIC_NAMES.has(name.toLowerCase()));
  const named = names.map((name) => findByName(views, name)).find((found) => found !== undefined);
  const view = named ?? (isAutomatic ? views.find(({ name }) => name.startsWith('List All')) : undefined);
  if (view === undefined) return noView(names[0] ?? '');
  const page = readPage(call.pairs);
  if (page instanceof MethodRefusal) return page;
  const own = filterOf(call, table, view);
  if (own instanceof MethodRefusal) return own;
  const more = readFilters(call, table);
  if (more instanceof MethodRefusal) return more;
  return pageAnswer(call, table, {
    columns: viewColumns(table, call.role, view),
    groups: groupFields(table, call.role, view),
    sort: orderOf(table, view),
    filters: [...own, ...more],
    page,
  });
}

/** The views that the role may see, as described. */
export function describeViews(table: Table, role: Role): readonly ViewDescriptor[] {
  return visibleViews(table, role).map((view) => {
    const { id, type, name, alias, showInMenu, actions } = view;
    const groups = groupFields(table, role, view).map(({ shape }) => shape.name);
    const columns = viewColumns(table, role, view).map((column) => column.name);
    const known = { ...(view.columnIds === null ? {} : { columns }), ...(groups.length === 0 ? {} : { groups }) };
    const other = view.described ?? known;
    return { id, type, name, alias, showInMenu, actions, other };
  });
}

/** The groups of a view, under the names that describe announces. */
function groupFields(table: Table, role: Role, view: View): readonly GroupField[] {
  const visible = visibleColumns(table, role);
  return view.groups.flatMap(({ columnId, suffix }) => {
    const column = visible.find(({ id }) => id === columnId);
    return column === undefined ? [] : (groupField(column, suffix, `${column.name}//${suffix}`) ?? []);
  });
}

function visibleViews(table: Table, role: Role): readonly View[] {
  return table.views.filter(({ roles }) => roles === null || roles.includes(role.name));
}

/** The columns that a view shows to a role: its own, or else all that are shown in views by default. */
export function viewColumns(table: Table, role: Role, view: View): readonly StoreColumn[] {
  const visible = visibleColumns(table, role);
  if (view.columnIds === null) return visible.filter((column) => hasOption(column.displayOptions, 'ShowInViews'));
  return view.columnIds.flatMap((id) => visible.filter((column) => column.id === id));
}

/** Rows of one group come together. */
function orderOf(table: Table, view: View): readonly ColumnOrder[] {
  const keys = [...view.groups.map(({ columnId }) => ({ columnId, descending: false })), ...view.sort];
  return keys.flatMap(({ columnId, descending }) =>
    table.columns.filter(({ id }) => id === columnId).map((column) => ({ column, descending })),
  );
}

function filterOf(call: MethodCall, table: Table, view: View): readonly RowFilter[] | MethodRefusal {
  if (view.filter === null) return [];
  const filter = filterFromText(call, table.columns, view.filter);
  // The schema changed under the view. Its text is not the caller's to see, and so no place in it is named.
  if (!('offset' in filter)) return [filter];
  const message = 'The view cannot be used any more: its filter does not fit the columns of the table';
  return new MethodRefusal(400, { code: CODES.badFilter, message, source: view.name });
}
