/**
 * Decides what the daemon does next: run a kind of work for some jobs, or wait. Pure.
 */
import { WORK_KINDS, type Job, type ScheduledJob, type WorkKind } from './jobs.ts';
import type { Circuit, Trouble } from './circuit-breaker.ts';

export interface Situation {
  readonly jobs: readonly ScheduledJob[];
  /** Null while it is closed. */
  readonly circuit: Circuit | null;
  readonly localKinds: ReadonlySet<WorkKind>;
  /** Tables that failed alone, by origin name. */
  readonly troubleByTable: ReadonlyMap<string, Trouble>;
  /** Kinds of work that a person asked for. */
  readonly requested: ReadonlySet<WorkKind>;
  /** Tables with edits to push now, regardless of the schedule. */
  readonly editedTables: ReadonlySet<string>;
  /** Tables that are to be read now, regardless of the schedule. */
  readonly refreshedTables: ReadonlySet<string>;
  /** Whether the last work read such tables: then scheduled work comes first. */
  readonly hasRefreshed: boolean;
  /** When to look for edits again; Infinity if none are expected. */
  readonly lookMs: number;
  /** Wall time, which schedules follow. */
  readonly nowMs: number;
  /** Monotonic time, which waits after failures follow. */
  readonly monotonicMs: number;
}

export type Step =
  | { readonly kind: 'wait'; readonly ms: number }
  | {
      readonly kind: 'run';
      readonly work: WorkKind;
      /** A person asked for it. */
      readonly isAsked: boolean;
      /** The jobs whose turn it is; empty if only failed tables are retried, or only some tables are wanted. */
      readonly jobIds: ReadonlySet<string>;
      /** Tables that take part beside those of the jobs: edited ones in a push; in a refresh, those to be read now. */
      readonly wantedTables: ReadonlySet<string>;
      /** Ask the origin one question first, because the last cycle failed as a whole. */
      readonly probeFirst: boolean;
    };

/** Longest wait without a look at the clock, which may have been set, or stopped while the machine slept. */
export const WAIT_MS_MAX = 60_000;

export function nextStep(situation: Situation): Step {
  const { jobs, circuit, localKinds, nowMs, monotonicMs, requested } = situation;
  const { editedTables, refreshedTables, lookMs } = situation;
  const due = jobs.filter(({ isDue }) => isDue);
  const retries = [...situation.troubleByTable.values()].map(({ retryAtMs }) => retryAtMs - monotonicMs);
  const isRetry = retries.some((ms) => ms <= 0);
  const run = (work: WorkKind, wantedTables: ReadonlySet<string> = NONE): Step & { readonly kind: 'run' } => {
    const isAsked = requested.has(work);
    const jobIds = idsOf(isAsked ? jobs : due, work);
    return { kind: 'run', work, isAsked, jobIds, wantedTables, probeFirst: circuit !== null && !localKinds.has(work) };
  };
  const heldBackMs = circuit === null ? 0 : circuit.retryAtMs - monotonicMs;
  const ticks = jobs.map(({ nextAtMs }) => nextAtMs - nowMs);
  const isWanted = (kind: WorkKind): boolean =>
    requested.has(kind) || (kind === 'pull' && isRetry) || (kind === 'push' && editedTables.size > 0);
  const kinds = new Set<WorkKind>([...WORK_KINDS, ...requested, ...due.map(({ kind }) => kind)]);
  const work = [...kinds].find((kind) => isWanted(kind) || due.some((job) => job.kind === kind));
  const isWantedNow = refreshedTables.size > 0;
  if (isWantedNow && heldBackMs <= 0 && !(situation.hasRefreshed && due.length + requested.size > 0))
    return { ...run('follow', refreshedTables), isAsked: false, jobIds: NONE };
  if (work === undefined) return wait([...ticks, ...retries, lookMs, isWantedNow ? heldBackMs : Infinity]);
  const local = circuit?.cause === 'replica' ? undefined : due.find(({ kind }) => localKinds.has(kind));
  if (heldBackMs > 0 && local !== undefined) return run(local.kind);
  if (heldBackMs > 0) return wait([...ticks, heldBackMs]);
  return run(work, work === 'push' ? editedTables : NONE);
}

const NONE: ReadonlySet<string> = new Set();

function idsOf(jobs: readonly Job[], work: WorkKind): ReadonlySet<string> {
  return new Set(jobs.filter(({ kind }) => kind === work).map(({ id }) => id));
}

function wait(candidatesMs: readonly number[]): Step {
  return { kind: 'wait', ms: Math.max(0, Math.min(WAIT_MS_MAX, ...candidatesMs)) };
}

export type Run = Step & { readonly kind: 'run' } & { readonly monotonicMs: number };

export interface Candidate {
  readonly name: string;
  /** The job of its work of this kind; null if none is scheduled. */
  readonly job: Job | null;
  readonly trouble: Trouble | undefined;
  /** Whether its job skips it because the doorbell reports its changes. */
  readonly waitsForRing: boolean;
}

/** Whether a run reads tables because somebody wants them now. */
export function isRefresh({ work, wantedTables }: Pick<Run, 'work' | 'wantedTables'>): boolean {
  return work === 'follow' && wantedTables.size > 0;
}

/** Whether a table takes part: it is wanted, or its job is due, and any wait after its trouble is over. */
export function takesPart({ name, job, trouble, waitsForRing }: Candidate, run: Run): boolean {
  if (run.isAsked) return true; // a person wants all of it, scheduled or not
  if (job === null && !isRefresh(run)) return false;
  const isItsTurn = run.wantedTables.has(name) || (job !== null && run.jobIds.has(job.id) && !waitsForRing);
  if (trouble === undefined) return isItsTurn;
  return trouble.retryAtMs <= run.monotonicMs && (run.work === 'pull' || isItsTurn);
}
