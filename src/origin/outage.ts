/**
 * Whether an origin that fails is down, or fails at one table alone. Rows that take too long to compute, or a rule that breaks,
 * are answered with 5xx or with nothing in time, as by an origin in trouble. One small question tells the two apart, and is asked
 * only while other tables wait for their turn.
 */
import type { RowsyncError } from '../base/errors.ts';
import type { Origin } from './client.ts';

/** The number of tables that fail so, without any that succeeds, after which the origin counts as down, even if it answers about the user. */
const FAILED_TABLES_MAX = 3;

/**
 * Whether an error looks as if the origin were down, and may be that of one table: it was reached, and failed at what it was asked for. A client that
 * asks too often (429) is refused whatever it asks for.
 */
export function mayBeOfOneTable({ kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>): boolean {
  if (kind !== 'originDown' || refusal?.status === 429) return false;
  return code === 'origin.busy' || code === 'origin.timeout' || code === 'origin.unknownOutcome';
}

/** Adds up how the tables of one run fared. */
export class Outage {
  readonly #origin: Pick<Origin, 'user'>;
  readonly #signal: AbortSignal | undefined;
  #finishedCount = 0;
  #failedCount = 0;

  constructor({
    origin,
    signal,
  }: {
    readonly origin: Pick<Origin, 'user'>;
    readonly signal?: AbortSignal | undefined;
  }) {
    this.#origin = origin;
    this.#signal = signal;
  }

  /** Notes a table that was worked on to its end. */
  noteFinished(): void {
    this.#finishedCount += 1;
  }

  /** Whether a failure of one table, which may be that of all, is one of the origin: it does not even say who is calling. */
  async isOfAll(): Promise<boolean> {
    this.#failedCount += 1;
    if (this.#finishedCount === 0 && this.#failedCount >= FAILED_TABLES_MAX) return true;
    try {
      await this.#origin.user({ signal: this.#signal });
      return false;
    } catch {
      return true;
    }
  }
}
