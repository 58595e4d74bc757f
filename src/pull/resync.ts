/**
 * Forgets the ETags of tables, so that the next pull reads them whole. For use when an ETag is suspected to be wrong, or when verify found a
 * difference. Rows stay; the next sweep writes only those that differ, and looks up rows that are on no page.
 */
import { RowsyncError } from '../base/errors.ts';
import type { Replica } from '../replica/database.ts';
import { distrustBase, distrustRows } from '../replica/distrust.ts';
import { forgetDescriptor } from '../replica/bookkeeping/descriptors.ts';
import { readTables } from '../replica/bookkeeping/tables.ts';
import { storePageRows } from '../replica/bookkeeping/sweeps.ts';
import { hasTable } from '../replica/objects.ts';

/**
 * Forgets the ETags of the named tables (as at the origin or in the replica, ignoring case); empty for all. Returns the names of the tables in the
 * replica.
 * @throws RowsyncError `usage.invalid` for an unknown name.
 */
export async function resync(replica: Replica, names: readonly string[]): Promise<readonly string[]> {
  const tables = readTables(replica);
  const isNamed = (table: { name: string; localName: string }, name: string): boolean =>
    [table.name, table.localName].some((known) => known.toLowerCase() === name.toLowerCase());
  const unknown = names.filter((name) => !tables.some((table) => isNamed(table, name)));
  if (unknown.length > 0) {
    throw new RowsyncError('usage', 'usage.invalid', {
      message: `The replica has no table called ${unknown.map((name) => `"${name}"`).join(', ')}`,
      hint: `It has: ${tables.map(({ localName }) => localName).join(', ') || 'none yet; run rowsync pull'}.`,
    });
  }
  const chosen = tables.filter((table) => names.length === 0 || names.some((name) => isNamed(table, name)));
  await replica.writeDurably('Forgetting ETags', (tx) => {
    for (const table of chosen) {
      forgetDescriptor(tx, table.id);
      storePageRows(tx, table.id, null);
      // A table that another client dropped is made again, and read whole, in any case.
      if (!hasTable(tx, table.localName)) continue;
      if (table.push === 'on') distrustBase(tx, table);
      else distrustRows(tx, table);
    }
  });
  return chosen.map(({ localName }) => localName);
}
