/**
 * Attached files in a cycle: they come after the rows, which name them. A table whose rows failed waits for the next cycle. `rowsync sync` pushes
 * between rows and files; the daemon's pull brings both, and its push is a separate job.
 */
import type { FilesContext, FilesReport } from '../files/context.ts';
import { pullFiles } from '../files/download.ts';
import type { PullReport } from '../pull/report.ts';

/** Fetches the files of tables that a pull has just brought up to date; null if there are none. */
export async function pullFilesAfter(context: FilesContext, rows: PullReport): Promise<FilesReport | null> {
  const tables = rows.tables.filter(({ error }) => error === null).map(({ table }) => table);
  const isOver = rows.error !== null && rows.error.kind !== 'needsPerson';
  if (isOver || tables.length === 0 || context.signal?.aborted === true) return null;
  return pullFiles(context, { tables, retryNow: false });
}
