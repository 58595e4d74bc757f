/**
 * Describe (Database), Describe (Table) and User: what the caller's role may see of the schema, and who the caller is.
 * Reads the catalog, writes nothing. Source: specification, sections 4.1 to 4.3.
 */
import { isWritable, type ColumnDescriptor, type TableDescriptor, type TableSummary } from '../../wire/schema.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { visibleColumns, visibleTables } from './parameters.ts';
import type { ServerRules } from './rules.ts';
import type { StoreColumn, Role, Table } from '../store/catalog.ts';
import { describeViews } from './view.ts';

/** Describe (Database). */
export function describeDatabase({ store, role, format }: MethodCall): MethodAnswer {
  const { id, name, description, culture, timeZone } = store.catalog.database;
  const tables = visibleTables(store.catalog, role).map(summary);
  const text = (): string => format.writeDatabase({ id, name, description, culture, timeZone, tables, other: {} });
  return { kind: 'page', text, tableIds: [] };
}

/** User. */
export function describeUser({ user, format }: MethodCall): MethodAnswer {
  const { id, email, firstName, lastName, role, culture, timezone, admin } = user;
  const described = { id, email, firstName, lastName, role, culture, timezone, admin, other: {} };
  return { kind: 'page', text: () => format.writeUser(described), tableIds: [] };
}

/** Describe (Table). */
export function describeTable({ role, format, rules }: MethodCall, table: Table): MethodAnswer {
  const descriptor: TableDescriptor = {
    ...summary(table),
    allowAdd: table.allowAdd && role.canWrite,
    key: table.key.name,
    columns: visibleColumns(table, role).map((column) => describeColumn(column, role, rules)),
    views: describeViews(table, role),
  };
  return { kind: 'page', text: () => format.writeTable(descriptor), tableIds: [] };
}

function summary(table: Table): TableSummary {
  const { id, name, plural, alias, showTab, color } = table;
  return { id, recordName: name, recordsName: plural, alias, showTab, color, other: {} };
}

/** Where the length of a value is not bounded, its width is 0. */
function describeColumn(column: StoreColumn, role: Role, { widthsOfTextOnly }: ServerRules): ColumnDescriptor {
  const { id, name, alias, type, options, displayOptions, kind } = column;
  const width = column.width ?? (widthsOfTextOnly ? null : 0);
  const readOnly = column.readOnly || !role.canWrite || !isWritable({ kind, readOnly: null });
  return { id, name, alias, type, dataOptions: options, displayOptions, width, kind, readOnly, other: {} };
}
