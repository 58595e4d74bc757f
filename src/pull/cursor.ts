/**
 * Which page a sweep asks for next. Pages that the page map knows are asked for straight away, several at a time. Behind them the
 * end is unknown. So pages are asked for ahead only once a full one was seen, and never new ones behind a page that was not full.
 * Pure but for its own state.
 */
import { RowsyncError } from '../base/errors.ts';
import { REPEATED_PAGES_MAX } from '../reconcile/pages.ts';
import type { PagePlace } from '../replica/pages.ts';

/** What a cursor begins with. */
export interface CursorStart {
  /** Pages to read, in order. */
  readonly known: readonly number[];
  /** The page behind all that the page map has. */
  readonly firstFresh: number;
  /** How far behind the last full page is asked. */
  readonly ahead: number;
  /**
   * Whether known pages are asked for even behind the end: their rows may stand in the page map although they have moved away.
   */
  readonly asksBehindEnd?: boolean | undefined;
  /** Pages of a window, where rows behind it begin a new one: nothing is asked for ahead behind them. */
  readonly windowPages?: number | undefined;
  /** Whether the last page of a new window is asked for first, so that the next window can begin while this one is read. */
  readonly asksLastFirst?: boolean | undefined;
}

/** Pages of one run of pages, handed out one by one. */
export class PageCursor {
  readonly #known: number[];
  readonly #ahead: number;
  readonly #asksBehindEnd: boolean;
  readonly #lastKnown: number;
  readonly #windowPages: number;
  /** The page that is asked for before those in front of it, until it was; null for none. */
  #early: number | null;
  readonly #asked = new Set<number>();
  /** The next page behind all known ones. */
  #fresh: number;
  /** The highest page seen full, -1 before the first. */
  #highestFull = -1;
  /** The lowest page seen to be the end: nothing is asked for behind it. */
  #end = Number.POSITIVE_INFINITY;
  /** The page behind which the window was cut. */
  #cut = Number.POSITIVE_INFINITY;
  /** The first rows of full pages, and how many of these begin like the one before them. */
  readonly #firstIds = new Map<number, number>();
  #repeatedCount = 0;

  constructor(start: CursorStart) {
    this.#known = [...start.known];
    this.#fresh = start.firstFresh;
    this.#lastKnown = Math.max(0, start.firstFresh - 1);
    this.#ahead = start.ahead;
    this.#asksBehindEnd = start.asksBehindEnd ?? false;
    this.#windowPages = start.windowPages ?? Number.POSITIVE_INFINITY;
    const last = this.#windowPages - 1;
    this.#early = start.asksLastFirst === true && start.firstFresh === 0 && last > 0 ? last : null;
  }

  /** The page to ask for next, or null: then answers must come in first, or all was asked for. */
  next(): number | null {
    if (this.isRepeating) return null;
    const known = this.#known.shift();
    if (known !== undefined && (known <= this.#end || this.#asksBehindEnd)) return known;
    this.#known.length = 0; // the rest lies behind the end as well
    if (this.#early !== null && this.#fresh > 0) {
      const early = this.#early;
      this.#early = null;
      if (early <= this.#end) return this.#take(early);
    }
    while (this.#asked.has(this.#fresh)) this.#fresh += 1;
    if (this.#fresh > this.#end || !this.#mayAskFresh()) return null;
    this.#fresh += 1;
    return this.#take(this.#fresh - 1);
  }

  #take(page: number): number {
    this.#asked.add(page);
    return page;
  }

  /** The very first page always; behind the known ones once the last of them is full, and not too far behind a full one. */
  #mayAskFresh(): boolean {
    if (this.#fresh === 0) return true;
    const ahead = this.#fresh < this.#windowPages ? this.#ahead : 1;
    return this.#highestFull >= this.#lastKnown && this.#fresh <= this.#highestFull + ahead;
  }

  /** Takes note of an answer: whether the pages end with it, and its first row, unless it came some other time. */
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

  /** Ends the window with a page: what lies behind it belongs to the next one, also where it was asked for already. */
  cutBehind(page: number): void {
    this.#end = Math.min(this.#end, page);
    this.#cut = Math.min(this.#cut, page);
    this.#known.length = 0;
  }

  /** Whether the window was cut before a page. */
  isCutBefore(page: number): boolean {
    return page > this.#cut;
  }

  /** Whether page after page came with the same rows: nothing more is asked for. */
  get isRepeating(): boolean {
    return this.#repeatedCount > REPEATED_PAGES_MAX;
  }
}

/** The pages of several windows, those of one window after those of another. */
export class TableCursor {
  readonly #cursors = new Map<string, PageCursor>();

  /** Adds a window that is to be read, behind those that were added before. */
  add(window: string, start: CursorStart): PageCursor {
    const cursor = new PageCursor(start);
    this.#cursors.set(window, cursor);
    return cursor;
  }

  /** The cursor of a window; undefined where it is not read. */
  of(window: string): PageCursor | undefined {
    return this.#cursors.get(window);
  }

  /** The page to ask for next, or null: then answers must come in first, or all was asked for. */
  next(): PagePlace | null {
    for (const [window, cursor] of this.#cursors) {
      const page = cursor.next();
      if (page !== null) return { window, page };
    }
    return null;
  }

  /** Whether page after page of some window came with the same rows. */
  get isRepeating(): boolean {
    return [...this.#cursors.values()].some(({ isRepeating }) => isRepeating);
  }
}

/** What is wrong where pages behind a page are that page again. */
export function samePageError(table: string): RowsyncError {
  return new RowsyncError('wireFormat', 'origin.samePage', {
    message: `select of "${table}": the next page has the same rows again`,
    hint: 'Something on the way answers without regard to the query, such as a cache; let it pass on every request to the origin.',
  });
}
