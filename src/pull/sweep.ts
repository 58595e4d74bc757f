/**
 * A sweep: a conditional read of every page of one table, applied page by page as answers arrive. An unfinished sweep
 * is resumed, because every applied page carries the number of its sweep (I10, I13). Its loops of requests are bounded:
 *
 *    pages of one pass           the cursor stops behind the end of a window, or at REPEATED_PAGES_MAX alike
 *    passes over shifted pages   REPAIR_ROUNDS_MAX a window
 *    proof of the end            one request, once per small table and identity
 *    suspects                    suspected-deletes.ts, one request per batch
 */
import { must } from '../base/assert.ts';
import { stampFromMs } from '../base/clock.ts';
import type { RowsyncError } from '../base/errors.ts';
import { finishSwitch } from '../capture/sync-mode.ts';
import {
  createdColumn,
  cutWindow,
  endOfWindow,
  FIRST_WINDOW,
  judgeStamps,
  NO_STAMP_WINDOW,
  WINDOW_PAGES,
  windowFilter,
  type PageStamps,
  judgePages,
  pageSkip,
  planRepair,
  type PageEdges,
} from '../reconcile/windows.ts';
import { closeSweep, openSweep } from '../replica/bookkeeping/sweeps.ts';
import {
  clearSeenSuspects,
  notePage,
  dropPagesFrom,
  provePages,
  readPagedWindows,
  readPages,
  type AnsweredPage,
  type KnownPage,
  type PagePlace,
} from '../replica/bookkeeping/pages.ts';
import { suspectsCreated } from '../replica/bookkeeping/suspects.ts';
import type { Tx } from '../replica/connection.ts';
import type { RowChanges } from '../replica/rows.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import type { SelectParameters } from '../wire/request-paths.ts';
import type { RowPage } from '../wire/schema.ts';
import type { PullContext, TablePull, TableReading } from './context.ts';
import { requireShapeOf } from './table-description.ts';
import { proveDeletes } from './suspected-deletes.ts';
import { planWindows, storeWindows, throwAsLie, WindowLie } from './windows.ts';
import { movingRowsError, PageCursor, samePageError, shortPageError } from './page-cursor.ts';
import { runPool } from '../base/concurrency.ts';
import { confirmedRows, storeAnswer } from '../capture/writer/store-origin-rows.ts';

/** Requests beyond `limits.concurrency`, so that none is idle while a page is stored; bounds the pages in memory. */
const WAITING_MAX = 2;
/** Pages proven by 304 that are noted in one transaction; a crash forgets them, and they are requested again. */
const PROOFS_MAX = 256;

/** Reads every page and proves that they fit together; missing rows are suspects. @throws WindowLie, RowsyncError. */
export async function sweepPages(run: TablePull): Promise<void> {
  const { context } = run;
  const { target } = run.table;
  const plan = planWindows(run);
  const sweep = await context.replica.write(`Starting a sweep of ${target.localName}`, (tx) => {
    storeWindows(tx, target.id, plan);
    return openSweep(tx, target.id, now(context));
  });
  await readWindows({ ...run, sweep, proofs: [], created: plan.created }, null);
}

/** Reads windows outside of a sweep; false if a sweep has to look. @throws RowsyncError as `sweepPages`. */
export async function sweepWindows(run: TablePull, windows: readonly string[]): Promise<boolean> {
  const { context, table } = run;
  const { replica } = context;
  const { localName } = table.target;
  const created = createdColumn(table.descriptor.columns)?.name ?? null;
  const { sweep } = readTable(replica, table.target.id);
  const before = readPagedWindows(replica, table.target.id);
  try {
    await readWindows({ ...run, sweep, proofs: [], created }, new Set(windows));
  } catch (thrown) {
    if (thrown instanceof WindowLie) return false;
    throw thrown;
  }
  const target = confirmedRows(table);
  await replica.write(`Looking for the missing rows of ${localName}`, (tx) => clearSeenSuspects(tx, target));
  // Earlier suspects too: a row that was followed, and deleted since, is on no page that it could leave.
  const column = target.columns[table.shapes.findIndex(({ name }) => name === created)]?.localName;
  const left = windows.flatMap((window) => {
    const from = window === NO_STAMP_WINDOW ? null : window;
    return column === undefined
      ? []
      : suspectsCreated(replica, target, { column, from, end: endOfWindow(before, window) });
  });
  return left.length === 0 || (await proveDeletes(run, left));
}

