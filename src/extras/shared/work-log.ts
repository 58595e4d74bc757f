/**
 * The work of a daemon for those who ask it: the progress of the current work, and recent work without a record in
 * `sync_runs`, such as a backup. Kept in memory only, and bounded.
 */
import type { RowsyncError } from '../../base/errors.ts';
import type { WorkEvent } from '../../daemon/context.ts';
import type { WorkKind } from '../../daemon/jobs.ts';
import type { TableOutcome } from '../../daemon/work-kinds.ts';
import { positionAfter, PULL_BEGINNING, type PullPosition } from '../../pull/report.ts';
import type { TableResult } from '../../replica/bookkeeping/runs.ts';

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
  #notifiedAtMs = -Infinity;

  /** Calls when there is progress to report; returns a function that stops the calls. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a step of the daemon's work. */
  take(step: WorkEvent): void {
    if (step.kind === 'advanced') return this.#advance(step);
    this.#notifiedAtMs = -Infinity;
    if (step.kind === 'began') this.#progress = { work: step.work, startedAtMs: step.atMs, ...PULL_BEGINNING };
    else this.#end(step);
    this.#tell();
  }

  #advance({ event, monotonicMs }: WorkEvent & { readonly kind: 'advanced' }): void {
    const before = this.#progress;
    if (before === null) return;
    this.#progress = positionAfter(before, event);
    if (monotonicMs - this.#notifiedAtMs < TELL_MS_MIN) return;
    this.#notifiedAtMs = monotonicMs;
    this.#tell();
  }

  #end({
    kind: _kind,
    isRefresh: _isRefresh,
    tables,
    isRecorded,
    ...note
  }: WorkEvent & { readonly kind: 'ended' }): void {
    this.#progress = null;
    const changed = tables.map(resultOf).filter((table) => table !== null);
    if (!isRecorded) this.#notes.unshift({ ...note, tables: changed, tableCount: tables.length });
    this.#notes.splice(NOTES_MAX);
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
