/**
 * Which page a sweep asks for next. Pages that the page map knows are asked for straight away, several at a time. Behind them the
 * end is unknown. So pages are asked for ahead only once a full one was seen, and never new ones behind a page that was not full.
 * Pure but for its own state.
 */
import { RowsyncError } from '../base/errors.ts';
import { REPEATED_PAGES_MAX } from '../reconcile/pages.ts';

/** Pages of one table, handed out one by one. */
export class PageCursor {
  readonly #known: number[];
  readonly #pageRows: number;
  readonly #ahead: number;
  readonly #asksBehindEnd: boolean;
  readonly #lastKnown: number;
  /** The next page behind all known ones. */
  #fresh: number;
  /** The highest page seen full, -1 before the first. */
  #highestFull = -1;
  /** The lowest page seen not full: nothing is asked for behind it. */
  #end = Number.POSITIVE_INFINITY;
  /** The first rows of full pages, and how many of these begin like the one before them. */
  readonly #firstIds = new Map<number, number>();
  #repeatedCount = 0;

  /**
   * `known` are the pages to read, in order. `firstFresh` is the page behind all that the page map has. `ahead` bounds how far
   * behind the last full page is asked. With `asksBehindEnd`, known pages are asked for even behind one that was not full: their
   * rows may stand in the page map although they have moved away.
   */
  constructor(options: {
    readonly known: readonly number[];
    readonly firstFresh: number;
    readonly pageRows: number;
    readonly ahead: number;
    readonly asksBehindEnd?: boolean;
  }) {
    this.#known = [...options.known];
    this.#fresh = options.firstFresh;
    this.#lastKnown = Math.max(0, options.firstFresh - 1);
    this.#pageRows = options.pageRows;
    this.#ahead = options.ahead;
    this.#asksBehindEnd = options.asksBehindEnd ?? false;
  }

  /** The page to ask for next, or null: then answers must come in first, or all was asked for. */
  next(): number | null {
    if (this.isRepeating) return null;
    const known = this.#known.shift();
    if (known !== undefined && (known <= this.#end || this.#asksBehindEnd)) return known;
    this.#known.length = 0; // the rest lies behind the end as well
    if (this.#fresh > this.#end || !this.#mayAskFresh()) return null;
    this.#fresh += 1;
    return this.#fresh - 1;
  }

  /** The very first page always; behind the known ones once the last of them is full, and not too far behind a full one. */
  #mayAskFresh(): boolean {
    if (this.#fresh === 0) return true;
    return this.#highestFull >= this.#lastKnown && this.#fresh <= this.#highestFull + this.#ahead;
  }

  /** Takes note of an answer: how many rows came, and the first one, unless they came some other time. */
  answered(page: number, rowCount: number, firstId: number | null = null): void {
    if (rowCount < this.#pageRows) {
      this.#end = Math.min(this.#end, page);
      return;
    }
    this.#highestFull = Math.max(this.#highestFull, page);
    if (firstId === null) return;
    this.#firstIds.set(page, firstId);
    for (const neighbour of [page - 1, page + 1])
      if (this.#firstIds.get(neighbour) === firstId) this.#repeatedCount += 1;
  }

  /** Whether page after page came with the same rows: nothing more is asked for. */
  get isRepeating(): boolean {
    return this.#repeatedCount > REPEATED_PAGES_MAX;
  }
}

/** What is wrong where pages behind a page are that page again. */
export function samePageError(table: string): RowsyncError {
  return new RowsyncError('wireFormat', 'origin.samePage', {
    message: `select of "${table}": the same rows came again where those behind them were asked for`,
    hint: 'Something on the way answers without regard to the query, such as a cache; let it pass on every request to the origin.',
  });
}
