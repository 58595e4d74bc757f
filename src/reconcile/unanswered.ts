/**
 * What follows a request that ended without an answer about its rows: a firewall's page, a cut connection, an answer that cannot be read. Its rows
 * are looked up first, so only what certainly did not arrive is sent again, in smaller requests. A row that also fails alone is parked. Pure.
 */
import type { RetryHope } from './push-outcome.ts';

/** How many rows may leave together with a row, and how often it failed so in this push. */
export interface RowLimit {
  readonly rowsMax: number;
  readonly failureCount: number;
}

/** A row that failed alone in an earlier push leaves alone, and is parked at once if it fails again. */
export const ALONE: RowLimit = { rowsMax: 1, failureCount: 1 };

/** Failures before a row is parked: one cut connection is no fault of a row. */
const FAILURES_MIN = 2;

/**
 * Requests of one table that may end so in one push. One row at fault among 500 costs ten of them; with several, the next push finds the rest, since
 * rows that were found are parked.
 */
export const UNANSWERED_MAX = 48;

/** How a row of such a request is sent next; `park`: it is not. `before` is its limit until now; null if it never failed. */
export function afterUnanswered(rowCount: number, before: RowLimit | null): RowLimit | 'park' {
  const failureCount = (before?.failureCount ?? 0) + 1;
  if (rowCount === 1 && failureCount >= FAILURES_MIN) return 'park';
  return { rowsMax: Math.ceil(rowCount / 2), failureCount };
}

/** When a parked row may be tried again. A server in trouble recovers soon; a firewall, or an answer in an unknown form, lets nothing through later. */
export function unansweredHope(status: number): RetryHope {
  return status === NO_STATUS || status >= 500 ? 'soon' : 'later';
}

/** Stands for the status where no answer came. */
export const NO_STATUS = 0;
