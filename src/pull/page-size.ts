/**
 * Halves the pages of a table whose rows are too large for one answer. They stay so until `resync`.
 */
import { RowsyncError } from '../base/errors.ts';
import { storePageRows } from '../replica/bookkeeping/sweeps.ts';
import { forgetEtags } from '../replica/bookkeeping/pages.ts';
import type { PreparedTable, PullContext } from './context.ts';
import { smallerPage } from '../reconcile/windows.ts';

/**
 * Halves the pages after an answer that was too large. Returns false for any other error, or if there is no smaller page. The ETags of the former
 * pages are forgotten, and the next sweep reads every page. Rows stay.
 */
export async function shrinkPages(
  { replica, log }: PullContext,
  table: PreparedTable,
  thrown: unknown,
): Promise<boolean> {
  if (!(thrown instanceof RowsyncError) || thrown.code !== 'origin.tooLarge') return false;
  const { id, localName } = table.target;
  const pageRows = smallerPage(table.pageRows);
  if (pageRows === null) return false;
  await replica.write(`Halving the pages of ${localName}`, (tx) => {
    storePageRows(tx, id, pageRows);
    forgetEtags(tx, id);
  });
  log.info('pages.halved', { table: localName, rowCount: pageRows });
  return true;
}
