/**
 * The work of the daemon: the progress of the current work, how each kind ended last, and recent work without a record in `sync_runs`, such as a
 * backup. Kept in memory only, and bounded.
 */
import type { RowsyncError, ErrorCode } from '../base/errors.ts';
import { positionAfter, PULL_BEGINNING, type PullPosition, type PullProgress } from '../pull/report.ts';
import type { TableResult } from '../replica/bookkeeping/runs.ts';
import type { WorkKind } from './jobs.ts';
import type { TableOutcome, WorkOutcome } from './work-kinds.ts';
import { stampFromMs } from '../base/clock.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import type { Complaint, FoundComplaint } from '../reconcile/account/facts.ts';
import type { LastWork } from './state.ts';

export interface WorkNote {
  readonly work: WorkKind;
  readonly finishedAtMs: number;
  readonly durationMs: number;
  readonly outcome: string;
  /** Tables that changed or failed. */
  readonly tables: readonly TableResult[];
  readonly tableCount: number;
  readonly words: string | null;
  readonly hint: string | null;
}

export interface WorkProgress extends PullPosition {
  readonly work: WorkKind;
  readonly startedAtMs: number;
}

/** All of it, for the page. */
export interface WorkSnapshot {
  readonly progress: WorkProgress | null;
  /** The newest first. */
  readonly notes: readonly WorkNote[];
}

const NOTES_MAX = 200;
/** The shortest time between two reports of progress. */
const TELL_MS_MIN = 250;

export class WorkLog {
  readonly #notes: WorkNote[] = [];
  readonly #listeners = new Set<() => void>();
  #progress: WorkProgress | null = null;
  #toldAtMs = -Infinity;

  /** Calls when there is progress to report; returns a function that stops the calls. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get progress(): WorkProgress | null {
    return this.#progress;
  }

  begin(work: WorkKind, nowMs: number): void {
    this.#progress = { work, startedAtMs: nowMs, ...PULL_BEGINNING };
    this.#toldAtMs = -Infinity;
    this.#tell();
  }

  /** A step of a pull or a comparison; `monotonicMs` is when. */
  advance(event: PullProgress, monotonicMs: number): void {
    const before = this.#progress;
    if (before === null) return;
    this.#progress = positionAfter(before, event);
    if (monotonicMs - this.#toldAtMs < TELL_MS_MIN) return;
    this.#toldAtMs = monotonicMs;
    this.#tell();
  }

  /** `isRecorded` if the replica records the work. */
  end(
    note: Omit<WorkNote, 'tables' | 'tableCount'>,
    { tables, isRecorded }: { readonly tables: readonly TableOutcome[]; readonly isRecorded: boolean },
  ): void {
    this.#progress = null;
    const touched = tables.map(resultOf).filter((table) => table !== null);
    if (!isRecorded) this.#notes.unshift({ ...note, tables: touched, tableCount: tables.length });
    this.#notes.splice(NOTES_MAX);
    this.#tell();
  }

  snapshot(): WorkSnapshot {
    return { progress: this.#progress, notes: this.#notes };
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Null if nothing happened to the table. */
function resultOf({ localName, counts, error, held }: TableOutcome): TableResult | null {
  const { insertedCount: inserted, updatedCount: updated, deletedCount: deleted } = counts;
  const trouble: RowsyncError | null = error ?? held;
  if (trouble === null && inserted + updated + deleted === 0) return null;
  const { message: problem = null, hint = null } = trouble ?? {};
  return { table: localName, inserted, updated, deleted, refused: 0, problem, hint };
}

const DIFFERENCES: ReadonlySet<ErrorCode | undefined> = new Set(['verify.mismatch', 'verify.notModified']);

export class Results {
  readonly lastByWork = new Map<WorkKind, LastWork>();
  readonly workCounts = new Map<string, number>();
  /** Tables that verify found to differ from the origin. */
  mismatchCount = 0;
  readonly #failureByWork = new Map<WorkKind, FoundComplaint>();
  /** Tables that differed when they were last verified, by their names here. */
  readonly #differenceByTable = new Map<string, FoundComplaint>();
  readonly #book: WorkLog;

  constructor(book: WorkLog) {
    this.#book = book;
  }

  /** What went wrong the last time, of jobs that leave no record in the replica. */
  get complaints(): readonly FoundComplaint[] {
    return [...this.#failureByWork.values(), ...this.#differenceByTable.values()];
  }

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
