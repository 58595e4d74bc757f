/**
 * What a cycle does about files: they come behind the rows, which say which there are, and a table whose rows failed is left for the next
 * cycle. `rowsync sync` pushes between the two; the daemon's pull brings both, and its push is a job of its own.
 */
import type { FilesContext, FilesReport } from '../files/context.ts';
import { pullFiles } from '../files/pull.ts';
import type { PullReport } from '../pull/report.ts';

/** Brings the files of the tables here that a pull has just brought up to date; null where there are none. */
export async function pullFilesAfter(context: FilesContext, rows: PullReport): Promise<FilesReport | null> {
  const tables = rows.tables.filter(({ error }) => error === null).map(({ table }) => table);
  const isOver = rows.error !== null && rows.error.kind !== 'needsPerson';
  if (isOver || tables.length === 0 || context.signal?.aborted === true) return null;
  return pullFiles(context, { tables, retryNow: false });
}