/** Reads some windows of a table, even if they were read before; null for all of a sweep. @throws as `sweepPages`. */
async function readWindows(pass: Pass, only: ReadonlySet<string> | null): Promise<void> {
  const before = new Set(only === null ? [] : readPagedWindows(pass.context.replica, pass.table.target.id));
  let proven = await readPass(pass, { only, from: 0, kind: only === null ? 'resume' : 'repair' });
  const rounds = new Map<string, number>();
  for (;;) {
    // Read once for all windows: a window that is repaired changes its own pages, and the windows that it is cut into.
    const pages = proven ?? pagesByWindow(pass);
    proven = null;
    const windows = [...pages.keys()];
    let repaired = false;
    for (const [window, known] of pages) {
      // A new window follows a window that was cut.
      if (only !== null && !only.has(window) && before.has(window)) continue;
      const end = endOfWindow(windows, window);
      const edges = known.map((page) => ({ ...page, isEnd: isEndPage(pass, page, end) }));
      const round = (rounds.get(window) ?? 0) + 1;
      const judged = { window, pages: await dropBehindEnd(pass, edges), isAlone: windows.length === 1 };
      if (await repairWindow(pass, judged, round)) {
        rounds.set(window, round);
        repaired = true;
      }
    }
    if (!repaired) return; // ends: each window has a bounded number of rounds, and only full windows are cut
  }
}

/** A window with its pages; `isAlone`: it is the only one of its table. */
interface JudgedWindow {
  readonly window: string;
  readonly pages: readonly (KnownPage & PageEdges)[];
  readonly isAlone: boolean;
}

/** Judges the pages of a window, and reads them once more if they do not fit together; false if they do. */
async function repairWindow(pass: Pass, { window, pages, isAlone }: JudgedWindow, round: number): Promise<boolean> {
  const { context, table } = pass;
  const verdict = judgePages(pages);
  const [page, ...others] = pages;
  const isOnly = isAlone && others.length === 0;
  const short = verdict.kind === 'complete' && isOnly && page !== undefined ? await shortProblem(pass, page) : null;
  const step = planRepair({ verdict, isShort: short !== null, round });
  if (step.kind === 'done') return false;
  if (step.kind === 'giveUp') throw short ?? movingRowsError(table.target.localName);
  context.log.info('sweep.torn', { table: table.target.localName, page: step.from, round });
  await readPass(pass, { only: new Set([window]), from: step.from, kind: step.inFull ? 'repairInFull' : 'repair' });
  return true;
}

/** Finishes a sweep whose suspects are settled or held; `watermark`: a stamp from before it began, or null. */
export async function finishSweep({ context, table }: TableReading, watermark: string | null): Promise<void> {
  await context.replica.write(`Finishing the sweep of ${table.target.localName}`, (tx) => {
    closeSweep(tx, table.target.id, { at: now(context), watermark, filter: table.address.rows ?? null });
    finishSwitch(tx, table.target.id);
  });
}

interface Pass extends TablePull {
  readonly sweep: number;
  /** Pages answered 304 that are not noted yet, and when they were. */
  readonly proofs: (PagePlace & { readonly atMs: number })[];
  /** Name of the creation time; null if the table is read as one window. */
  readonly created: string | null;
}

function now(context: PullContext): string {
  return stampFromMs(context.clock.nowMs());
}

function windowPages({ context, created }: Pass): number {
  return created === null ? Number.POSITIVE_INFINITY : (context.settings.windowPages ?? WINDOW_PAGES);
}

type PageMap = ReadonlyMap<string, readonly KnownPage[]>;

