/**
 * Reads times as people write them: `2026-11-01 08:00`, `2026-11-01T08:00:00Z`, `yesterday`, `2h` (ago). A time without
 * a zone is local to this machine.
 */
import { usageError } from '../../base/errors.ts';
import { processEnvironment } from '../../config/secrets.ts';
import { isZone } from '../../wire/time-zones.ts';

const WRITTEN = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?\s?(Z|[+-]\d\d:\d\d)?)?$/i;
const AGO = /^(\d{1,6})\s?(s|m|h|d|w)(?: ago)?$/;
const UNIT_S: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** What `--help` says of an option that takes a moment. */
export const MOMENT_FORMS =
  '2026-11-01, "2026-11-01 08:00", 2026-11-01T08:00:00Z, now, today, yesterday, or 90m, 2h, 3d, 1w ago';

/** Seconds since 1970; a day alone is its beginning. @throws RowsyncError `usage.invalid`, which names the option. */
export function momentOf(text: string, { name, nowMs }: { readonly name: string; readonly nowMs: number }): number {
  const given = text.trim();
  const ms = wordMs(given.toLowerCase(), nowMs) ?? agoMs(given, nowMs) ?? writtenMs(given);
  if (ms !== null && isLocal(given)) requireMachineZone(name);
  if (ms !== null) return Math.floor(ms / 1000);
  throw usageError(`${name}: cannot read "${text}" as a time`, `Write it as one of: ${MOMENT_FORMS}.`);
}

function isLocal(text: string): boolean {
  const written = WRITTEN.exec(text);
  return written === null ? /^(?:today|yesterday)$/i.test(text) : written.at(-1) === undefined;
}

/** Refuses a TZ that Node does not know, such as `CET-1CEST,M3.5.0,M10.5.0`: Node would silently use UTC. */
function requireMachineZone(name: string): void {
  const zone = processEnvironment()['TZ']?.replace(/^:/, '') ?? '';
  if (zone === '' || isZone(zone)) return;
  throw usageError(
    `The time zone of this machine is "${zone}" (TZ), which is not the name of a time zone: ${name} cannot be a local time`,
    'Set TZ to a name, such as Europe/Paris, or write the time in UTC: 2026-11-01T08:00:00Z.',
  );
}

function wordMs(word: string, nowMs: number): number | null {
  if (word === 'now') return nowMs;
  if (word !== 'today' && word !== 'yesterday') return null;
  const day = new Date(nowMs);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - (word === 'today' ? 0 : 1)).getTime();
}

function agoMs(text: string, nowMs: number): number | null {
  const [, count, unit = ''] = AGO.exec(text) ?? [];
  return count === undefined ? null : nowMs - Number(count) * (UNIT_S[unit] ?? 0) * 1000;
}

function writtenMs(text: string): number | null {
  const [, year, month, day, time = '00:00', seconds = ':00', zone = ''] = WRITTEN.exec(text) ?? [];
  if (year === undefined) return null;
  // Date.parse takes February 30th for a day in March.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const ms = Date.parse(`${year}-${month}-${day}T${time}${seconds}${zone.toUpperCase()}`);
  return isDay && !Number.isNaN(ms) ? ms : null;
}
