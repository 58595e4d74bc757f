/**
 * A sweep: a conditional read of every page of one table, applied page by page as answers arrive. An unfinished sweep is
 * resumed, because every applied page carries the number of its sweep (I10, I13). Loops that send requests, and their bounds:
 *
 *    pages of one pass        the cursor stops behind the first page that is not full, or at REPEATED_PAGES_MAX that are the one before
 *    passes over torn pages   REPAIR_ROUNDS_MAX
 *    proof of the end         one request, once per small table and identity
 *    suspects                 suspects.ts, one request per batch
 */
import { RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { finishSwitch } from '../capture/mode.ts';
import { isSameMap, judgePages, pageSkip, planRepair, REPAIR_ROUNDS_MAX } from '../reconcile/pages.ts';
import { closeSweep, openSweep, readTable } from '../replica/ledger.ts';
import {
  notePage,
  dropPagesFrom,
  provePages,
  readPages,
  type AnsweredPage,
  type KnownPage,
  type Proof,
} from '../replica/pages.ts';
import type { SelectParameters } from '../wire/query.ts';
import type { PreparedTable, PullContext } from './context.ts';
import { writeInShape } from './describe.ts';
import { storeRows } from './store.ts';
import { PageCursor, samePageError } from './cursor.ts';
import { runPool } from '../base/pool.ts';

/**
 * Requests that wait for a free connection beside those under way, so that none stands idle while a page is stored. The
 * pages held in memory are bounded by `limits.concurrency` plus this.
 */
const WAITING_MAX = 2;
/** Pages proven by 304 that are noted in one transaction; a crash forgets them, and they are asked for again. */
const PROOFS_MAX = 64;

/** What a sweep did; counts are rows unless the name says otherwise. */
export interface SweepCounts {
  insertedCount: number;
  updatedCount: number;
  pagesReadCount: number;
  pagesNotModifiedCount: number;
}

/** What the sweeps of one table within one pull add to. */
export interface SweepTally {
  readonly counts: SweepCounts;
  /** Pages reported as progress; a page that is read again counts once. */
  readonly reportedPages: Set<number>;
}

/**
 * Reads every page of a prepared table and proves that the pages fit together. Afterwards all rows that the origin
 * returned stand in the replica; rows that it did not return are suspects.
 * @throws RowsyncError of the origin, `origin.moving`, `origin.shortPage`, `origin.samePage`, or of the replica; what was applied stays.
 */
export async function sweepPages(context: PullContext, table: PreparedTable, tally: SweepTally): Promise<void> {
  const sweep = await context.replica.write(`Starting a sweep of ${table.target.localName}`, (tx) =>
    openSweep(tx, table.target.id, now(context)),
  );
  const pass: Pass = { context, table, sweep, tally, proofs: [] };
  await readPass(pass, 0, 'resume');
  let before: readonly KnownPage[] | null = null;
  let wasInFull = false;
  for (let round = 1; ; round += 1) {
    await dropBehindEnd(pass);
    const pages = readPages(context.replica, table.target.id);
    const verdict = judgePages(pages, context.settings.pageRows);
    const behind = verdict.kind === 'whole' ? await findRowsBehind(pass) : null;
    const isSame = before !== null && isSameMap(before, pages);
    const step = planRepair({ verdict, shortPage: behind?.page ?? null, round, isSame, wasInFull });
    if (step.kind === 'done') return;
    if (step.kind === 'giveUp') {
      if (behind === null || step.why !== 'short') throw movingError(table);
      throw behind.isSamePage
        ? samePageError(table.address.name)
        : shortPageError(table, behind, context.settings.pageRows);
    }
    wasInFull ||= step.inFull;
    before = pages;
    context.log.info('sweep.torn', { table: table.target.localName, page: step.from, round });
    await readPass(pass, step.from, step.inFull ? 'repairInFull' : 'repair');
  }
}

/** Marks the sweep of a table as finished, once its suspects are settled or held; `watermark`: a stamp from before it began, or null. */
export async function finishSweep(context: PullContext, table: PreparedTable, watermark: string | null): Promise<void> {
  const switched = await context.replica.write(`Finishing the sweep of ${table.target.localName}`, (tx) => {
    closeSweep(tx, table.target.id, { at: now(context), watermark });
    return finishSwitch(tx, table.target.id);
  });
  if (switched) context.replica.forgetStatements();
}

interface Pass {
  readonly context: PullContext;
  readonly table: PreparedTable;
  readonly sweep: number;
  readonly tally: SweepTally;
  /** Pages that were answered 304 and are not noted yet. */
  readonly proofs: Proof[];
}

function now(context: PullContext): string {
  return stampFromMs(context.clock.nowMs());
}

function pageQuery(pass: Pass, page: number): SelectParameters {
  const { selection } = pass.table;
  const { pageRows } = pass.context.settings;
  const sort = selection.sort.map((column) => ({ column }));
  return { columns: selection.columns, sort, top: pageRows, skip: pageSkip(page, pageRows) };
}

/** What a pass over the pages is for; `repairInFull` sends no ETags. */
type PassKind = 'resume' | 'repair' | 'repairInFull';

/**
 * Reads the pages from `from` on. To `resume`, those that this sweep has proven already are left out, and those behind the end
 * are not asked for. Any other pass repairs a page map that contradicts itself, and asks for all it knows.
 */
async function readPass(pass: Pass, from: number, kind: PassKind): Promise<void> {
  const { context, table } = pass;
  const { pageRows, concurrency } = context.settings;
  const pages = readPages(context.replica, table.target.id);
  const byPage = new Map(pages.map((page) => [page.page, page]));
  const lastKnown = pages.at(-1)?.page ?? -1;
  const isSettled = (page: KnownPage): boolean =>
    page.page < from || (kind === 'resume' && page.sweep === pass.sweep && isSameUrl(pass, page));
  const settled = pages.filter(isSettled);
  const settledPages = new Set(settled.map(({ page }) => page));
  const cursor = new PageCursor({
    // A sweep that was cut off leaves holes in the page map, so every number up to the last one counts.
    known: Array.from({ length: lastKnown + 1 }, (_, page) => page).filter((page) => !settledPages.has(page)),
    firstFresh: lastKnown + 1,
    pageRows,
    ahead: concurrency + WAITING_MAX,
    asksBehindEnd: kind !== 'resume',
  });
  for (const page of settled) cursor.answered(page.page, page.rowCount);
  await runPool(
    () => cursor.next(),
    concurrency + WAITING_MAX,
    (page) => readPage(pass, page, { known: byPage.get(page), cursor, inFull: kind === 'repairInFull' }),
  );
  await noteProofs(pass);
  if (cursor.isRepeating) throw samePageError(table.address.name);
}

function isSameUrl(pass: Pass, page: KnownPage): boolean {
  return page.url === pass.context.origin.selectUrl(pass.table.address, pageQuery(pass, page.page));
}

/** Asks for one page and applies the answer. The cursor hears of it first, so that the next request leaves meanwhile. */
async function readPage(
  pass: Pass,
  page: number,
  { known, cursor, inFull }: { known: KnownPage | undefined; cursor: PageCursor; inFull: boolean },
): Promise<void> {
  const { context, table } = pass;
  const query = pageQuery(pass, page);
  const url = context.origin.selectUrl(table.address, query);
  const etag = known?.url === url && !inFull ? known.etag : null;
  const request = { table: table.address, columns: table.shapes, query };
  const answer = await context.origin.select(request, { etag, signal: context.signal });
  if (answer.kind === 'notModified') {
    const rowCount = known?.rowCount ?? 0;
    cursor.answered(page, rowCount);
    pass.tally.counts.pagesNotModifiedCount += 1;
    pass.proofs.push({ page, at: now(context) });
    progress(pass, page, rowCount, true);
    if (pass.proofs.length >= PROOFS_MAX) await noteProofs(pass);
    return;
  }
  const { ids } = answer.value;
  cursor.answered(page, ids.length, ids[0] ?? null);
  await storePage(pass, { page, url, etag: answer.etag, content: answer.value });
}

async function storePage(pass: Pass, answered: Pick<AnsweredPage, 'page' | 'url' | 'etag' | 'content'>): Promise<void> {
  const { context, table, sweep, tally } = pass;
  const { page, content } = answered;
  const what = `Storing page ${page} of ${table.target.localName}`;
  const changes = await writeInShape(context, table, { what, answer: content }, (tx) => {
    const at = now(context);
    const stored = storeRows(tx, table, content.rows, at);
    notePage(tx, table.target.id, { ...answered, sweep, at }, stored);
    return stored;
  });
  tally.counts.insertedCount += changes.insertedCount;
  tally.counts.updatedCount += changes.updatedCount;
  tally.counts.pagesReadCount += 1;
  progress(pass, page, content.ids.length, false);
}

async function noteProofs({ context, table, sweep, proofs }: Pass): Promise<void> {
  const batch = proofs.splice(0);
  if (batch.length === 0) return;
  await context.replica.write(
    `Noting unchanged pages of ${table.target.localName}`,
    (tx) => provePages(tx, table.target.id, sweep, batch),
    context.signal,
  );
}

/** Reports a page once; the row that it shares with the page before is not counted again. */
function progress(pass: Pass, page: number, rowCount: number, notModified: boolean): void {
  const { reportedPages } = pass.tally;
  if (reportedPages.has(page)) return;
  reportedPages.add(page);
  const ownRowCount = page === 0 ? rowCount : Math.max(0, rowCount - 1);
  pass.context.onProgress?.({ kind: 'page', table: pass.table.target.localName, rowCount: ownRowCount, notModified });
}

/**
 * Drops the pages of earlier sweeps that lie behind the end which this sweep found. Pages that this sweep has read stay:
 * rows on them would show that the end is none.
 */
async function dropBehindEnd(pass: Pass): Promise<void> {
  const { context, table } = pass;
  const pages = readPages(context.replica, table.target.id);
  const end = pages.find(({ rowCount, sweep }) => sweep === pass.sweep && rowCount < context.settings.pageRows);
  if (end === undefined) return;
  const behind = pages.filter(({ page }) => page > end.page);
  if (behind.length === 0 || behind.some(({ sweep, rowCount }) => sweep === pass.sweep && rowCount > 0)) return;
  await context.replica.write(`Dropping pages of ${table.target.localName}`, (tx) => {
    dropPagesFrom(tx, table.target.id, end.page + 1);
  });
}

/** Rows that follow a page which looked like the last one. */
interface RowsBehind {
  readonly page: number;
  readonly pageRowCount: number;
  readonly followingCount: number;
  /** Whether they begin with the row with which the page itself began. */
  readonly isSamePage: boolean;
}

/**
 * Asks once per table what lies behind its only page. An origin (or a proxy) that returned fewer rows than were asked for would
 * look like the end of the table. Rows would then be missing without a trace. Behind several pages there is nothing to prove: all
 * but the last are full, so the origin does return what it is asked for.
 */
async function findRowsBehind(pass: Pass): Promise<RowsBehind | null> {
  const { context, table } = pass;
  if (readTable(context.replica, table.target.id).endProven) return null;
  const [last, ...others] = readPages(context.replica, table.target.id);
  if (last === undefined || last.rowCount === 0 || others.length > 0) return null;
  const skip = pageSkip(last.page, context.settings.pageRows) + last.rowCount;
  const request = { table: table.address, columns: table.shapes, query: { ...pageQuery(pass, last.page), skip } };
  const answer = await context.origin.select(request, { signal: context.signal });
  if (answer.kind === 'notModified' || answer.value.ids.length === 0) return null;
  const { ids } = answer.value;
  const isSamePage = ids[0] === last.firstId;
  return { page: last.page, pageRowCount: last.rowCount, followingCount: ids.length, isSamePage };
}

function shortPageError(table: PreparedTable, behind: RowsBehind, pageRows: number): RowsyncError {
  const { pageRowCount, followingCount } = behind;
  return new RowsyncError('wireFormat', 'origin.shortPage', {
    message: `select of "${table.address.name}": a page of ${pageRowCount} rows came where ${pageRows} were asked for, yet ${followingCount} more rows follow`,
    hint: `The origin seems to limit its pages; set limits.pageRows to ${Math.max(2, pageRowCount)}.`,
  });
}

function movingError(table: PreparedTable): RowsyncError {
  return new RowsyncError('originDown', 'origin.moving', {
    message: `${table.target.localName}: rows kept moving between pages while they were read (${REPAIR_ROUNDS_MAX} rounds)`,
    hint: 'Everything that was read is stored; the next run reads the rest. Pull at a quieter time if this stays.',
  });
}
