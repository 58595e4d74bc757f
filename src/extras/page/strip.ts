/**
 * How each table fared over the last day, quarter of an hour by quarter of an hour.
 */
import { QUARTERS_KEPT, type Quarter, type Try } from '../../replica/bookkeeping/runs.ts';

/**
 * `calm` where nothing was due. Where something was: `late` if it was not tried, `failed` if the last try failed. `unknown` before anything is known of
 * the table.
 */
export type Fare = 'fresh' | 'followed' | 'failed' | 'late' | 'calm' | 'unknown';

/** A time in which nothing could be read of any table; `toMs` is Infinity while it lasts. */
export interface OutagePeriod {
  readonly fromMs: number;
  readonly toMs: number;
}

const QUARTER_MS = 900_000;

/** What all strips go by; tables are late after the milliseconds given for them, the others never. */
interface FreshnessInput {
  readonly nowMs: number;
  readonly lateAfterMs: ReadonlyMap<string, number>;
  readonly outages: readonly OutagePeriod[];
}

/** The last day of every table, the oldest quarter first. */
export function faresOf(
  quartersByTable: ReadonlyMap<string, readonly Quarter[]>,
  { nowMs, lateAfterMs, outages }: FreshnessInput,
): ReadonlyMap<string, readonly Fare[]> {
  return new Map(
    [...quartersByTable].map(([table, quarters]) => [
      table,
      dayOf(quarters, { nowMs, lateAfterMs: lateAfterMs.get(table) ?? Infinity, outages }),
    ]),
  );
}

/** From a try that failed as a whole until the next one that did not. While the origin is only probed, no run is recorded. */
export function outagesOf(tries: readonly Try[]): readonly OutagePeriod[] {
  const outages: OutagePeriod[] = [];
  let fromMs: number | null = null;
  for (const { startedAt, finishedAt, failedWhole } of tries) {
    if (failedWhole) fromMs ??= Date.parse(finishedAt);
    else if (fromMs !== null) {
      outages.push({ fromMs, toMs: Date.parse(startedAt) });
      fromMs = null;
    }
  }
  return fromMs === null ? outages : [...outages, { fromMs, toMs: Infinity }];
}

function dayOf(
  quarters: readonly Quarter[],
  { nowMs, lateAfterMs, outages }: Omit<FreshnessInput, 'lateAfterMs'> & { readonly lateAfterMs: number },
): readonly Fare[] {
  const last = Math.floor(nowMs / QUARTER_MS);
  const known = new Map(quarters.map((quarter) => [quarter.quarter, quarter]));
  const first = quarters[0]?.quarter ?? Infinity;
  let successEndMs = -Infinity;
  let hasFailed = false;
  const note = ({ quarter, wentWell }: Quarter): void => {
    hasFailed = !wentWell;
    // All that is known of a success is its quarter.
    if (wentWell) successEndMs = (quarter + 1) * QUARTER_MS;
  };
  for (const quarter of quarters) if (quarter.quarter <= last - QUARTERS_KEPT) note(quarter);
  return Array.from({ length: QUARTERS_KEPT }, (_, index) => {
    const quarter = last - QUARTERS_KEPT + 1 + index;
    const pulled = known.get(quarter);
    if (pulled !== undefined) {
      note(pulled);
      return pulled.fare;
    }
    if (quarter < first) return 'unknown';
    const endMs = Math.min(nowMs, (quarter + 1) * QUARTER_MS);
    if (endMs - successEndMs <= lateAfterMs) return 'calm';
    return hasFailed || outages.some(({ fromMs, toMs }) => fromMs <= endMs && endMs < toMs) ? 'failed' : 'late';
  });
}
