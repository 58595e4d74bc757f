/**
 * How each kind of work last ended, and errors of work that leaves no record in the replica.
 */
import { stampFromMs } from '../base/clock.ts';
import { EXIT, exitCodeOf } from '../base/errors.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import type { FoundComplaint } from '../reconcile/account/facts.ts';
import type { EndedWork } from './context.ts';
import type { WorkKind } from './jobs.ts';
import type { Run } from './next-step.ts';
import type { LastWork } from './state.ts';
import type { WorkOutcome } from './work-kinds.ts';

export class Results {
  readonly lastByWork = new Map<WorkKind, LastWork>();
  readonly lastAskedByWork = new Map<WorkKind, LastWork>();
  readonly workCounts = new Map<string, number>();
  readonly #failureByWork = new Map<WorkKind, FoundComplaint>();

  /** Errors of the last attempt, for jobs that leave no record in the replica. */
  get complaints(): readonly FoundComplaint[] {
    return [...this.#failureByWork.values()];
  }

  /** Notes and logs how work ended. */
  note(
    { work, isAsked }: Pick<Run, 'work' | 'isAsked'>,
    { error, own, isStored, held, tables, facts, account }: WorkOutcome,
    end: { readonly durationMs: number; readonly finishedAtMs: number; readonly isStopped: boolean },
    log: Logger,
  ): EndedWork {
    const { durationMs, finishedAtMs, isStopped } = end;
    const failures = [error, own, ...tables.map((table) => table.error)].filter((failure) => failure !== null);
    const holds = [held, ...tables.map((table) => table.held)].filter((hold) => hold !== null);
    const outcome = isStopped ? 'stopped' : failures.length > 0 ? 'failed' : holds.length > 0 ? 'held' : 'done';
    const exitCode = isStopped ? EXIT.failed : exitCodeOf([...failures, ...holds]);
    log.info('work.finished', { work, outcome, durationMs: Math.round(durationMs), ...facts });
    if (own !== null) log.error('work.failed', { work, ...errorFacts(own) });
    if (own !== null && isStored !== true) {
      const { code, hint } = own;
      const message = `The last ${work} failed: ${own.message}`;
      const since = stampFromMs(finishedAtMs);
      this.#failureByWork.set(work, { about: 'work.failed', subject: null, code, message, hint, since });
    } else if (error === null) this.#failureByWork.delete(work);
    const endedCount = (this.lastByWork.get(work)?.endedCount ?? 0) + 1;
    const ended = { outcome, exitCode, durationMs, finishedAtMs, endedCount, account } as const;
    this.lastByWork.set(work, ended);
    if (isAsked) this.lastAskedByWork.set(work, ended);
    const counted = `${work} ${outcome}`;
    this.workCounts.set(counted, (this.workCounts.get(counted) ?? 0) + 1);
    if (held !== null) log.warn('guard.waits', errorFacts(held));
    for (const table of tables) {
      if (table.held !== null) log.warn('guard.waits', { table: table.name, ...errorFacts(table.held) });
    }
    const { message: words = null, hint = null } = error ?? own ?? held ?? {};
    return { ...ended, work, words, hint, tables, isRecorded: Number(facts.runId ?? 0) > 0 };
  }
}
