/**
 * Tables to be read now regardless of the schedule. Those requested during a run are read by the next one, since
 * the current one may have read them already.
 */
import type { Clock } from '../base/clock.ts';
import type { TableOutcome } from './work-kinds.ts';

/** How long a caller waits for them. A large table that must be swept takes longer: the next call finds it read. */
const WAIT_MS_MAX = 45_000;

export class RefreshQueue {
  readonly #clock: Clock;
  readonly #onAsked: () => void;
  #next = newRefresh();

  /** `onAsked` wakes the loop. */
  constructor(clock: Clock, onAsked: () => void) {
    this.#clock = clock;
    this.#onAsked = onAsked;
  }

  /** The tables of the next run, by their names at the origin. */
  get tables(): ReadonlySet<string> {
    return this.#next.tables;
  }

  /** Resolves with the outcomes of the next run, or with none if that takes long. Never rejects. */
  async ask(tables: readonly string[]): Promise<readonly TableOutcome[]> {
    if (tables.length === 0) return [];
    const { ended } = this.#next;
    for (const table of tables) this.#next.tables.add(table);
    this.#onAsked();
    const done = new AbortController();
    const outcomes = await Promise.race([ended, this.#clock.sleep(WAIT_MS_MAX, done.signal)]);
    done.abort();
    return outcomes ?? [];
  }

  /** Hands the tables over to a run, which calls the result at its end. */
  take(): (outcomes: readonly TableOutcome[]) => void {
    const { settle } = this.#next;
    this.#next = newRefresh();
    return settle;
  }
}

function newRefresh() {
  const { promise, resolve } = Promise.withResolvers<readonly TableOutcome[]>();
  return { tables: new Set<string>(), ended: promise, settle: resolve };
}
