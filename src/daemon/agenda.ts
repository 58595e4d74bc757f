/**
 * What is due when: one entry per scheduled job, moved on by the wall clock. Input: schedules, the time, and which jobs
 * have just run. Output: new entries. Pure.
 *
 * A tick is never queued. Ticks that were missed while the machine slept, the daemon was down or the same job ran make one run at most. A clock that
 * is set back or forward moves the entries with it.
 */
import type { Schedule } from '../config/schedule.ts';

/** When a job runs next. */
export interface Entry {
  /** The next tick, in epoch milliseconds. */
  readonly nextAtMs: number;
  /** A tick has come, and the job has not been run since. */
  readonly isDue: boolean;
}

/** The entry of a job that begins now. */
export function armEntry(schedule: Schedule, nowMs: number, isDue: boolean): Entry {
  return { nextAtMs: schedule.nextMs(nowMs), isDue };
}

/** The entry at a later time: due once its tick has come, however many ticks have. */
export function tickEntry(entry: Entry, schedule: Schedule, nowMs: number): Entry {
  const nextAtMs = schedule.nextMs(nowMs);
  if (entry.nextAtMs <= nowMs) return { nextAtMs, isDue: true };
  // The entry is later than the next tick: the clock was set back, and waiting for the old time could take years.
  return entry.nextAtMs > nextAtMs ? { ...entry, nextAtMs } : entry;
}

/** The entry after a run that ended now: it served its ticks, and those that came meanwhile. */
export function serveEntry(schedule: Schedule, nowMs: number): Entry {
  return { nextAtMs: schedule.nextMs(nowMs), isDue: false };
}
