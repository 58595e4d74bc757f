/**
 * Finds when scheduled work is due: cron expressions of five fields, read in the local time of a zone, right on both
 * days on which its clocks change. The package `cron` says which local times an expression matches, as if local time
 * were UTC. Instants are computed here, because on the day the clocks go back the package fires a daily job twice, or
 * an hour early.
 *
 * If an expression names its hours, jobs in the repeated hour run once, and jobs in the skipped hour run right
 * after it. For `*` and `*` with a step in the field of hours, the repeated hour counts twice, and the skipped
 * one is left out.
 */
import { CronTime } from 'cron';
import { instantsOfLocal, offsetMsAt } from '../wire/time-zones.ts';

export interface Schedule {
  /** As the configuration says it. */
  readonly text: string;
  /** The first instant after `afterMs` at which it is due, in epoch milliseconds. */
  nextMs(afterMs: number): number;
}

const DAY_MS = 86_400_000;
/** The calendar repeats after this time, weekdays included. */
const CALENDAR_MS = 146_097 * DAY_MS;
/** Matches looked at for one answer: the minutes of a skipped day (Samoa, 2011) and of a repeated hour. */
const LOOKS_MAX = 2_000;

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
  return { text, nextMs: (afterMs) => nextInstant(cron, zone, { everyHour, afterMs }) };
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

/**
 * The first matching local time after another, both as if they were UTC. The package looks no further than eight years
 * past the time of the machine, which may have been set back a moment ago. So it is asked about the same day 400 years
 * earlier, when dates, leap years and weekdays were as they are now.
 */
function nextLocal(cron: CronTime, localMs: number): number {
  return cron.getNextDateFrom(new Date(localMs - CALENDAR_MS), 'UTC').toMillis() + CALENDAR_MS;
}

/** Goes through the local times that match, and takes the instants that each one names. */
function nextInstant(
  cron: CronTime,
  zone: string,
  { everyHour, afterMs }: { readonly everyHour: boolean; readonly afterMs: number },
): number {
  let soonestMs = Infinity;
  const offsetMs = offsetMsAt(afterMs, zone);
  let localMs = afterMs + offsetMs;
  const backMs = offsetMs - offsetMsAt(afterMs + DAY_MS, zone);
  if (everyHour && backMs > 0) {
    // Where clocks go back before the next match, earlier local times come once more.
    const nextMs = nextLocal(cron, localMs) - offsetMs;
    if (nextMs > afterMs + DAY_MS || offsetMsAt(nextMs, zone) !== offsetMs) localMs -= backMs;
  }
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    localMs = nextLocal(cron, localMs);
    const named = instantsOfLocal(localMs, zone);
    const due = everyHour ? named : [named[0] ?? endOfGapMs(localMs, zone)];
    const coming = due.filter((ms) => ms > afterMs);
    soonestMs = Math.min(soonestMs, ...coming);
    // The first instants of later local times come later.
    if (due.length > 0 && coming.length === due.length) return soonestMs;
  }
  return soonestMs;
}

/** The instant at which clocks of a zone went forward over a local time. */
function endOfGapMs(localMs: number, zone: string): number {
  let [beforeMs, afterMs] = [localMs - DAY_MS, localMs + DAY_MS];
  const offsetMs = offsetMsAt(beforeMs, zone);
  while (afterMs - beforeMs > 1) {
    const middleMs = Math.floor((beforeMs + afterMs) / 2);
    if (offsetMsAt(middleMs, zone) === offsetMs) beforeMs = middleMs;
    else afterMs = middleMs;
  }
  return afterMs;
}
