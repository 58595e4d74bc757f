/**
 * Windows: half-open ranges of the creation time that tile a table. A window has the name of its first stamp, and ends
 * where the next one begins. The first begins with the first row and the last has no end. Creation times never change,
 * so a row that comes or goes shifts the pages of its own window only. Its pages are requested without an upper bound,
 * and end with the first that reaches the next window, so a new window invalidates no earlier page.
 *
 * Neighbouring pages of a window share one row: page k starts at row k × (pageRows − 1). Rows that are deleted or
 * inserted during a sweep shift all later rows. Then the last row of one page is not the first row of the next. Such
 * pages are read again: conditionally, and the last time in full. Otherwise a delete during a sweep would hide a row.
 * Pure.
 */
import { columnReference, timestampLiteral } from '../wire/formula.ts';
import { columnType, isWritable, type ColumnDescriptor } from '../wire/schema.ts';

/** The window that begins with the first row of the table; it is requested without a filter. */
export const FIRST_WINDOW = '';

/** The window of rows without a creation time; it exists only beside others, and is sorted behind every stamp. */
export const NO_STAMP_WINDOW = 'none';

/** Pages of a window: some thousand rows, so that a delete costs few pages, and windows cost few requests. */
export const WINDOW_PAGES = 16;

/** Why a table has one window: hidden creation time · another order configured · the origin's filter or order fails. */
export type OneWindow = 'hidden' | 'sort' | 'filter' | 'order';

/** Name of the creation time among the six system columns (origin facts, 2.3). */
const CREATED_COLUMN = 'date created';

/** The column of the creation time; null if the calling user does not see it. */
export function createdColumn(columns: readonly ColumnDescriptor[]): ColumnDescriptor | null {
  const isCreated = (column: ColumnDescriptor): boolean =>
    column.name.toLowerCase() === CREATED_COLUMN && columnType(column.type) === 'Timestamp' && !isWritable(column);
  return columns.find(isCreated) ?? null;
}

/** Why a table cannot have windows, from its order and columns; null if it can. */
export function whyOneWindow(
  created: Pick<ColumnDescriptor, 'name'> | null,
  sort: readonly string[],
): OneWindow | null {
  if (created === null) return 'hidden';
  return sort[0] === created.name ? null : 'sort';
}

/** The filter of a window, by the name of the creation time; undefined for the first one. */
export function windowFilter(window: string, created: string): string | undefined {
  if (window === FIRST_WINDOW) return undefined;
  if (window === NO_STAMP_WINDOW) return `IsNull(${columnReference(created)})`;
  return `${columnReference(created)} >= ${timestampLiteral(window)}`;
}

/** The beginning of the next window; null without one. `windows` are in order, and may hold the one without stamps. */
export function endOfWindow(windows: readonly string[], window: string): string | null {
  return windows.find((other) => other > window && other !== NO_STAMP_WINDOW) ?? null;
}

/** The result of reading the creation times of a page. */
export interface PageStamps {
  /** Creation time of its last readable row, to the second; null for none. */
  readonly lastStamp: string | null;
  /** Rows from the first one with that second to the end of the page. */
  readonly tieCount: number;
  /** What does not hold: the filter, or the order; null if both do. */
  readonly lie: 'filter' | 'order' | null;
}

/** Reads the creation times of a page, in order: null for a row without one, undefined for one that cannot be read. */
export function judgeStamps(window: string, stamps: readonly (string | null | undefined)[]): PageStamps {
  const seconds = stamps.map((stamp) => (typeof stamp === 'string' ? secondOf(stamp) : stamp));
  const readable = seconds.filter((second) => second !== undefined);
  const lastStamp = readable.at(-1) ?? null;
  const tieCount = seconds.length - (lastStamp === null ? 0 : seconds.indexOf(lastStamp));
  return { lastStamp, tieCount, lie: lieOf(window, readable) };
}

function lieOf(window: string, seconds: readonly (string | null)[]): PageStamps['lie'] {
  if (window === NO_STAMP_WINDOW) return seconds.some((second) => second !== null) ? 'filter' : null;
  if (window !== FIRST_WINDOW && seconds.some((second) => second === null || second < window)) return 'filter';
  const dated = seconds.filter((second) => second !== null);
  return dated.some((second, index) => second < (dated[index - 1] ?? '')) ? 'order' : null;
}

export interface CutFacts extends Pick<PageStamps, 'lastStamp' | 'tieCount'> {
  readonly window: string;
  /** The end of the window; null for the last one. */
  readonly end: string | null;
  readonly page: number;
  readonly rowCount: number;
  /** Whether the page has as many rows as requested. */
  readonly isFull: boolean;
  /** The last page of the window that the page map has; -1 for none. */
  readonly lastKnown: number;
  /** Whether the page ends with another row than before, so that later rows moved. */
  readonly isShifted: boolean;
  readonly windowPages: number;
}

