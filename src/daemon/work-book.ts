/**
 * The work of the daemon, for its page: the progress of the current work, and recent work without a record in `sync_runs`, such as a backup. Kept in
 * memory only, and bounded.
 */
import type { RowsyncError } from '../base/errors.ts';
import type { PullProgress } from '../pull/report.ts';
import type { TableResult } from '../replica/bookkeeping/runs.ts';
import type { WorkKind } from './jobs.ts';
import type { TableOutcome } from './work.ts';

/** One piece of work that has ended. */
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

/** The progress of the current work. */
export interface WorkProgress {
  readonly work: WorkKind;
  readonly startedAtMs: number;
  readonly table: string | null;
  readonly tablesDoneCount: number;
  /** Null if unknown. */
  readonly tableCount: number | null;
  readonly rowCount: number;
  readonly expectedRowCount: number;
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

/** Keeps it. */
export class WorkBook {
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
    this.#progress = {
      work,
      startedAtMs: nowMs,
      table: null,
      tablesDoneCount: 0,
      tableCount: null,
      rowCount: 0,
      expectedRowCount: 0,
    };
    this.#toldAtMs = -Infinity;
    this.#tell();
  }

  /** A step of a pull or a comparison; `monotonicMs` is when. */
  advance(event: PullProgress, monotonicMs: number): void {
    const before = this.#progress;
    if (before === null) return;
    this.#progress = progressAfter(before, event);
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

/** The current work after one more step. */
function progressAfter(before: WorkProgress, event: PullProgress): WorkProgress {
  switch (event.kind) {
    case 'start':
      return { ...before, tableCount: event.tableCount, expectedRowCount: event.expectedRowCount };
    case 'tableStart':
      return { ...before, table: event.table };
    case 'page':
      return { ...before, table: event.table, rowCount: before.rowCount + event.rowCount };
    case 'tableEnd':
      return { ...before, tablesDoneCount: before.tablesDoneCount + 1 };
    default:
      return event satisfies never;
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
