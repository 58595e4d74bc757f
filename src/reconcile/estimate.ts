/**
 * Estimates the number of rows of a table by requesting single rows at chosen places. Doubling finds a place after the end, and halving narrows it
 * down until the error no longer matters for a time left. Pure.
 */

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
