/**
 * Tables by the names that people give them: as at the origin or in the replica, where case does not count.
 */
import { RowsyncError } from '../base/errors.ts';
import type { Connection } from '../replica/connection.ts';
import { readTables, type LedgerTable } from '../replica/bookkeeping/tables.ts';

/** The named tables, or all for no name. @throws RowsyncError `usage.invalid` for a name that the replica does not have. */
export function chooseTables(from: Connection, names: readonly string[]): readonly LedgerTable[] {
  const tables = readTables(from);
  const isNamed = (table: LedgerTable, name: string): boolean =>
    [table.name, table.localName].some((known) => known.toLowerCase() === name.toLowerCase());
  const unknown = names.filter((name) => !tables.some((table) => isNamed(table, name)));
  if (unknown.length > 0) {
    throw new RowsyncError('usage', 'usage.invalid', {
      message: `The replica has no table called ${unknown.map((name) => `"${name}"`).join(', ')}`,
      hint: `It has: ${tables.map(({ localName }) => localName).join(', ') || 'none yet; run rowsync pull'}.`,
    });
  }
  return tables.filter((table) => names.length === 0 || names.some((name) => isNamed(table, name)));
}
