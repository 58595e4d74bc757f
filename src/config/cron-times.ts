/**
 * Finds when scheduled work is due: cron expressions of five fields, read in the local time of a zone.
 *
 * Where an expression names its hours, the hour that clocks repeat counts once. Times in the hour that they skip are
 * due once, right after it. For `*` and `*` with a step in the field of hours, the repeated hour counts twice, and the
 * skipped one is left out.
 */
import { Cron } from 'croner';

export interface Schedule {
  /** As the configuration says it. */
  readonly text: string;
  /** The first instant after `afterMs` at which it is due, in epoch milliseconds. */
  nextMs(afterMs: number): number;
}

/** Why a text is no cron expression; null for one that is. */
export function cronComplaint(text: string): string | null {
  if (text.trim().split(/\s+/).length !== 5) return 'has to have five fields: minute hour day month weekday';
  try {
    void new Cron(text, OPTIONS); // a list that is written out would hide what is wrong with a range
    return scheduleOf(text, 'UTC').nextMs(0) === Infinity ? 'names a day that never comes' : null;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.replace('CronPattern: ', '') : '';
    return `cannot be read: ${reason.toLowerCase()}`;
  }
}

/** `no-wildcard`: an expression names its times where no star and no step is in its minutes and hours. */
const OPTIONS = { fixedTimeRule: 'no-wildcard', sloppyRanges: true } as const;

/** The schedule of an expression for which `cronComplaint` is null, in a zone that Intl knows. */
export function scheduleOf(text: string, zone: string): Schedule {
  const [minutes = '', hours = '', ...days] = text.trim().split(/\s+/);
  const times = hours.startsWith('*') ? [minutes, hours] : [listed(minutes, 60), listed(hours, 24)];
  const cron = new Cron([...times, ...days].join(' '), { ...OPTIONS, timezone: zone });
  return { text, nextMs: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? Infinity };
}

/** The numbers that a field names, without stars, ranges and steps. */
function listed(field: string, size: number): string {
  const parts = field.split(',').map((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [first = '', last = part === range && range !== '*' ? range : String(size - 1)] = range.split('-');
    const from = first === '*' ? 0 : Number(first);
    const count = Math.floor((Number(last) - from) / Number(step)) + 1;
    return Array.from({ length: count }, (_, index) => from + index * Number(step)).join(',');
  });
  return parts.join(',');
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
