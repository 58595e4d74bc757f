/**
 * The freshness of each table over the last day, by quarters of an hour. Input: the quarters in which it was pulled, and how long it may go without.
 * Output: the state of each quarter. Pure.
 */
import { QUARTERS_KEPT, type Quarter } from '../../replica/run-book.ts';

/** `calm` if no pull was due, `late` if one was due and did not come; `unknown` before the first pull. */
export type Fare = 'fresh' | 'followed' | 'failed' | 'late' | 'calm' | 'unknown';

const QUARTER_MS = 900_000;

/** The last day of every table, the oldest quarter first. */
export function faresOf(
  quartersByTable: ReadonlyMap<string, readonly Quarter[]>,
  { nowMs, lateAfterMs }: { readonly nowMs: number; readonly lateAfterMs: ReadonlyMap<string, number> },
): ReadonlyMap<string, readonly Fare[]> {
  return new Map(
    [...quartersByTable].map(([table, quarters]) => [
      table,
      dayOf(quarters, { nowMs, lateAfterMs: lateAfterMs.get(table) ?? Infinity }),
    ]),
  );
}

function dayOf(
  quarters: readonly Quarter[],
  { nowMs, lateAfterMs }: { readonly nowMs: number; readonly lateAfterMs: number },
): readonly Fare[] {
  const last = Math.floor(nowMs / QUARTER_MS);
  const known = new Map(quarters.map((quarter) => [quarter.quarter, quarter]));
  const first = quarters[0]?.quarter ?? Infinity;
  let successEndMs = -Infinity;
  const noteSuccess = ({ quarter, wentWell }: Quarter): void => {
    // A success is known by its quarter only.
    if (wentWell) successEndMs = (quarter + 1) * QUARTER_MS;
  };
  for (const quarter of quarters) if (quarter.quarter <= last - QUARTERS_KEPT) noteSuccess(quarter);
  return Array.from({ length: QUARTERS_KEPT }, (_, index) => {
    const quarter = last - QUARTERS_KEPT + 1 + index;
    const pulled = known.get(quarter);
    if (pulled !== undefined) {
      noteSuccess(pulled);
      return pulled.fare;
    }
    if (quarter < first) return 'unknown';
    return Math.min(nowMs, (quarter + 1) * QUARTER_MS) - successEndMs > lateAfterMs ? 'late' : 'calm';
  });
}
