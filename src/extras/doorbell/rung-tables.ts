/**
 * Which tables `follow: auto` leaves to the doorbell: those whose last changes came by a ring, and not long ago.
 */
import type { Clock } from '../../base/clock.ts';
import type { WorkEvent } from '../../daemon/context.ts';
import { RUNG_REST_MS } from '../../reconcile/follow.ts';

/** How long what a ring brought proves that the origin calls when a table changes. */
const RING_PROVES_MS = 3_600_000;

/** What is known of the calls of the origin about a table, in monotonic milliseconds; -Infinity for never. */
interface RingTimes {
  /** When a ring last brought rows. */
  readonly broughtMs: number;
  /** When the schedule last brought rows, which no ring had. */
  readonly missedMs: number;
  /** When it was last read, whatever the reason. */
  readonly readMs: number;
}

/** Whether `follow: auto` leaves a table to the doorbell at a time. */
export function waitsForRing({ broughtMs, missedMs, readMs }: RingTimes, nowMs: number): boolean {
  return broughtMs > missedMs && nowMs - broughtMs <= RING_PROVES_MS && nowMs - readMs < RUNG_REST_MS;
}

/** When each table was last read, and when the schedule brought rows that no ring had. */
export class RungTables {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #readMs = new Map<string, number>();
  readonly #missedMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  note(event: WorkEvent): void {
    if (event.kind !== 'ended' || (event.work !== 'pull' && event.work !== 'follow')) return;
    const begunMs = this.#clock.monotonicMs() - event.durationMs;
    for (const { name, error, counts } of event.tables) {
      if (error !== null) continue;
      this.#readMs.set(name, begunMs);
      const isChanged = counts.insertedCount + counts.updatedCount + counts.deletedCount > 0;
      if (isChanged && !event.isRefresh) this.#missedMs.set(name, begunMs);
    }
  }

  /** Whether a table, of which a ring last brought rows at a time, waits for the next one. */
  waits(table: string, broughtMs: number): boolean {
    const readMs = this.#readMs.get(table) ?? -Infinity;
    const missedMs = this.#missedMs.get(table) ?? -Infinity;
    return waitsForRing({ broughtMs, readMs, missedMs }, this.#clock.monotonicMs());
  }
}