/** The page map by window, in order; the first window always. */
function pagesByWindow({ context, table }: Pass): PageMap {
  const pages = Map.groupBy(readPages(context.replica, table.target.id), ({ window }) => window);
  return pages.has(FIRST_WINDOW) ? pages : new Map([[FIRST_WINDOW, []], ...pages]);
}

function isEndPage(
  { table }: Pass,
  { rowCount, lastStamp }: Pick<KnownPage, 'rowCount' | 'lastStamp'>,
  end: string | null,
): boolean {
  return rowCount < table.pageRows || (end !== null && lastStamp !== null && lastStamp >= end);
}

function pageQuery(pass: Pass, { window, page }: PagePlace): SelectParameters {
  const { selection, pageRows } = pass.table;
  const sort = selection.sort.map((column) => ({ column }));
  const filter = pass.created === null ? undefined : windowFilter(window, pass.created);
  return { columns: selection.columns, sort, filter, top: pageRows, skip: pageSkip(page, pageRows) };
}

/** The purpose of a pass over the pages; `repairInFull` sends no ETags. */
type PassKind = 'resume' | 'repair' | 'repairInFull';

/** The range of a pass: some windows or, for null, all, each from a given page. */
interface PassPlan {
  readonly only: ReadonlySet<string> | null;
  readonly from: number;
  readonly kind: PassKind;
}

interface RunningPass extends Pass {
  readonly kind: PassKind;
  /** By window, in the order in which windows are read. */
  readonly cursors: Map<string, PageCursor>;
  /** The page map when the pass began, by window and page. */
  readonly known: PageMap;
  /** The current windows. */
  readonly windows: string[];
}

/** Reads pages: to `resume` those not proven yet, else all known. Returns the page map if each was proven as it was. */
async function readPass(pass: Pass, { only, from, kind }: PassPlan): Promise<PageMap | null> {
  const { context, table, sweep, counts } = pass;
  const { concurrency } = context.settings;
  const known = pagesByWindow(pass);
  const before = { ...counts };
  const windows = [...known.keys()];
  const reading: RunningPass = { ...pass, kind, cursors: new Map(), known, windows };
  if (windows.length > 1 && !windows.includes(NO_STAMP_WINDOW)) windows.push(NO_STAMP_WINDOW);
  const settled = windows
    .filter((window) => only?.has(window) ?? true)
    .flatMap((window) => addWindow(reading, window, from));
  for (const page of settled) noteAnswer(reading, page, { ...page, firstId: null, isShifted: false });
  try {
    await runPool(
      () => nextPage(reading),
      concurrency + WAITING_MAX,
      (place) => readPage(reading, place),
    );
  } catch (thrown) {
    // As far as it can be written: a sweep that is cut off again and again must get on.
    await noteProofs(pass).catch(() => undefined);
    throw thrown;
  }
  await noteProofs(pass);
  if (reading.cursors.values().some(({ isRepeating }) => isRepeating)) throw samePageError(table.address.name);
  const provenCount = settled.length + counts.pagesNotModifiedCount - before.pagesNotModifiedCount;
  const pageCount = known.values().reduce((sum, pages) => sum + pages.length, 0);
  const isChanged = counts.pagesReadCount > before.pagesReadCount;
  if (kind !== 'resume' || isChanged || provenCount < pageCount) return null;
  return new Map(known.entries().map(([window, pages]) => [window, pages.map((page) => ({ ...page, sweep }))]));
}

/** The page to request next; null if answers must come in first, or all pages were requested. */
function nextPage({ cursors }: RunningPass): PagePlace | null {
  for (const [window, cursor] of cursors) {
    const page = cursor.next();
    if (page !== null) return { window, page };
  }
  return null;
}

