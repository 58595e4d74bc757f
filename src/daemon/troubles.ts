/**
 * Tables that fail alone in one kind of work, and until when each is left out. Input: outcomes of the tables that took part. Output: waits
 * (circuit.ts says how long), and an event when a table begins to wait or recovers.
 */
import type { Clock } from '../base/clock.ts';
import type { RowsyncError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { afterTableFailure, type TableTrouble } from './circuit.ts';

/** Remembers which tables failed, by their names at the origin. */
export class Troubles {
  readonly #byTable = new Map<string, TableTrouble>();

  /** The tables that wait. */
  get byTable(): ReadonlyMap<string, TableTrouble> {
    return this.#byTable;
  }

  /** Notes the outcome of a table that took part; null for success. */
  note(
    table: string,
    error: RowsyncError | null,
    { clock, log }: { readonly clock: Clock; readonly log: Logger },
  ): void {
    const trouble = this.#byTable.get(table);
    if (error !== null) {
      const nowMs = clock.monotonicMs();
      const next = afterTableFailure(trouble, { nowMs, random: clock.random() });
      this.#byTable.set(table, next);
      const { code, message, hint } = error;
      const waitMs = next.retryAtMs - nowMs;
      log.warn('table.waits', { table, code, message, hint, attempt: next.failureCount, waitMs });
    } else if (trouble !== undefined) {
      this.#byTable.delete(table);
      log.info('table.recovered', { table, attempt: trouble.failureCount });
    }
  }

  /** Forgets tables whose turn had come at `turnMs` but that took no part: the origin no longer has them. */
  forgetUnasked(asked: ReadonlySet<string>, turnMs: number): void {
    for (const [table, { retryAtMs }] of this.#byTable) {
      if (!asked.has(table) && retryAtMs <= turnMs) this.#byTable.delete(table);
    }
  }

  /** Lets every table take part again, since the change may repair it, and forgets tables that are no longer configured. */
  tryAgain(isWanted: (table: string) => boolean): void {
    for (const table of this.#byTable.keys()) {
      if (isWanted(table)) this.#byTable.set(table, { failureCount: 1, retryAtMs: 0 });
      else this.#byTable.delete(table);
    }
  }
}
