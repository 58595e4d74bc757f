/**
 * Describe (Database), Describe (Table) and User (specification 4.1 to 4.3), for what the caller's role sees. Reads the
 * state, writes nothing.
 */
import { isUpdatable, visibleColumns, type Call, type Made } from './call.ts';
import type { ModelKnobs } from './knobs.ts';
import { hasOption, keyOf, type ModelColumn, type ModelRole, type ModelTable, type ModelView } from './state.ts';

/** What the database says of itself; the specification leaves it all to its owner. */
export interface DatabaseWords {
  readonly name: string;
  readonly description: string;
  readonly culture: string;
  readonly timeZone: string;
}

/** Describe (Database). */
export function describeDatabase({ state, role, database }: Call, words: DatabaseWords): Made {
  const { name, description, culture, timeZone } = words;
  const tables = state.tables.filter(({ id }) => !role.hiddenTables.has(id)).map(summary);
  return page({ id: database, name, description, culture, timeZone, tables }, []);
}

/** User. */
export function describeUser({ user }: Call): Made {
  const { id, email, firstName, lastName, role, culture, timezone, admin } = user;
  return page({ id, email, firstName, lastName, role, culture, timezone, admin: admin.join(', ') }, []);
}

/** Describe (Table). */
export function describeTable({ role, knobs }: Call, table: ModelTable): Made {
  const columns = visibleColumns(table, role).map((column) => describeColumn(column, role, knobs));
  const views = table.views
    .filter(({ spec }) => spec.roles === undefined || spec.roles.includes(role.name))
    .map((view) => describeView(table, view, { role, knobs }));
  const allowAdd = table.allowAdd && role.canWrite;
  return page({ ...summary(table), allowAdd, key: keyOf(table).name, columns, views }, [table.id]);
}

function page(fields: object, tables: readonly number[]): Made {
  return { kind: 'page', text: JSON.stringify(fields), tables };
}

function summary({ id, name, plural, alias, showTab, color }: ModelTable): object {
  return { id, recordName: name, recordsName: plural, alias, showTab, color };
}

function describeColumn(column: ModelColumn, role: ModelRole, { isBare }: Pick<ModelKnobs, 'isBare'>): object {
  const { id, name, alias, type, options, displayOptions, width, kind } = column;
  return {
    id,
    name,
    alias,
    type,
    dataOptions: options.join(', '),
    displayOptions: displayOptions.join(', '),
    width: width ?? 0,
    ...(isBare ? {} : { kind, readOnly: column.readOnly || !role.canWrite || !isUpdatable(column) }),
  };
}

function describeView(
  table: ModelTable,
  { id, alias, spec, columns, groups }: ModelView,
  { role, knobs }: Pick<Call, 'role' | 'knobs'>,
): object {
  const visible = visibleColumns(table, role);
  const byId = (wanted: number): readonly ModelColumn[] => visible.filter((column) => column.id === wanted);
  const shown = columns?.flatMap(byId) ?? visible.filter((column) => hasOption(column.displayOptions, 'ShowInViews'));
  const grouped = groups.flatMap(({ column, suffix }) => byId(column).map(({ name }) => `${name}//${suffix}`));
  return {
    id,
    type: spec.type ?? 'Table',
    name: spec.name,
    alias,
    showInMenu: spec.showInMenu ?? true,
    actions: (spec.actions ?? ['Add', 'Edit', 'View', 'Delete']).join(', '),
    ...(columns === null || knobs.isBare ? {} : { columns: shown.map(({ name }) => name) }),
    ...(grouped.length === 0 || knobs.isBare ? {} : { groups: grouped }),
  };
}
