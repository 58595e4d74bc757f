/**
 * Which columns the caller may write at an origin whose descriptions have only the fields of the specification (2.3),
 * neither `kind` nor `readOnly`. Then those that `column=*` returns are writable (4.4); system columns are known by
 * name and type (origin facts 2.3).
 */
import { columnType, type ColumnDescriptor, type ColumnType, type TableDescriptor } from './schema.ts';

/** The kind of a column as long as the table has no row that shows what `*` returns. */
export const UNKNOWN_KIND = 'Unknown';

/** What is known of a column from an earlier answer. */
export interface KnownRights {
  readonly id: number;
  readonly kind: string | null;
  readonly writable: boolean;
}

/** Names in lower case. The caller may write the owner; only the origin writes the others. */
const SYSTEM_COLUMNS: ReadonlyMap<string, { readonly kind: string; readonly type: ColumnType }> = new Map([
  ['record owner', { kind: 'RecordOwner', type: 'User' }],
  ['created by', { kind: 'CreatedBy', type: 'User' }],
  ['date created', { kind: 'DateCreated', type: 'Timestamp' }],
  ['last modified by', { kind: 'LastModifiedBy', type: 'User' }],
  ['date modified', { kind: 'DateModified', type: 'Timestamp' }],
]);

type Rights = Pick<ColumnDescriptor, 'kind' | 'readOnly'>;

/** Whether a description leaves open which of its columns may be written. */
export function leavesRightsOpen({ columns }: Pick<TableDescriptor, 'columns'>): boolean {
  return columns.some(isOpen);
}

function isOpen({ kind, readOnly }: Rights): boolean {
  return kind === null && readOnly === null;
}

/**
 * Completes a description. `updateable` are the names that `*` returned; null if the table had no row. In that case
 * `known` columns keep their rights, and the others cannot be written.
 */
export function withRights(
  table: TableDescriptor,
  updateable: ReadonlySet<string> | null,
  known: readonly KnownRights[] = [],
): TableDescriptor {
  if (!leavesRightsOpen(table)) return table;
  const knownById = new Map(known.map((column) => [column.id, column]));
  const rightsOf = (column: ColumnDescriptor): Rights =>
    updateable === null
      ? earlierRights(knownById.get(column.id))
      : rightsFromStar(column, { isKey: column.name === table.key, isReturned: updateable.has(column.name) });
  const columns = table.columns.map((column) => (isOpen(column) ? { ...column, ...rightsOf(column) } : column));
  // `*` depends on the caller's rights, but this description stays the same when they change.
  return { ...table, columns, asksByName: true };
}

function earlierRights(known: KnownRights | undefined): Rights {
  if (known === undefined || known.kind === UNKNOWN_KIND) return { kind: UNKNOWN_KIND, readOnly: true };
  return { kind: known.kind, readOnly: !known.writable };
}

function rightsFromStar(
  { name, type }: ColumnDescriptor,
  { isKey, isReturned }: { readonly isKey: boolean; readonly isReturned: boolean },
): Rights {
  // A new row may bring its own key (4.6), so only an autonumber can be read-only.
  if (isKey) return { kind: 'Key', readOnly: !isReturned && columnType(type) === 'Autonumber' };
  const system = SYSTEM_COLUMNS.get(name.toLowerCase());
  const isSystem = system?.type === columnType(type) && (!isReturned || system.kind === 'RecordOwner');
  if (isSystem) return { kind: system.kind, readOnly: !isReturned };
  return isReturned ? { kind: 'Updatable', readOnly: false } : { kind: null, readOnly: true };
}
