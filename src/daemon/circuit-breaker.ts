/**
 * Decides when to try again what failed. One circuit breaker stops all tables when the origin is down, refuses the
 * credentials, or the replica cannot be written. A table that fails alone has its own backoff. Times are monotonic.
 *
 * Nothing is ever given up: the longest wait is bounded, and a success forgets all failures. Deletes need no rule: a
 * cycle that does not reach the origin, or is refused by it, deletes nothing.
 */
import { stampFromMs, type Clock } from '../base/clock.ts';
import type { ErrorKind, RowsyncError } from '../base/errors.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { BACKOFFS, spreadBackoffMs, type Backoff } from '../base/retries.ts';
import { mayBeOfOneTable } from '../origin/outage.ts';
import type { Complaint } from '../reconcile/account/facts.ts';
import type { WorkKind } from './jobs.ts';
import type { WorkOutcome } from './work-kinds.ts';

/** Why no cycle is run; `originDown`: no usable answer, `auth`: the credentials or their rights. */
export type FailureCause = 'originDown' | 'auth' | 'replica' | 'other';

/** Failures in a row. */
export interface Trouble {
  readonly failureCount: number;
  /** No work before: of the table, or of all, and then the origin is asked one question first. */
  readonly retryAtMs: number;
}

/** What is known of failures that concern all tables. */
export interface Circuit extends Trouble {
  readonly cause: FailureCause;
}

/** Why all work waits; `number` counts the failures of this process, so that a new one is known from the one before. */
export interface DaemonFailure extends Complaint, Circuit {
  readonly kind: ErrorKind;
  readonly since: string;
  readonly number: number;
}

interface ClockAndLog {
  readonly clock: Clock;
  readonly log: Logger;
}

type Instant = Readonly<Record<'nowMs' | 'random', number>>;

function causeOf({ kind }: RowsyncError): FailureCause {
  return kind === 'originDown' || kind === 'auth' || kind === 'replica' ? kind : 'other';
}

/** The circuit after one more failure; a new cause restarts the count. */
export function afterFailure(circuit: Circuit | null, error: RowsyncError, at: Instant): Circuit {
  const cause = causeOf(error);
  return { ...oneMore(circuit?.cause === cause ? circuit : undefined, BACKOFFS[cause], at), cause };
}

export function oneMore(trouble: Trouble | undefined, backoff: Backoff, { nowMs, random }: Instant): Trouble {
  const failureCount = (trouble?.failureCount ?? 0) + 1;
  return { failureCount, retryAtMs: nowMs + spreadBackoffMs(backoff, failureCount, random) };
}

/** outage: is the origin down, or does one table fail? · rights: are the credentials refused, or does a right lack? */
type Question = 'outage' | 'rights';

/** The open question about a failure; null for none. */
export function questionOf(work: WorkKind, { error, isOver, tables }: WorkOutcome): Question | null {
  if (error !== null && !isOver && mayBeOfOneTable(error)) return 'outage';
  const isOfRights = error === null || (work !== 'pull' && work !== 'follow' && error.kind === 'auth');
  const errors = [error, ...tables.map((table) => table.error)];
  return isOfRights && errors.some((it) => it?.kind === 'auth') ? 'rights' : null;
}

/** The outcome after the origin was asked; `refusal` is null if it answered. */
export function answerQuestion(outcome: WorkOutcome, question: Question, refusal: RowsyncError | null): WorkOutcome {
  const { error, own, tables } = outcome;
  // A table that failed alone already reports its failure.
  const isNoted = refusal !== null || (question === 'outage' && tables.some((table) => table.error === error));
  return { ...outcome, error: refusal, own: own ?? (isNoted ? null : error) };
}

/** Remembers which tables failed, by their names at the origin. */
class Troubles {
  /** The tables that wait. */
  readonly byTable = new Map<string, Trouble>();

  /** Notes the outcome of a table that took part; null for success. */
  note(table: string, error: RowsyncError | null, { clock, log }: ClockAndLog): void {
    const trouble = this.byTable.get(table);
    if (error !== null) {
      const nowMs = clock.monotonicMs();
      const next = oneMore(trouble, BACKOFFS.table, { nowMs, random: clock.random() });
      this.byTable.set(table, next);
      const { code, message, hint } = error;
      const waitMs = next.retryAtMs - nowMs;
      log.warn('table.waits', { table, code, message, hint, attempt: next.failureCount, waitMs });
    } else if (trouble !== undefined) {
      this.byTable.delete(table);
      log.info('table.recovered', { table, attempt: trouble.failureCount });
    }
  }

