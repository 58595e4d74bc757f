/**
 * Which page a sweep asks for next. Pages that the page map knows are asked for straight away, several at a time; behind
 * them the end is unknown, so pages are asked for ahead only once a full one was seen, and never behind a page that was
 * not full. Pure but for its own state.
 */

/** Pages of one table, handed out one by one. */
export class PageCursor {
  readonly #known: number[];
  readonly #pageRows: number;
  readonly #ahead: number;
  readonly #lastKnown: number;
  /** The next page behind all known ones. */
  #fresh: number;
  /** The highest page seen full, -1 before the first. */
  #highestFull = -1;
  /** The lowest page seen not full: nothing is asked for behind it. */
  #end = Number.POSITIVE_INFINITY;

  /**
   * `known` are the pages to read, in order; `firstFresh` is the page behind all that the page map has; `ahead` bounds how
   * far behind the last full page is asked.
   */
  constructor(options: {
    readonly known: readonly number[];
    readonly firstFresh: number;
    readonly pageRows: number;
    readonly ahead: number;
  }) {
    this.#known = [...options.known];
    this.#fresh = options.firstFresh;
    this.#lastKnown = Math.max(0, options.firstFresh - 1);
    this.#pageRows = options.pageRows;
    this.#ahead = options.ahead;
  }

  /** The page to ask for next, or null: then answers must come in first, or all was asked for. */
  next(): number | null {
    const known = this.#known.shift();
    if (known !== undefined && known <= this.#end) return known;
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

  /** Takes note of an answer. */
  answered(page: number, rowCount: number): void {
    if (rowCount >= this.#pageRows) this.#highestFull = Math.max(this.#highestFull, page);
    else this.#end = Math.min(this.#end, page);
  }
}
