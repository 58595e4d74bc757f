/**
 * What the daemon did since it started, for people who look at its page: the last pieces of work with what each did to which table, how
 * each table fared in every quarter of an hour of the last day, and how far the work under way is. Input: the daemon says what it
 * begins, does and ends. Output: plain values. Kept in memory only, and bounded.
 */
import type { RowsyncError } from '../base/errors.ts';
import type { PullProgress } from '../pull/report.ts';
import type { WorkKind } from './jobs.ts';
import type { TableOutcome } from './work.ts';

/** What one piece of work did to one table. */
export interface TableNote {
  readonly table: string;
  readonly insertedCount: number;
  readonly updatedCount: number;
  readonly deletedCount: number;
  /** Why it failed or waits, and what to do; null where it went well. */
  readonly words: string | null;
  readonly hint: string | null;
}

/** One piece of work that has ended. */
export interface WorkNote {
  readonly work: WorkKind;
  readonly finishedAtMs: number;
  readonly durationMs: number;
  readonly outcome: string;
  /** Its `id` in `sync_runs`; null where it has none. */
  readonly runId: number | null;
  /** Those to which anything happened. */
  readonly tables: readonly TableNote[];
  readonly tableCount: number;
  readonly words: string | null;
  readonly hint: string | null;
}

/** How far the work under way is. */
export interface WorkProgress {
  readonly work: WorkKind;
  readonly startedAtMs: number;
  readonly table: string | null;
  readonly tablesDoneCount: number;
  /** Null where it is not known. */
  readonly tableCount: number | null;
  readonly rowCount: number;
  readonly expectedRowCount: number;
}

/** How a table fared in a quarter of an hour; `calm` where nothing was to be done, `unknown` before the daemon started. */
export type Fare = 'fresh' | 'followed' | 'failed' | 'late' | 'calm' | 'unknown';

/** A table and its last day, the oldest quarter first. */
export interface TableStrip {
  readonly table: string;
  readonly fares: readonly Fare[];
}

/** All of it, for the page. */
export interface WorkSnapshot {
  readonly progress: WorkProgress | null;
  /** The newest first. */
  readonly notes: readonly WorkNote[];
  readonly strips: readonly TableStrip[];
}

/** Quarters of an hour in a day. */
const QUARTERS = 96;
const QUARTER_MS = 900_000;
const NOTES_MAX = 200;
/** Changes are told at most this often; someone watches a bar. */
const TELL_MS_MIN = 250;

interface TableDay {
  /** Its name in the replica. */
  readonly table: string;
  /** By the number of the quarter since 1970. */
  readonly fareByQuarter: Map<number, Fare>;
  readonly successMs: number[];
}

/** Keeps it. */
export class WorkBook {
  readonly #startedAtMs: number;
  readonly #notes: WorkNote[] = [];
  readonly #days = new Map<string, TableDay>();
  readonly #listeners = new Set<() => void>();
  #progress: WorkProgress | null = null;
  #toldAtMs = -Infinity;

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  /** Calls whenever something may be told; returns how to stop that. */
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

  end(note: Omit<WorkNote, 'tables' | 'tableCount'>, tables: readonly TableOutcome[]): void {
    this.#progress = null;
    const touched = tables.map(noteOf).filter((table) => table !== null);
    this.#notes.unshift({ ...note, tables: touched, tableCount: tables.length });
    this.#notes.splice(NOTES_MAX);
    if (note.work === 'pull' || note.work === 'follow') {
      for (const table of tables) this.#fare(table, note.finishedAtMs);
    }
    this.#tell();
  }

  /** `lateAfterMs` says after how long without a success a table is late, by its name at the origin; null for never. */
  snapshot(nowMs: number, lateAfterMs: (table: string) => number | null): WorkSnapshot {
    const strips = [...this.#days].map(([name, day]) => ({
      table: day.table,
      fares: faresOf(day, { nowMs, startedAtMs: this.#startedAtMs, lateAfterMs: lateAfterMs(name) }),
    }));
    return { progress: this.#progress, notes: this.#notes, strips };
  }

  #fare({ name, localName, error, held, isFollowed }: TableOutcome, nowMs: number): void {
    const known = this.#days.get(name);
    const day = {
      fareByQuarter: new Map<number, Fare>(),
      successMs: [],
      ...known,
      table: localName,
    } satisfies TableDay;
    this.#days.set(name, day);
    const fare = error !== null || held !== null ? 'failed' : isFollowed ? 'followed' : 'fresh';
    if (fare !== 'failed') day.successMs.push(nowMs);
    const oldest = quarterOf(nowMs) - QUARTERS;
    day.fareByQuarter.set(quarterOf(nowMs), worseOf(day.fareByQuarter.get(quarterOf(nowMs)), fare));
    for (const quarter of day.fareByQuarter.keys()) if (quarter <= oldest) day.fareByQuarter.delete(quarter);
    // One success before the day says whether its first quarters were late.
    while ((day.successMs[1] ?? Infinity) < oldest * QUARTER_MS) day.successMs.shift();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** What is told of a table, from bad to good. */
const SEVERITY: readonly Fare[] = ['failed', 'fresh', 'followed'];

function worseOf(one: Fare | undefined, other: Fare): Fare {
  return SEVERITY.find((fare) => fare === one || fare === other) ?? other;
}

function quarterOf(ms: number): number {
  return Math.floor(ms / QUARTER_MS);
}

/** The last day of a table, quarter by quarter. */
function faresOf(
  { fareByQuarter, successMs }: TableDay,
  options: { readonly nowMs: number; readonly startedAtMs: number; readonly lateAfterMs: number | null },
): readonly Fare[] {
  const { nowMs, startedAtMs, lateAfterMs } = options;
  const last = quarterOf(nowMs);
  return Array.from({ length: QUARTERS }, (_, index) => {
    const quarter = last - QUARTERS + 1 + index;
    const known = fareByQuarter.get(quarter);
    if (known !== undefined) return known;
    if (quarter < quarterOf(startedAtMs)) return 'unknown';
    const endMs = Math.min(nowMs, (quarter + 1) * QUARTER_MS);
    const before = successMs.findLast((ms) => ms <= endMs) ?? startedAtMs;
    return lateAfterMs !== null && endMs - before > lateAfterMs ? 'late' : 'calm';
  });
}

/** Work under way, after one more step of it. */
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

/** Null where nothing happened to the table. */
function noteOf({ localName, counts, error, held }: TableOutcome): TableNote | null {
  const { insertedCount, updatedCount, deletedCount } = counts;
  const trouble: RowsyncError | null = error ?? held;
  if (trouble === null && insertedCount + updatedCount + deletedCount === 0) return null;
  return { table: localName, ...counts, words: trouble?.message ?? null, hint: trouble?.hint ?? null };
}
