/**
 * The jobs of a configuration and when each is due. There is one per kind of work for all tables, and one per pattern
 * of tables with a schedule of its own. A table belongs to one job of each kind.
 */
import { oncePerKey } from '../base/memoize.ts';
import type { Config } from '../config/load.ts';
import { isPushed } from '../config/table-options.ts';
import type { TableRule } from '../config/table-patterns.ts';
import { scheduleOf, type Schedule } from '../config/cron-times.ts';
import { RUNG_REST_MS } from '../reconcile/follow.ts';

/** Scheduled kinds of work of the core, in the order in which they are done if several are due; then of extras. */
export const WORK_KINDS = ['pull', 'follow', 'push', 'files'] as const;

/** When `follow: auto` reads changes; never if nothing is ever pulled. */
const AUTO_FOLLOW = '* * * * *';

export type CoreWork = (typeof WORK_KINDS)[number];

/** A kind of work: one of WORK_KINDS, or of an extra. */
export type WorkKind = string;

export function isCoreWork(kind: WorkKind): kind is CoreWork {
  return WORK_KINDS.some((known) => known === kind);
}

export interface Job {
  /** Unique: the kind, and the pattern if it has one. */
  readonly id: string;
  readonly kind: WorkKind;
  readonly schedule: Schedule;
  /** Whether it leaves out tables whose changes come by rings. */
  readonly waitsForRings: boolean;
}

/** The jobs that a configuration asks for, and which one serves a table. */
export interface Jobs {
  readonly all: readonly Job[];
  /** The job of this kind for a table, by its origin name; null if none is scheduled. */
  find(kind: WorkKind, tableName: string): Job | null;
  /** Whether the files of a table come with its rows, because they have no schedule. */
  comesWithPull(tableName: string): boolean;
}

/** What decides on the jobs. */
export type ConfiguredJobs = Pick<Config, 'schedule' | 'tables'>;

export function jobsOf(config: ConfiguredJobs): Jobs {
  const zone = config.schedule.timeZone;
  const jobOf = (kind: WorkKind, pattern: string | null, text: string | false | undefined): readonly Job[] => {
    const isAuto = text === 'auto';
    if (text === false || text === undefined || (isAuto && config.schedule.pull === false)) return [];
    const id = pattern === null ? kind : `${kind} ${pattern}`;
    const schedule = scheduleOf(isAuto ? AUTO_FOLLOW : text, zone);
    return [{ id, kind, schedule, waitsForRings: isAuto && config.schedule.isRung }];
  };
  const hasPushed = config.tables.rules.some(({ options }) => isPushed(options));
  const kinds = WORK_KINDS.filter((kind) => kind !== 'push' || hasPushed);
  const texts = kinds.map((kind) => [kind, config.schedule[kind]] as const);
  const all = [...texts, ...Object.entries(config.schedule.added)].flatMap(([kind, text]) => [
    ...jobOf(kind, null, text),
    ...config.tables.rules.flatMap(({ pattern, options }) => jobOf(kind, pattern, ownSchedule(options, kind))),
  ]);
  return {
    all,
    find: (kind, tableName) => {
      const rule = config.tables.find(tableName);
      if (rule === null) return null;
      const id = ownSchedule(rule.options, kind) === undefined ? kind : `${kind} ${rule.pattern}`;
      return all.find((job) => job.id === id) ?? null;
    },
    comesWithPull: (tableName) => {
      const rule = config.tables.find(tableName);
      return rule !== null && (ownSchedule(rule.options, 'files') ?? config.schedule.files) === undefined;
    },
  };
}

/** After how long some kinds of work are late for a table: two ticks of the first schedule; null without one. */
export function lateness(
  jobs: Jobs,
  nowMs: number,
): (tableName: string, ...kinds: readonly WorkKind[]) => number | null {
  // Thousands of tables share a few schedules.
  const twoTicks = oncePerKey(({ schedule, waitsForRings }: Job): number => {
    const firstMs = schedule.nextMs(nowMs);
    return 2 * Math.max(schedule.nextMs(firstMs) - firstMs, waitsForRings ? RUNG_REST_MS : 0);
  });
  return (tableName, ...kinds) => {
    const found = kinds.flatMap((kind) => jobs.find(kind, tableName) ?? []);
    return found.length === 0 ? null : Math.min(...found.map(twoTicks));
  };
}

/** The schedule that the options of a pattern give to a kind of work. */
function ownSchedule({ schedule = {} }: TableRule['options'], kind: WorkKind): string | false | undefined {
  const texts: Readonly<Record<string, string | false | undefined>> = schedule;
  return texts[kind] ?? (kind === 'pull' || kind === 'push' ? schedule.sync : undefined);
}

/** A job, and when its turn is. */
export interface ScheduledJob extends Job {
  /** The next tick, in epoch milliseconds. */
  readonly nextAtMs: number;
  /** A tick has come, and the job has not been run since. */
  readonly isDue: boolean;
}

export class ScheduledJobs {
  readonly jobs: Jobs;
  #all: readonly ScheduledJob[];

  /** Pulls and pushes are due at once, because it is unknown what was missed. */
  constructor(jobs: Jobs, nowMs: number) {
    this.jobs = jobs;
    this.#all = jobs.all.map((job) => armed(job, nowMs, job.kind === 'pull' || job.kind === 'push'));
  }

  get all(): readonly ScheduledJob[] {
    return this.#all;
  }

  tick(nowMs: number): void {
    this.#all = this.#all.map((job) => ticked(job, nowMs));
  }

  /** Notes that the ticks of a run were served, and those that came meanwhile. */
  serve(jobIds: ReadonlySet<string>, nowMs: number): void {
    this.#all = this.#all.map((job) => (jobIds.has(job.id) ? armed(job, nowMs, false) : job));
  }
}

export function armed(job: Job, nowMs: number, isDue: boolean): ScheduledJob {
  return { ...job, nextAtMs: job.schedule.nextMs(nowMs), isDue };
}

/** The job at a later time: due once its tick has come, however many ticks have. */
export function ticked(job: ScheduledJob, nowMs: number): ScheduledJob {
  const nextAtMs = job.schedule.nextMs(nowMs);
  if (job.nextAtMs <= nowMs) return { ...job, nextAtMs, isDue: true };
  // The job is later than the next tick: the clock was set back, and waiting for the old time could take years.
  return job.nextAtMs > nextAtMs ? { ...job, nextAtMs } : job;
}
