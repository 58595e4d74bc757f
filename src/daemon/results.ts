/**
 * Results of work: the last one of each kind, counts since the start of the daemon, and what the account has of jobs that leave no record in the replica.
 */
import { stampFromMs } from '../base/clock.ts';
import type { ErrorCode } from '../base/errors.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import type { FoundComplaint } from '../reconcile/account/facts.ts';
import type { Complaint } from '../replica/bookkeeping/problems.ts';
import type { WorkKind } from './jobs.ts';
import type { LastWork } from './state.ts';
import type { WorkBook } from './work-book.ts';
import type { WorkOutcome } from './work.ts';

const DIFFERENCES: ReadonlySet<ErrorCode | undefined> = new Set(['verify.mismatch', 'verify.notModified']);

/** Remembers results. */
export class Results {
  readonly lastByWork = new Map<WorkKind, LastWork>();
  /** Pieces of work that ended, by kind and outcome, as `pull done`. */
  readonly workCounts = new Map<string, number>();
  /** Tables that verify found to differ from the origin. */
  mismatchCount = 0;
  readonly #failureByWork = new Map<WorkKind, FoundComplaint>();
  /** Tables that differed when they were last verified, by their names here. */
  readonly #differenceByTable = new Map<string, FoundComplaint>();
  readonly #book: WorkBook;

  constructor(book: WorkBook) {
    this.#book = book;
  }

  /** What went wrong the last time, of jobs that leave no record in the replica. */
  get complaints(): readonly FoundComplaint[] {
    return [...this.#failureByWork.values(), ...this.#differenceByTable.values()];
  }

  /** Notes and logs the end of a piece of work. */
  note(
    work: WorkKind,
    { error, own, held, tables, facts }: WorkOutcome,
    end: { readonly durationMs: number; readonly finishedAtMs: number; readonly isStopped: boolean },
    log: Logger,
  ): void {
    const { durationMs, finishedAtMs, isStopped } = end;
    const isWhole = error === null && own === null && tables.every((table) => table.error === null);
    const isHeld = held !== null || tables.some((table) => table.held !== null);
    const outcome = isStopped ? 'stopped' : isWhole ? (isHeld ? 'held' : 'done') : 'failed';
    log.info('work.finished', { work, outcome, durationMs: Math.round(durationMs), ...facts });
    const complain = (
      about: FoundComplaint['about'],
      subject: string,
      { code, message, hint }: Complaint,
    ): FoundComplaint => {
      return { about, subject, code, message, hint, since: stampFromMs(finishedAtMs) };
    };
    if (own !== null) this.#failureByWork.set(work, complain('work', work, own));
    else if (error === null) this.#failureByWork.delete(work);
    for (const table of work === 'verify' ? tables : []) {
      const { localName, held: hold } = table;
      if (hold === null || !DIFFERENCES.has(hold.code)) {
        this.#differenceByTable.delete(localName);
        continue;
      }
      this.#differenceByTable.set(localName, complain('verify', localName, hold));
      this.mismatchCount += 1;
    }
    const ended = { outcome, durationMs, finishedAtMs } as const;
    this.lastByWork.set(work, ended);
    const { message: words = null, hint = null } = error ?? own ?? held ?? {};
    this.#book.end({ ...ended, work, words, hint }, { tables, isRecorded: Number(facts.runId ?? 0) > 0 });
    const counted = `${work} ${outcome}`;
    this.workCounts.set(counted, (this.workCounts.get(counted) ?? 0) + 1);
    if (own !== null) log.error('work.failed', { work, ...errorFacts(own) });
    if (held !== null) log.warn('guard.waits', errorFacts(held));
    for (const table of tables) {
      if (table.held !== null) log.warn('guard.waits', { table: table.name, ...errorFacts(table.held) });
    }
  }
}
