/**
 * Which page a sweep requests next. Pages of the page map are requested at once, several at a time. After them the end
 * is unknown. Further ones are requested after a full page, never after another one. Pure but for its own state.
 */
import { RowsyncError } from '../base/errors.ts';
import { REPAIR_ROUNDS_MAX, REPEATED_PAGES_MAX } from '../reconcile/windows.ts';
import type { PreparedTable } from './context.ts';

export interface CursorStart {
  /** Pages to read, in order. */
  readonly known: readonly number[];
  /** The page after all pages of the page map. */
  readonly firstFresh: number;
  /** How far to request ahead of the last full page. */
  readonly ahead: number;
  /** Whether known pages are requested even after the end: the page map may still have rows that have moved away. */
  readonly asksBehindEnd?: boolean | undefined;
  /** Pages of a full window, after which a new window begins: nothing is requested ahead of them. */
  readonly windowPages?: number | undefined;
  /** Whether the last page of a new window is requested first, so that the next window can begin meanwhile. */
  readonly asksLastFirst?: boolean | undefined;
}

export class PageCursor {
  readonly #known: number[];
  readonly #start: CursorStart;
  readonly #windowPages: number;
  /** The page that is requested before earlier ones; null for none. */
  readonly #early: number | null;
  #isEarlyAsked = false;
  /** The next page after all known ones. */
  #fresh: number;
  /** The highest page seen full, -1 before the first. */
  #highestFull = -1;
  /** The lowest page seen to be the end: no later page is requested. */
  #end = Number.POSITIVE_INFINITY;
  /** The page after which the window was cut. */
  #cut = Number.POSITIVE_INFINITY;
  /** The first rows of full pages, and how many of these begin like the one before them. */
  readonly #firstIds = new Map<number, number>();
  #repeatedCount = 0;

  constructor(start: CursorStart) {
    this.#known = [...start.known];
    this.#fresh = start.firstFresh;
    this.#start = start;
    this.#windowPages = start.windowPages ?? Number.POSITIVE_INFINITY;
    const last = this.#windowPages - 1;
    this.#early = start.asksLastFirst === true && start.firstFresh === 0 && last > 0 ? last : null;
  }

  /** The page to request next; null if answers must come in first, or all pages were requested. */
  next(): number | null {
    if (this.isRepeating) return null;
    const known = this.#known.shift();
    if (known !== undefined && (known <= this.#end || this.#start.asksBehindEnd === true)) return known;
    this.#known.length = 0; // the rest lies behind the end as well
    if (this.#early !== null && this.#fresh > 0 && !this.#isEarlyAsked) {
      this.#isEarlyAsked = true;
      if (this.#early <= this.#end) return this.#early;
    }
    if (this.#fresh === this.#early) this.#fresh += 1;
    if (this.#fresh > this.#end || !this.#mayAskFresh()) return null;
    this.#fresh += 1;
    return this.#fresh - 1;
  }

  /** The first page always; later ones once the last known one is full, and not too far ahead of a full page. */
  #mayAskFresh(): boolean {
    if (this.#fresh === 0) return true;
    const { firstFresh, ahead } = this.#start;
    const isFar = this.#fresh > this.#highestFull + (this.#fresh < this.#windowPages ? ahead : 1);
    return this.#highestFull >= Math.max(0, firstFresh - 1) && !isFar;
  }

  /** Notes an answer: whether the pages end with it, and its first row, unless it is known. */
  answered(page: number, isEnd: boolean, firstId: number | null = null): void {
    if (isEnd) {
      this.#end = Math.min(this.#end, page);
      return;
    }
    this.#highestFull = Math.max(this.#highestFull, page);
    if (firstId === null) return;
    this.#firstIds.set(page, firstId);
    for (const neighbour of [page - 1, page + 1])
      if (this.#firstIds.get(neighbour) === firstId) this.#repeatedCount += 1;
  }

  /** Ends the window with a page: later pages belong to the next window, even if they were requested. */
  cutBehind(page: number): void {
    this.#end = Math.min(this.#end, page);
    this.#cut = Math.min(this.#cut, page);
    // Pages before it may be missing, if a sweep was cut off after its early request for the last page.
    this.#known.splice(0, Infinity, ...this.#known.filter((known) => known <= page));
  }

  isCutBefore(page: number): boolean {
    return page > this.#cut;
  }

  /** Whether several pages came with the same rows: then no more are requested. */
  get isRepeating(): boolean {
    return this.#repeatedCount > REPEATED_PAGES_MAX;
  }
}

export function samePageError(table: string): RowsyncError {
  return new RowsyncError('wireFormat', 'origin.samePage', {
    message: `select of "${table}": the next page has the same rows again`,
    hint: 'Something on the way answers without regard to the query, such as a cache; let it pass on every request to the origin.',
  });
}

/** The error about an origin that gives fewer rows than it was asked for, while more rows follow. */
export function shortPageError(
  { address, pageRows }: Pick<PreparedTable, 'address' | 'pageRows'>,
  { pageRowCount, followingCount }: { readonly pageRowCount: number; readonly followingCount: number },
): RowsyncError {
  return new RowsyncError('wireFormat', 'origin.shortPage', {
    message: `select of "${address.name}": a page of ${pageRowCount} rows came where ${pageRows} were asked for, yet ${followingCount} more rows follow`,
    hint: `The origin seems to limit its pages; set limits.pageRows to ${Math.max(2, pageRowCount)}.`,
  });
}

export function movingRowsError(table: string): RowsyncError {
  return new RowsyncError('originDown', 'origin.moving', {
    message: `${table}: rows kept moving between pages while they were read (${REPAIR_ROUNDS_MAX} rounds)`,
    hint: 'Everything that was read is stored; the next run reads the rest. Pull at a quieter time if this stays.',
  });
}
