/**
 * Whether a table is read by windows or as one, and in pages of how many rows. Decided from its columns and its page
 * map, noted with the start of a sweep. Windows are given up if the origin does not keep their order or filter. Pages
 * whose rows are too large for one answer are halved, and stay so until `resync`.
 */
import { RowsyncError } from '../base/errors.ts';
import {
  createdColumn,
  FIRST_WINDOW,
  planJoins,
  WINDOW_PAGES,
  whyOneWindow,
  type OneWindow,
  smallerPage,
} from '../reconcile/windows.ts';
import type { Tx } from '../replica/connection.ts';
import { restartSweep } from '../replica/bookkeeping/sweeps.ts';
import { dropPagesFrom, readPagedWindows, readWindowSizes, forgetEtags } from '../replica/bookkeeping/pages.ts';
import type { PullContext, TableReading } from './context.ts';
import { storeFacts, readTable } from '../replica/bookkeeping/tables.ts';

/** The origin's code for a column that does not exist (origin facts 4.2). */
const NO_COLUMN_CODE = 3100;

export interface WindowPlan {
  /** Name of the creation time; null if the table is read as one window. */
  readonly created: string | null;
  readonly why: OneWindow | null;
  /** Windows whose pages are dropped: their rows are read with the window before them. */
  readonly joined: readonly string[];
}

/** Whether the table is read by windows, and which of them join the one before. */
export function planWindows({ context: { replica, settings }, table }: TableReading): WindowPlan {
  const { id } = table.target;
  const created = createdColumn(table.descriptor.columns);
  const why = whyOneWindow(created, table.selection.sort) ?? lieOf(readTable(replica, id).oneWindow);
  if (why !== null || created === null) return oneWindow(replica, id, why);
  const joined = planJoins(readWindowSizes(replica, id), settings.windowPages ?? WINDOW_PAGES);
  return { created: created.name, why: null, joined };
}

function oneWindow(replica: PullContext['replica'], tableId: number, why: OneWindow | null): WindowPlan {
  const windows = readPagedWindows(replica, tableId);
  return { created: null, why, joined: windows.filter((window) => window !== FIRST_WINDOW) };
}

/** Notes how a table is read; rows of windows that join another are suspects until they are seen there. */
export function storeWindows(tx: Tx, tableId: number, { why, joined }: WindowPlan): void {
  if (readTable(tx, tableId).oneWindow !== why) storeFacts(tx, tableId, { one_window: why });
  for (const window of joined) dropPagesFrom(tx, tableId, { window, page: 0 });
}

/** A reason that was observed; it holds until the ETags are forgotten. */
function lieOf(why: string | null): OneWindow | null {
  return why === 'filter' || why === 'order' ? why : null;
}

/** The pages of a window contradict its filter or its order. */
export class WindowLie extends Error {
  override readonly name = 'WindowLie';
  readonly why: 'filter' | 'order';

  constructor(why: 'filter' | 'order') {
    super(`the windows of a table do not hold: ${why}`);
    this.why = why;
  }
}

/** The origin refuses the filter of a window; a column that is not there any more is drift. */
export function throwAsLie(thrown: unknown): never {
  const refusal = thrown instanceof RowsyncError ? thrown.refusal : null;
  if (refusal?.status === 400 && refusal.code !== NO_COLUMN_CODE) throw new WindowLie('filter');
  throw thrown;
}

/** Has the next sweep read in smaller pages, or without windows that do not hold; false for any other error. */
export async function readOtherwise(reading: TableReading, thrown: unknown): Promise<boolean> {
  if (!(thrown instanceof WindowLie)) return shrinkPages(reading, thrown);
  const { replica, log } = reading.context;
  const { id, localName } = reading.table.target;
  await requireFilter(reading);
  await replica.write(`Reading ${localName} as one window`, (tx) => {
    restartSweep(tx, id);
    storeWindows(tx, id, oneWindow(replica, id, thrown.why));
  });
  log.warn('windows.none', { table: localName, reason: thrown.why });
  return true;
}

/** Requests rows with the table's filter alone: if the origin refuses it, windows are not the cause. @throws that. */
async function requireFilter({ context: { origin, signal }, table: { address } }: TableReading): Promise<void> {
  if ((address.rows ?? null) === null) return;
  await origin.select({ table: address, columns: [], query: { columns: [], sort: [], top: 1 } }, { signal });
}

/** Halves pages after an answer that was too large; false for another error, or at the smallest. Forgets ETags. */
export async function shrinkPages({ context, table }: TableReading, thrown: unknown): Promise<boolean> {
  if (!(thrown instanceof RowsyncError) || thrown.code !== 'origin.tooLarge') return false;
  const { replica, log } = context;
  const { id, localName } = table.target;
  const pageRows = smallerPage(table.pageRows);
  if (pageRows === null) return false;
  await replica.write(`Halving the pages of ${localName}`, (tx) => {
    storeFacts(tx, id, { page_rows: pageRows });
    forgetEtags(tx, id);
  });
  log.info('pages.halved', { table: localName, rowCount: pageRows });
  return true;
}