/**
 * The beginning of the next window, if this page is to be the last one of its window; otherwise null. A window is cut
 * if it grows beyond its pages, or if later rows moved and have to be read anew in any case. Rows of one second stay
 * together, so the last ones of a page are read twice; if these are many, the window is cut at twice its size.
 */
export function cutWindow(facts: CutFacts): string | null {
  const { window, end, page, lastStamp, tieCount, rowCount, lastKnown } = facts;
  if (!facts.isFull || lastStamp === null) return null;
  if (tieCount >= rowCount || lastStamp <= window || (end !== null && lastStamp >= end)) return null;
  const pages = end === null ? facts.windowPages : facts.windowPages * 2;
  const isGrown = page >= lastKnown && page >= pages - 1;
  const isShifting = facts.isShifted && page >= pages - 1 && lastKnown >= pages * 2;
  const isCheap = (tieCount - 1) * 8 <= rowCount || page >= pages * 2 - 1;
  return (isGrown || isShifting) && isCheap ? lastStamp : null;
}

/** Windows that join the one before, by the pages of each in order: neighbours that shrank to half a window or less. */
export function planJoins(
  windows: readonly { readonly window: string; readonly pageCount: number }[],
  windowPages: number,
): readonly string[] {
  const joined: string[] = [];
  let before = 0;
  for (const { window, pageCount } of windows) {
    if (window === NO_STAMP_WINDOW) continue;
    if (window !== FIRST_WINDOW && before + pageCount <= windowPages / 2) {
      joined.push(window);
      before += pageCount;
    } else before = pageCount;
  }
  return joined;
}

/** How often shifted pages are read again within one sweep; a table that still moves then is left to the next sweep. */
export const REPAIR_ROUNDS_MAX = 5;

/**
 * Full pages in one pass that begin with the first row of the page before, after which no more are requested. A server
 * that ignores `skip`, such as a cache by path, never ends. Inserted rows can make one such page.
 */
export const REPEATED_PAGES_MAX = 16;

export interface PageEdges {
  readonly page: number;
  readonly rowCount: number;
  readonly firstId: number | null;
  readonly lastId: number | null;
  /** Whether the window ends on this page: it is not full, or has a row of the next window. */
  readonly isEnd: boolean;
}

export function pageSkip(page: number, pageRows: number): number {
  return page * (pageRows - 1);
}

/** A page shares a row with the next one, so that it has at least another one. */
const PAGE_ROWS_MIN = 2;

/** The page size to try after an answer that was too large; null if there is no smaller one. */
export function smallerPage(pageRows: number): number | null {
  return pageRows <= PAGE_ROWS_MIN ? null : Math.max(PAGE_ROWS_MIN, Math.floor(pageRows / 2));
}

/** How the pages fit: complete · shifted (read `from` and the following ones again) · the end is not reached. */
export type PagesVerdict =
  | { readonly kind: 'complete' }
  | { readonly kind: 'shifted'; readonly from: number }
  | { readonly kind: 'more'; readonly from: number };

/** Judges the pages of a window, by number. They end with the first that is the end; later ones must be empty. */
export function judgePages(pages: readonly PageEdges[]): PagesVerdict {
  for (let page = 0; ; page += 1) {
    const edges = pages[page];
    if (edges?.page !== page) return { kind: 'more', from: page };
    const previous = pages[page - 1];
    if (previous !== undefined && previous.lastId !== edges.firstId) return { kind: 'shifted', from: page - 1 };
    if (edges.isEnd) {
      const rowsBehind = pages.slice(page + 1).some(({ rowCount }) => rowCount > 0);
      return rowsBehind ? { kind: 'shifted', from: page } : { kind: 'complete' };
    }
  }
}

/** The facts when the page map was judged again, in round `round` of its repair, 1 after the first pass. */
export interface RepairFacts {
  readonly verdict: PagesVerdict;
  /** Whether rows follow the only page, which looked like the last one. */
  readonly isShort: boolean;
  readonly round: number;
}

/** What to do about the page map; `read`: pass over the pages once more, without ETags where `inFull`. */
export type RepairStep =
  | { readonly kind: 'done' }
  | { readonly kind: 'read'; readonly from: number; readonly inFull: boolean }
  | { readonly kind: 'giveUp' };

/** Decides on the next pass over the pages, or that there is none. */
export function planRepair({ verdict, isShort, round }: RepairFacts): RepairStep {
  if (verdict.kind === 'complete' && !isShort) return { kind: 'done' };
  if (round > REPAIR_ROUNDS_MAX) return { kind: 'giveUp' };
  // Pages that still contradict each other may have been wrong from the start: no "not modified" repairs them.
  const inFull = round === REPAIR_ROUNDS_MAX;
  // Pages before a tear, read before the rows shifted, would make the next tear: so all are requested again.
  const from = verdict.kind === 'complete' || (verdict.kind === 'shifted' && round > 1) ? 0 : verdict.from;
  return { kind: 'read', from, inFull };
}

export function secondOf(stamp: string): string {
  return stamp.length === 20 ? stamp : `${stamp.slice(0, 19)}Z`;
}
