/**
 * The order of a cycle, whoever asks for it: the rows of the tables, the pushes, then the files that the cells name. Files come
 * last because the rows say which there are; a table whose rows failed is left for the next cycle.
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