/** Adds a window to the pass, after those that were added before; returns its pages that need no request. */
function addWindow(reading: RunningPass, window: string, from: number): readonly KnownPage[] {
  const pages = reading.known.get(window) ?? [];
  const lastKnown = pages.at(-1)?.page ?? -1;
  const isSettled = (page: KnownPage): boolean =>
    page.page < from || (reading.kind === 'resume' && page.sweep === reading.sweep && isSameUrl(reading, page));
  const settled = pages.filter(isSettled);
  const settledPages = new Set(settled.map(({ page }) => page));
  const cursor = new PageCursor({
    // A sweep that was cut off leaves holes in the page map, so every number up to the last one counts.
    known: Array.from({ length: lastKnown + 1 }, (_, page) => page).filter((page) => !settledPages.has(page)),
    firstFresh: lastKnown + 1,
    ahead: reading.context.settings.concurrency + WAITING_MAX,
    asksBehindEnd: reading.kind !== 'resume',
    windowPages: window === NO_STAMP_WINDOW ? undefined : windowPages(reading),
    asksLastFirst: window !== FIRST_WINDOW && window !== NO_STAMP_WINDOW,
  });
  reading.cursors.set(window, cursor);
  return settled;
}

function isSameUrl(pass: Pass, page: KnownPage): boolean {
  return page.url === pass.context.origin.selectUrl(pass.table.address, pageQuery(pass, page));
}

/** Notes an answer before its rows are stored, so that the next request leaves. Returns whether it ends the window. */
function noteAnswer(
  reading: RunningPass,
  { window, page }: PagePlace,
  answer: Pick<KnownPage, 'rowCount' | 'firstId' | 'lastStamp' | 'tieCount'> & { readonly isShifted: boolean },
): boolean {
  const { windows, known, cursors } = reading;
  const end = endOfWindow(windows, window);
  const lastKnown = known.get(window)?.at(-1)?.page ?? -1;
  const isFull = answer.rowCount >= reading.table.pageRows;
  const next = cutWindow({ ...answer, window, page, end, isFull, lastKnown, windowPages: windowPages(reading) });
  const cursor = cursors.get(window);
  cursor?.answered(page, isEndPage(reading, answer, end), answer.firstId);
  if (next === null) return false;
  cursor?.cutBehind(page);
  for (const added of [next, NO_STAMP_WINDOW]) {
    if (windows.includes(added)) continue;
    windows.push(added);
    addWindow(reading, added, 0);
  }
  windows.sort();
  return true;
}

/** Requests one page and applies the answer. */
async function readPage(reading: RunningPass, place: PagePlace): Promise<void> {
  const { context, table } = reading;
  const known = reading.known.get(place.window)?.find(({ page }) => page === place.page);
  const query = pageQuery(reading, place);
  const url = context.origin.selectUrl(table.address, query);
  const etag = known?.url === url && reading.kind !== 'repairInFull' ? known.etag : null;
  const request = { table: table.address, columns: table.shapes, query };
  const coming = context.origin.select(request, { etag, signal: context.signal });
  const answer = await (query.filter === undefined ? coming : coming.catch(throwAsLie));
  // The window was cut before this page while the answer was on its way.
  if (reading.cursors.get(place.window)?.isCutBefore(place.page) === true) return;
  if (answer.kind === 'notModified') {
    const page = must(known, 'a 304 implies a stored ETag');
    noteAnswer(reading, place, { ...page, firstId: null, isShifted: false });
    reading.counts.pagesNotModifiedCount += 1;
    reading.proofs.push({ ...place, atMs: context.clock.nowMs() });
    progress(reading, place, page.rowCount);
    if (reading.proofs.length >= PROOFS_MAX) await noteProofs(reading);
    return;
  }
  const { value: content } = answer;
  const { lie, ...stamps } = stampsOfPage(reading, place.window, content);
  if (lie !== null && reading.windows.length > 1) throw new WindowLie(lie);
  const { ids } = content;
  const isShifted = known !== undefined && known.lastId !== (ids.at(-1) ?? null);
  const page = { rowCount: ids.length, firstId: ids[0] ?? null, ...stamps, isShifted };
  const isCut = noteAnswer(reading, place, page);
  await storePage(reading, { ...place, ...stamps, url, etag: answer.etag, content }, isCut);
}

