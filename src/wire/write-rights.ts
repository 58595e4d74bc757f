/**
 * Which columns the caller may write at an origin whose descriptions have only the fields of the specification (2.3), neither `kind` nor `readOnly`.
 * Then the columns that `column=*` returns are writable (4.4), and system columns are known by name and type (origin facts 2.3).
 */
import { columnType, type ColumnDescriptor, type ColumnType, type TableDescriptor } from './schema.ts';

/** The kind of a column while it is unknown, because the table had no row that shows what `*` means. */
export const UNKNOWN_KIND = 'Unknown';

/** What an earlier answer said of a column. */
export interface KnownRights {
  readonly id: number;
  readonly kind: string | null;
  readonly writable: boolean;
}

/** Names in lower case. An owner may be written, the others only by the origin. */
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
 * Completes a description. `updateable` are the names that `*` returned; null if the table had no row. Then what is `known` of a column stays, and
 * the others cannot be written.
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
  // `*` follows the caller's rights, and this description does not change with them.
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
  // A key may be given to a new row (4.6), and a number that the origin counts need not be.
  if (isKey) return { kind: 'Key', readOnly: !isReturned && columnType(type) === 'Autonumber' };
  const system = SYSTEM_COLUMNS.get(name.toLowerCase());
  const isSystem = system?.type === columnType(type) && (!isReturned || system.kind === 'RecordOwner');
  if (isSystem) return { kind: system.kind, readOnly: !isReturned };
  return isReturned ? { kind: 'Updatable', readOnly: false } : { kind: null, readOnly: true };
}
