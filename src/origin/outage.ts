/**
 * Whether an origin that fails is down, or fails at one table alone. Rows that take too long to compute, or a rule that breaks,
 * are answered with 5xx or with nothing in time, as by an origin in trouble. One small question tells the two apart, and is asked
 * only while other tables wait for their turn.
 */
import type { ErrorCode, RowsyncError } from '../base/errors.ts';
import type { Origin } from './client.ts';

/** The number of tables that fail so, without any that succeeds, after which the origin counts as down, even if it answers about the user. */
const FAILED_TABLES_MAX = 3;

/** Whether an error may be that of one table: the origin was reached, and failed at what it was asked for. 429 refuses whatever is asked. */
export function mayBeOfOneTable({ kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>): boolean {
  if (kind !== 'originDown' || refusal?.status === 429) return false;
  return code === 'origin.busy' || code === 'origin.timeout' || code === 'origin.unknownOutcome';
}

/** Whether an error of one table, not about rights, would occur for every other table too. */
export function concernsAllTables({ kind, code }: RowsyncError): boolean {
  // A damaged file is not written to any more.
  if (code === 'replica.damaged') return true;
  if (code === 'origin.moving' || code === 'pull.unsettled') return false;
  return kind === 'originDown' || code === 'origin.stopped' || code === 'replica.full';
}

/** Errors of one table, whatever their kind. */
const OF_ONE_TABLE: ReadonlySet<ErrorCode> = new Set(['push.forbidden', 'push.unanswered']);

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

  /** Whether no further table can succeed after this error of one, while so many others wait for their turn. */
  async isOfAll(error: RowsyncError, leftCount: number): Promise<boolean> {
    if (OF_ONE_TABLE.has(error.code)) return false;
    if (mayBeOfOneTable(error)) {
      if (leftCount === 0) return false;
      this.#failedCount += 1;
      return (this.#finishedCount === 0 && this.#failedCount >= FAILED_TABLES_MAX) || !(await this.#saysWhoCalls());
    }
    // Credentials that are still accepted lack a right to this table alone.
    return error.kind === 'auth' ? !(await this.#saysWhoCalls()) : concernsAllTables(error);
  }

  async #saysWhoCalls(): Promise<boolean> {
    try {
      await this.#origin.user({ signal: this.#signal });
      return true;
    } catch {
      return false;
    }
  }
}
