/**
 * When a table that rang is read. A ring is a hint that something may have changed. Rings within a moment are one, and
 * a table is read at most once a second. A ring may be faster than its change, so a table from which nothing came is
 * read again a few times. It also says which tables `follow: auto` leaves to it.
 */
import type { Clock } from '../../base/clock.ts';
import type { WorkEvent } from '../../daemon/context.ts';
import type { TableOutcome } from '../../daemon/work-kinds.ts';
import { RUNG_REST_MS } from '../../reconcile/follow.ts';

/** Rings within this time are one. */
const MERGE_MS = 200;
/** Between the beginnings of two reads of a table. */
const READ_EVERY_MS = 1_000;
/** How long after the last ring a table is read again, as long as nothing came. */
const AGAIN_AFTER_MS = [1_000, 3_000, 10_000] as const;
/** How long what a ring brought proves that the origin calls when a table changes. */
const RING_PROVES_MS = 3_600_000;
/** Times from stamp to here that are kept for the percentiles. */
const TIMES_MAX = 1_000;

export interface DoorbellParts {
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** Reads tables now, by their names at the origin. Never rejects. */
  readonly refresh: (tables: readonly string[]) => Promise<readonly TableOutcome[]>;
  /** The time at the origin. */
  readonly originNowMs: () => number;
}

interface RungTable {
  readonly dueMs: number;
  readonly rungMs: number;
  /** Reads since the last ring that brought nothing. */
  readonly emptyCount: number;
}

export class Doorbell {
  /** Reads that rings caused, and those among them that brought rows. */
  readCount = 0;
  broughtCount = 0;
  readonly #parts: DoorbellParts;
  readonly #waiting = new Map<string, RungTable>();
  /** When a ring last had a table read, and when one last brought rows. */
  readonly #readMs = new Map<string, number>();
  readonly #broughtMs = new Map<string, number>();
  /** When a table was last read for any reason, and when the schedule last brought rows, which no ring had. */
  readonly #seenMs = new Map<string, number>();
  readonly #missedMs = new Map<string, number>();
  readonly #times: number[] = [];
  #isAtWork = false;
  #wake = new AbortController();

  constructor(parts: DoorbellParts) {
    this.#parts = parts;
    parts.stop.addEventListener('abort', () => this.#wake.abort());
  }

  /** Notes that a table rang, by its name at the origin: an existing one, so that what is kept here is bounded. */
  ring(table: string): void {
    const nowMs = this.#parts.clock.monotonicMs();
    const soonestMs = Math.max(nowMs + MERGE_MS, this.#nextReadMs(table));
    const dueMs = Math.min(soonestMs, this.#waiting.get(table)?.dueMs ?? Infinity);
    this.#waiting.set(table, { dueMs, rungMs: nowMs, emptyCount: 0 });
    this.#wake.abort();
    if (!this.#isAtWork) void this.#work();
  }

  /** Milliseconds from the origin's stamp to here, of followed rows that came after a ring; null for none yet. */
  readonly percentileMs = (share: number): number | null => {
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
  };

  /** How long ago rings brought something, by table, the last one first. */
  get sinceBroughtMs(): readonly (readonly [table: string, ms: number])[] {
    const nowMs = this.#parts.clock.monotonicMs();
    const since = [...this.#broughtMs].map(([table, atMs]) => [table, nowMs - atMs] as const);
    return since.toSorted(([, a], [, b]) => a - b);
  }

  /** Notes what the daemon read. */
  note(event: WorkEvent): void {
    if (event.kind !== 'ended' || (event.work !== 'pull' && event.work !== 'follow')) return;
    const begunMs = this.#parts.clock.monotonicMs() - event.durationMs;
    for (const { name, error, counts } of event.tables) {
      if (error !== null) continue;
      this.#seenMs.set(name, begunMs);
      const isChanged = counts.insertedCount + counts.updatedCount + counts.deletedCount > 0;
      if (isChanged && !event.isRefresh) this.#missedMs.set(name, begunMs);
    }
  }

  /** Whether `follow: auto` leaves a table to rings: they brought its last changes, and not long ago. */
  bringsChanges(table: string): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    const broughtMs = this.#broughtMs.get(table) ?? -Infinity;
    const isMissed = broughtMs <= (this.#missedMs.get(table) ?? -Infinity);
    const restMs = nowMs - (this.#seenMs.get(table) ?? -Infinity);
    return !isMissed && nowMs - broughtMs <= RING_PROVES_MS && restMs < RUNG_REST_MS;
  }

  #nextReadMs(table: string): number {
    return (this.#readMs.get(table) ?? -Infinity) + READ_EVERY_MS;
  }

  async #work(): Promise<void> {
    const { clock, stop, refresh } = this.#parts;
    this.#isAtWork = true;
    while (this.#waiting.size > 0 && !stop.aborted) {
      const nowMs = clock.monotonicMs();
      const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= nowMs);
      if (due.length === 0) {
        this.#wake = new AbortController();
        const dueMs = Math.min(...[...this.#waiting.values()].map((table) => table.dueMs));
        await clock.sleep(dueMs - nowMs, this.#wake.signal);
        continue;
      }
      for (const [table] of due) {
        this.#waiting.delete(table);
        this.#readMs.set(table, nowMs);
      }
      const outcomes = await refresh(due.map(([table]) => table));
      for (const [table, rung] of due) this.#settle(table, rung, outcomes.find(({ name }) => name === table) ?? null);
    }
    this.#isAtWork = false;
  }

  #settle(table: string, { rungMs, emptyCount }: RungTable, outcome: TableOutcome | null): void {
    const { insertedCount = 0, updatedCount = 0, deletedCount = 0 } = outcome?.counts ?? {};
    this.readCount += 1;
    if (insertedCount + updatedCount + deletedCount > 0) {
      this.broughtCount += 1;
      this.#broughtMs.set(table, this.#parts.clock.monotonicMs());
      const nowMs = this.#parts.originNowMs();
      this.#times.push(...(outcome?.stamps ?? []).map((stamp) => Math.max(0, nowMs - Date.parse(stamp))));
      this.#times.splice(0, this.#times.length - TIMES_MAX);
      return;
    }
    const againMs = AGAIN_AFTER_MS[emptyCount];
    if (againMs === undefined || this.#waiting.has(table)) return;
    const dueMs = Math.max(rungMs + againMs, this.#nextReadMs(table));
    this.#waiting.set(table, { dueMs, rungMs, emptyCount: emptyCount + 1 });
  }
}
