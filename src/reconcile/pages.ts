/**
 * How a window of a table is cut into pages, and whether the pages that were read fit together.
 *
 * Neighbouring pages share one row: page k starts at row k × (pageRows − 1). Rows that are deleted or inserted during a sweep shift all later rows.
 * Then the last row of one page is not the first row of the next. Such torn pages are read again: conditionally, and once in full if that changes
 * nothing. Without the shared row, a delete during a sweep would hide a row without a trace. Pure.
 */

/** Times that torn pages are read again within one sweep; a table that still moves then is left to the next sweep. */
export const REPAIR_ROUNDS_MAX = 5;

/**
 * Full pages in one pass that begin with the first row of the page before, after which no more are requested. A server that ignores `skip`, such as a
 * cache by path, never reaches an end. One such page may be a coincidence, as rows are inserted meanwhile.
 */
export const REPEATED_PAGES_MAX = 16;

/** One page of a window, as in the page map. */
export interface PageEdges {
  readonly page: number;
  readonly rowCount: number;
  readonly firstId: number | null;
  readonly lastId: number | null;
  /** Whether the window ends on this page: it is not full, or has a row of the next window. */
  readonly isEnd: boolean;
}

/** Rows to skip for a page. */
export function pageSkip(page: number, pageRows: number): number {
  return page * (pageRows - 1);
}

/** A page shares a row with the next one, so that it has at least another one. */
const PAGE_ROWS_MIN = 2;

/** The page size to try after an answer that was too large; null if there is no smaller one. */
export function smallerPage(pageRows: number): number | null {
  return pageRows <= PAGE_ROWS_MIN ? null : Math.max(PAGE_ROWS_MIN, Math.floor(pageRows / 2));
}

/** Whether two page maps name the same edges, so that one fits together just as badly as the other. */
export function isSameMap(one: readonly PageEdges[], other: readonly PageEdges[]): boolean {
  const isSame = (page: PageEdges, index: number): boolean => {
    const { page: number, rowCount, firstId, lastId } = other[index] ?? {};
    return page.page === number && page.rowCount === rowCount && page.firstId === firstId && page.lastId === lastId;
  };
  return one.length === other.length && one.every(isSame);
}

/** How the pages fit: whole, or torn from `from` on (read these and the following ones again), or the end is not reached. */
export type PagesVerdict =
  | { readonly kind: 'whole'; readonly pageCount: number }
  | { readonly kind: 'torn'; readonly from: number }
  | { readonly kind: 'more'; readonly from: number };

/** Judges the pages of a window, ordered by number. They end with the first page that is the end; later pages must be empty. */
export function judgePages(pages: readonly PageEdges[]): PagesVerdict {
  for (let page = 0; ; page += 1) {
    const edges = pages[page];
    if (edges?.page !== page) return { kind: 'more', from: page };
    const previous = pages[page - 1];
    if (previous !== undefined && previous.lastId !== edges.firstId) return { kind: 'torn', from: page - 1 };
    if (edges.isEnd) {
      const rowsBehind = pages.slice(page + 1).some(({ rowCount }) => rowCount > 0);
      return rowsBehind ? { kind: 'torn', from: page } : { kind: 'whole', pageCount: page + 1 };
    }
  }
}

/** The facts when the page map was judged again, in round `round` of its repair, 1 after the first pass. */
export interface RepairFacts {
  readonly verdict: PagesVerdict;
  /** A page that looked like the last one although rows follow; null if none was found. */
  readonly shortPage: number | null;
  readonly round: number;
  /** Whether the map is what it was before the last pass. */
  readonly isSame: boolean;
  /** Whether a pass of this repair went without ETags already. */
  readonly wasInFull: boolean;
}

/**
 * What to do about the page map. done: it is whole · read: pass over the pages from `from` on once more, without ETags where `inFull` ·
 * giveUp: the origin keeps its pages too short (`short`), or rows keep moving.
 */
export type RepairStep =
  | { readonly kind: 'done' }
  | { readonly kind: 'read'; readonly from: number; readonly inFull: boolean }
  | { readonly kind: 'giveUp'; readonly why: 'short' | 'moving' };

/** Decides on the next pass over the pages, or that there is none. */
export function planRepair({ verdict, shortPage, round, isSame, wasInFull }: RepairFacts): RepairStep {
  if (verdict.kind === 'whole' && shortPage === null) return { kind: 'done' };
  if (shortPage !== null && isSame && wasInFull) return { kind: 'giveUp', why: 'short' };
  if (round > REPAIR_ROUNDS_MAX) return { kind: 'giveUp', why: 'moving' };
  // Pages that contradict each other, and did not change when read again, were wrong from the start: no "not modified" repairs them.
  const inFull = isSame && !wasInFull;
  // Pages before a tear, read before the rows shifted, would make the next tear: so all are requested again.
  const isRepeated = verdict.kind === 'torn' && round > 1 && !inFull;
  const torn = verdict.kind === 'whole' || isRepeated ? 0 : verdict.from;
  return { kind: 'read', from: shortPage ?? torn, inFull };
}

/** Bounds of a row count: at least `low`, at most `high`; null while no place after the end was found. */
export interface CountRange {
  readonly low: number;
  readonly high: number | null;
}

/** An error of an eighth is good enough for a time left. */
const ERROR_SHARE = 1 / 8;
/** Doublings before giving up; no table has 2^40 pages. */
const LOW_MAX = 2 ** 40;

/** How many rows to skip with the next request for one row; null once the count is known well enough. */
export function nextProbe({ low, high }: CountRange, pageRows: number): number | null {
  if (high === null) return low > LOW_MAX ? null : Math.max(pageRows, low * 2);
  const isNarrow = high - low <= Math.max(pageRows, low * ERROR_SHARE);
  return isNarrow ? null : Math.floor((low + high) / 2);
}

/** Applies an answer: a row after `skip` others means more than `skip` rows, none means at most `skip`. */
export function narrowRange({ low, high }: CountRange, skip: number, hasRow: boolean): CountRange {
  return hasRow ? { low: Math.max(low, skip + 1), high } : { low, high: Math.min(high ?? skip, skip) };
}

/** The middle of the range. */
export function estimatedCount({ low, high }: CountRange): number {
  return Math.round((low + (high ?? low)) / 2);
}
