/**
 * Forgetting what is known of tables, so that the next pull reads them whole: the way out when an ETag is suspected to lie.
 * Rows stay; the next sweep writes only those that differ.
 */
import { RowsyncError } from '../base/errors.ts';
import type { Replica } from '../replica/database.ts';
import { forgetDescriptor, readTables } from '../replica/ledger.ts';
import { forgetEtags } from '../replica/pages.ts';

/**
 * Forgets the ETags of the named tables (as at the origin or in the replica, case does not count); empty for all.
 * Returns the names of the tables in the replica.
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
  await replica.write('Forgetting ETags', (tx) => {
    for (const { id } of chosen) {
      forgetEtags(tx, id);
      forgetDescriptor(tx, id);
    }
  });
  return chosen.map(({ localName }) => localName);
}