  /** Forgets tables whose turn had come at `turnMs` but that took no part: the origin no longer has them. */
  forgetExcluded(included: ReadonlySet<string>, turnMs: number): void {
    for (const [table, { retryAtMs }] of this.byTable) {
      if (!included.has(table) && retryAtMs <= turnMs) this.byTable.delete(table);
    }
  }

  /** Lets every table take part again, since the change may repair it; forgets those that are not wanted any more. */
  tryAgain(isWanted: (table: string) => boolean): void {
    for (const table of this.byTable.keys()) {
      if (isWanted(table)) this.byTable.set(table, { failureCount: 1, retryAtMs: 0 });
      else this.byTable.delete(table);
    }
  }
}

/** What a daemon remembers of failures: the circuit, and the tables that wait. */
export class Retries {
  readonly #tables = new Troubles();
  /** A right to write may be missing while reading works, so pushes have their own waits. */
  readonly #pushes = new Troubles();
  #failure: DaemonFailure | null = null;
  #failureCount = 0;

  /** What keeps the circuit open; null while it is closed. */
  get failure(): DaemonFailure | null {
    return this.#failure;
  }

  /** The tables that wait with all their work. */
  get byTable(): ReadonlyMap<string, Trouble> {
    return this.#tables.byTable;
  }

  /** The tables whose pushes wait. */
  get pushesByTable(): ReadonlyMap<string, Trouble> {
    return new Map([...this.#pushes.byTable, ...this.#tables.byTable]);
  }

  troubleOf(work: WorkKind, table: string): Trouble | undefined {
    return this.#tables.byTable.get(table) ?? (work === 'push' ? this.#pushes.byTable.get(table) : undefined);
  }

  /** The time until the circuit lets work through; 0 if it does. */
  waitMs(nowMs: number): number {
    return Math.max(0, (this.#failure?.retryAtMs ?? 0) - nowMs);
  }

  /** Everything failed: all work waits. */
  failed(error: RowsyncError, { clock, log }: ClockAndLog): void {
    const nowMs = clock.monotonicMs();
    const circuit = afterFailure(this.#failure, error, { nowMs, random: clock.random() });
    const { kind, code, message, hint } = error;
    this.#failureCount += 1;
    const since = this.#failure?.since ?? stampFromMs(clock.nowMs());
    this.#failure = { ...circuit, kind, code, message, hint, since, number: this.#failureCount };
    const { failureCount: attempt, retryAtMs, cause: reason } = circuit;
    log.error('circuit.opened', { ...errorFacts(error), reason, attempt, waitMs: retryAtMs - nowMs });
  }

  /** Work that began at `turnMs` ended: the circuit closes; tables that were `included` or failed continue or wait. */
  succeeded(
    { work, turnMs }: { readonly work: WorkKind; readonly turnMs: number },
    { tables, included }: Pick<WorkOutcome, 'tables'> & { readonly included: ReadonlySet<string> },
    at: ClockAndLog,
  ): void {
    if (this.#failure !== null) at.log.info('circuit.closed', { attempt: this.#failure.failureCount });
    this.#failure = null;
    const errorByTable = new Map(tables.map(({ name, error }) => [name, error]));
    if (work === 'push') for (const [table, error] of errorByTable) this.#pushes.note(table, error, at);
    for (const table of included) this.#tables.note(table, errorByTable.get(table) ?? null, at);
    this.#tables.forgetExcluded(included, turnMs);
  }

  /** Lets work through at once. The failure is kept until work succeeds: who heard of it also hears of its end. */
  letThrough(): void {
    if (this.#failure !== null) this.#failure = { ...this.#failure, failureCount: 1, retryAtMs: 0 };
  }

  /** Lets everything be tried at once, since a changed configuration may repair it; forgets tables it leaves out. */
  tryAgain(isWanted: Readonly<Record<'pull' | 'push', (table: string) => boolean>>): void {
    this.letThrough();
    this.#tables.tryAgain(isWanted.pull);
    this.#pushes.tryAgain(isWanted.push);
  }
}
