/**
 * Finds when scheduled work is due: cron expressions of five fields, read in the local time of a zone, right on both
 * days on which its clocks change. The package `cron` says which local times an expression matches, as if local time
 * were UTC. Instants are computed here, because on the day the clocks go back the package fires a daily job twice, or an
 * hour early.
 *
 * On that day, the repeated hour counts once for an expression that names its hours. Local times that the other day
 * skips are due at once when the clocks have gone forward. For `*` and `*` with a step in the field of hours, the
 * repeated hour counts twice, and the skipped one is left out.
 */
import { CronTime } from 'cron';
import { offsetMsAt } from '../wire/time-zones.ts';

export interface Schedule {
  /** As the configuration says it. */
  readonly text: string;
  /** The first instant after `afterMs` at which it is due, in epoch milliseconds. */
  nextMs(afterMs: number): number;
}

const DAY_MS = 86_400_000;
/** After so long the calendar is the same again, weekdays included. */
const CALENDAR_MS = 146_097 * DAY_MS;
/** Further ahead than this the way leads over more than one change of the clocks. */
const HORIZON_MS = 3 * DAY_MS;
/** Changes of the clocks are never closer to each other than this. */
const STEP_MS = DAY_MS / 4;
/** Matches looked at for one answer: an hour of minutes that were there before, and the segments between. */
const LOOKS_MAX = 200;

const FIELDS = [
  { name: 'minute', size: 60 },
  { name: 'hour', size: 24 },
  { name: 'day', size: 31 },
  { name: 'month', size: 12 },
  { name: 'weekday', size: 7 },
] as const;

/** Why a text is no cron expression; null for one that is. */
export function cronComplaint(text: string): string | null {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) return `has to have five fields: ${FIELDS.map(({ name }) => name).join(' ')}`;
  for (const [index, { name, size }] of FIELDS.entries()) {
    const steps = [...(fields[index] ?? '').matchAll(/\/(\d+)/g)].map(([, step]) => Number(step));
    const step = Math.max(0, ...steps);
    // The package reads it as "once in the next larger unit", which is never intended.
    if (step > size) return `has a step of ${step} in the field ${name}, which has ${size} values`;
  }
  try {
    const time = new CronTime(text, 'UTC');
    // Every month has the days up to the 28th; looking for one takes as long as the rest of the configuration.
    if (!/^(?:\*|1?\d|2[0-8])$/.test(fields[2] ?? '')) time.getNextDateFrom(new Date(0), 'UTC');
    return null;
  } catch (thrown) {
    const reason = thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : '';
    return reason.includes('No execution date')
      ? 'names a day that never comes'
      : `cannot be read: ${reason.toLowerCase()}`;
  }
}

/** The schedule of an expression for which `cronComplaint` is null, in a zone that Intl knows. */
export function scheduleOf(text: string, zone: string): Schedule {
  const cron = new CronTime(text, 'UTC');
  const everyHour = (text.trim().split(/\s+/)[1] ?? '').startsWith('*');
  return { text, nextMs: (afterMs) => nextInstant({ cron, zone, everyHour }, afterMs) };
}

/** When an expression is due, in words where it is one of the usual ones. */
export function timesText(text: string): string {
  const [minute = '', hour = '', ...days] = text.trim().split(/\s+/);
  const asItIs = `at ${text}`;
  if (days.join(' ') !== '* * *') return asItIs;
  if (hour === '*') return /^\d+$/.test(minute) ? 'every hour' : (everyText(minute, 60, 'minute') ?? asItIs);
  if (!/^\d+$/.test(minute)) return asItIs;
  if (/^\d+$/.test(hour)) return `every day at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  return everyText(hour, 24, 'hour') ?? asItIs;
}

/** Null where the waits differ. */
function everyText(field: string, size: number, unit: string): string | null {
  const step = field === '*' ? 1 : Number(/^\*\/(\d+)$/.exec(field)?.[1] ?? 0);
  if (step === 0 || size % step !== 0) return null;
  return step === 1 ? `every ${unit}` : `every ${step} ${unit}s`;
}

interface Parts {
  readonly cron: CronTime;
  readonly zone: string;
  readonly everyHour: boolean;
}

/**
 * The first matching local time after another, both as if they were UTC. The package looks no further than eight years past the
 * time of the machine, which may have been set back a moment ago. So it is asked about the same day 400 years earlier, when
 * dates, leap years and weekdays were as they are now.
 */
function nextLocal(cron: CronTime, localMs: number): number {
  return cron.getNextDateFrom(new Date(localMs - CALENDAR_MS), 'UTC').toMillis() + CALENDAR_MS;
}

function nextInstant({ cron, zone, everyHour }: Parts, afterMs: number): number {
  let fromMs = afterMs;
  let found = fromMs;
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const offsetMs = offsetMsAt(fromMs, zone);
    found = nextLocal(cron, fromMs + offsetMs) - offsetMs;
    if (found - fromMs > HORIZON_MS) {
      fromMs = found - HORIZON_MS + DAY_MS; // nothing in between, however the clocks change
      continue;
    }
    const changeMs = changeBetween(zone, fromMs, found);
    if (changeMs === null) {
      if (everyHour || !isRepeated(found, zone)) return found;
      fromMs = found;
      continue;
    }
    const gapMs = offsetMsAt(changeMs, zone) - offsetMs;
    // A local time that is skipped: the hour never came, but the work is still wanted today.
    if (gapMs > 0 && !everyHour && found < changeMs + gapMs && changeMs > afterMs) return changeMs;
    // What is due at the very moment of the change must not be stepped over.
    const atChange = nextLocal(cron, changeMs + offsetMs + gapMs - 1) - offsetMs - gapMs;
    if (atChange === changeMs && changeMs > afterMs && (everyHour || !isRepeated(changeMs, zone))) return changeMs;
    fromMs = changeMs;
  }
  return found;
}

/** The first instant of a new offset within (fromMs, toMs], or null. */
function changeBetween(zone: string, fromMs: number, toMs: number): number | null {
  const offsetMs = offsetMsAt(fromMs, zone);
  for (let low = fromMs; low < toMs; low += STEP_MS) {
    let high = Math.min(low + STEP_MS, toMs);
    if (offsetMsAt(high, zone) === offsetMs) continue;
    let same = low;
    while (high - same > 1) {
      const middle = Math.floor((same + high) / 2);
      if (offsetMsAt(middle, zone) === offsetMs) same = middle;
      else high = middle;
    }
    return high;
  }
  return null;
}

/** Whether the clocks of the zone had shown the same local time before, because they were put back since. */
function isRepeated(ms: number, zone: string): boolean {
  const before = offsetMsAt(ms - DAY_MS, zone);
  const backMs = before - offsetMsAt(ms, zone);
  return backMs > 0 && offsetMsAt(ms - backMs, zone) === before;
}
