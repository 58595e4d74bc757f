/**
 * Describes a table with its writable columns (wire/write-rights.ts), for extras that ask the origin themselves.
 */
import type { Address } from '../../origin/address.ts';
import type { Origin } from '../../origin/client.ts';
import type { ReadOptions } from '../../origin/requests.ts';
import type { TableDescriptor } from '../../wire/schema.ts';
import { leavesRightsOpen, UNKNOWN_KIND, withRights } from '../../wire/write-rights.ts';

/** Describes a table, and asks for the rights that this leaves open. @throws RowsyncError of the origin. */
export async function describeWithRights(
  origin: Pick<Origin, 'describeTable' | 'updateableColumns'>,
  table: Address,
  options: Pick<ReadOptions, 'signal'> = {},
): Promise<{ readonly descriptor: TableDescriptor; readonly isAsked: boolean }> {
  const { value } = await origin.describeTable(table, options);
  if (!leavesRightsOpen(value)) return { descriptor: value, isAsked: false };
  return { descriptor: withRights(value, await origin.updateableColumns(table, options)), isAsked: true };
}

/** Whether it is not known of any column of a table whether it may be written. */
export function areRightsUnknown({ columns }: Pick<TableDescriptor, 'columns'>): boolean {
  return columns.length > 0 && columns.every(({ kind }) => kind === UNKNOWN_KIND);
}