/** The creation times of a page; not read for a table with one window. */
function stampsOfPage({ created, table }: Pass, window: string, { ids, rows }: RowPage): PageStamps {
  const index = table.shapes.findIndex(({ name }) => name === created);
  if (index < 0) return { lastStamp: null, tieCount: ids.length, lie: null };
  let next = 0;
  const stamps = ids.map((id) => {
    const row = rows[next];
    if (row?.id !== id) return undefined; // the row could not be read
    next += 1;
    const stamp = row.values[index];
    return typeof stamp === 'string' ? stamp : null;
  });
  return judgeStamps(window, stamps);
}

async function storePage(pass: Pass, answered: Omit<AnsweredPage, 'sweep' | 'at'>, isCut: boolean): Promise<void> {
  const { context, table, sweep, counts } = pass;
  const { page, content } = answered;
  await requireShapeOf(pass, content);
  const store = (tx: Tx): RowChanges => {
    const at = now(context);
    const stored = storeAnswer(tx, table, content, { at, offPage: [] });
    notePage(tx, table.target.id, { ...answered, sweep, at });
    if (isCut) dropPagesFrom(tx, table.target.id, { window: answered.window, page: page + 1 });
    return stored;
  };
  const changes = await context.replica.write(
    `Storing page ${page} of ${table.target.localName}`,
    store,
    context.signal,
  );
  counts.insertedCount += changes.insertedCount;
  counts.updatedCount += changes.updatedCount;
  counts.pagesReadCount += 1;
  progress(pass, answered, content.ids.length);
}

async function noteProofs({ context, table, sweep, proofs }: Pass): Promise<void> {
  const [first, ...others] = proofs.splice(0);
  if (first === undefined) return;
  const proof = { sweep, at: stampFromMs(first.atMs), pages: [first, ...others] };
  await context.replica.write(
    `Noting unchanged pages of ${table.target.localName}`,
    (tx) => provePages(tx, table.target.id, proof),
    context.signal,
  );
}

/** Tells how many rows came; the row that a page shares with the one before is not counted again. */
function progress({ context, table }: Pass, { page }: PagePlace, rowCount: number): void {
  const ownRowCount = page === 0 ? rowCount : Math.max(0, rowCount - 1);
  context.onProgress?.({ kind: 'page', table: table.target.localName, rowCount: ownRowCount });
}

/** Drops the pages after the end of a window, unless rows on them prove that wrong. Returns the pages that stay. */
async function dropBehindEnd<P extends KnownPage & PageEdges>(pass: Pass, pages: readonly P[]): Promise<readonly P[]> {
  const { context, table, sweep } = pass;
  const end = pages.find((page) => page.sweep === sweep && page.isEnd);
  if (end === undefined) return pages;
  const behind = pages.filter(({ page }) => page > end.page);
  if (behind.length === 0) return pages;
  const isNotFull = end.rowCount < table.pageRows;
  if (isNotFull && behind.some((page) => page.sweep === sweep && page.rowCount > 0)) return pages;
  await context.replica.write(`Dropping pages of ${table.target.localName}`, (tx) => {
    dropPagesFrom(tx, table.target.id, { window: end.window, page: end.page + 1 });
  });
  return pages.filter(({ page }) => page <= end.page);
}

/** Asks once for rows after the only page: cut short, it looks like the end. Several pages prove that they are full. */
async function shortProblem(pass: Pass, last: KnownPage): Promise<RowsyncError | null> {
  const { context, table } = pass;
  if (last.rowCount === 0 || readTable(context.replica, table.target.id).endProven) return null;
  const skip = pageSkip(last.page, table.pageRows) + last.rowCount;
  const request = { table: table.address, columns: table.shapes, query: { ...pageQuery(pass, last), skip } };
  const { ids } = (await context.origin.select(request, { signal: context.signal })).value;
  if (ids.length === 0) return null;
  if (ids[0] === last.firstId) return samePageError(table.address.name);
  return shortPageError(table, { pageRowCount: last.rowCount, followingCount: ids.length });
}
