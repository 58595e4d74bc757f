/**
 * Times of the model: texts of the wire to UTC texts and back, in the zone of the calling user (specification 2.4). An
 * instant is UTC text `YYYY-MM-DDThh:mm:ss[.fff]Z`. Written anew for the model, on `Date` and the parts that Intl
 * prints, so that it shares no mistake with src/wire/time-zones.ts. Pure but for a cache of offsets.
 */

const FULL = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?$/;
const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;

interface FullTime {
  /** The fields as if they were UTC. */
  readonly fieldsMs: number;
  /** `.5`, or nothing. */
  readonly fraction: string;
  /** Of the zone that the text names; null where it names none. */
  readonly offsetMs: number | null;
}

function utcMs(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

/** Whether `YYYY-MM-DD` names a day that exists. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const ms = utcMs(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8)));
  return new Date(ms).toISOString().slice(0, 10) === text;
}

/** Whether `hh:mm:ss` names a time of day. */
export function isClock(text: string): boolean {
  const [hour, minute, second, ...rest] = text.split(':');
  const within = (part: string | undefined, max: number): boolean => /^\d\d$/.test(part ?? '') && Number(part) < max;
  return rest.length === 0 && within(hour, 24) && within(minute, 60) && within(second, 60);
}

function readFull(text: string): FullTime | undefined {
  const match = FULL.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = '00', fraction = '', utc, sign, zoneHour, zoneMinute] = match;
  const clock = `${hour}:${minute}:${second}`;
  if (!isDay(`${year}-${month}-${day}`) || !isClock(clock)) return undefined;
  const size = (Number(zoneHour ?? 0) * 60 + Number(zoneMinute ?? 0)) * 60_000;
  if (Number(zoneHour ?? 0) > 23 || Number(zoneMinute ?? 0) > 59) return undefined;
  const digits = fraction.replace(/0+$/, '');
  return {
    fieldsMs: utcMs(Number(year), Number(month), Number(day)) + clockSeconds(clock) * 1000,
    fraction: digits === '' ? '' : `.${digits}`,
    offsetMs: utc === 'Z' ? 0 : sign === undefined ? null : sign === '-' ? -size : size,
  };
}

function clockSeconds(clock: string): number {
  const [hours, minutes, seconds] = clock.split(':').map(Number);
  return ((hours ?? 0) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0);
}

/** The day and the time of day that a full time shows, wherever that is. */
export function dayAndClock(text: string): { readonly day: string; readonly clock: string } | undefined {
  const full = readFull(text);
  if (full === undefined) return undefined;
  const shown = new Date(full.fieldsMs).toISOString();
  return { day: shown.slice(0, 10), clock: shown.slice(11, 19) };
}

/**
 * The instant that a caller in `zone` means: of two that fit the earlier one, and behind a gap what clocks then show.
 */
export function instantFromInput(text: string, zone: string): string | undefined {
  const full = readFull(text);
  if (full === undefined) return undefined;
  const { fieldsMs, offsetMs, fraction } = full;
  const ms = offsetMs === null ? msFromLocal(fieldsMs, zone) : fieldsMs - offsetMs;
  const utc = yearsFit(ms) ? new Date(ms).toISOString() : undefined;
  return utc === undefined ? undefined : `${utc.slice(0, 19)}${fraction}Z`;
}

function msFromLocal(fieldsMs: number, zone: string): number {
  const before = zoneOffsetMs(fieldsMs - DAY_MS, zone);
  const offsets = [before, zoneOffsetMs(fieldsMs, zone), zoneOffsetMs(fieldsMs + DAY_MS, zone)];
  const fitting = offsets.map((offset) => fieldsMs - offset).filter((ms) => ms + zoneOffsetMs(ms, zone) === fieldsMs);
  return fitting.length === 0 ? fieldsMs - before : Math.min(...fitting);
}

function yearsFit(ms: number): boolean {
  return ms >= utcMs(0, 1, 1) && ms < utcMs(9999, 12, 31) + DAY_MS;
}

/** Epoch milliseconds of an instant, without the part of a millisecond. */
export function msFromInstant(instant: string): number {
  return Date.parse(instant);
}

/** An instant as Select shows it to a caller in `zone`: in whole seconds. */
export function shownInstant(instant: string, zone: string): string {
  const ms = Date.parse(`${instant.slice(0, 19)}Z`);
  const minutes = Math.trunc(zoneOffsetMs(ms, zone) / 60_000);
  const localMs = ms + minutes * 60_000;
  const [fields, shown] = yearsFit(localMs) ? [localMs, minutes] : [ms, 0];
  return `${new Date(fields).toISOString().slice(0, 19)}${offsetText(shown)}`;
}

/** A moment as attachments show it, with three digits of a second. */
export function shownMoment(ms: number, zone: string): string {
  const whole = shownInstant(new Date(ms).toISOString(), zone);
  return `${whole.slice(0, 19)}.${String(ms % 1000).padStart(3, '0')}${whole.slice(19)}`;
}

function offsetText(minutes: number): string {
  const size = Math.abs(minutes);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

const clocks = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, number>();

/** Milliseconds that clocks in a zone are ahead of UTC. */
function zoneOffsetMs(ms: number, zone: string): number {
  if (zone === 'UTC') return 0;
  const key = `${zone} ${Math.floor(ms / QUARTER_MS)}`;
  // Zones of today change on quarters of an hour; those of before 1972 may have seconds, and are looked at each time.
  const known = ms > 0 ? offsets.get(key) : undefined;
  if (known !== undefined) return known;
  const offset = readOffsetMs(Math.floor(ms / 1000) * 1000, zone);
  if (offsets.size > 100_000) offsets.clear();
  offsets.set(key, offset);
  return offset;
}

function readOffsetMs(ms: number, zone: string): number {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    const two = '2-digit' as const;
    const fields = {
      year: 'numeric',
      month: two,
      day: two,
      hour: two,
      minute: two,
      second: two,
      era: 'short',
    } as const;
    clock = new Intl.DateTimeFormat('en-US', { timeZone: zone, calendar: 'gregory', hourCycle: 'h23', ...fields });
    clocks.set(zone, clock);
  }
  const parts = new Map(clock.formatToParts(ms).map(({ type, value }) => [type, value]));
  const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  const year = parts.get('era') === 'BC' ? 1 - number('year') : number('year');
  const clockMs = ((number('hour') * 60 + number('minute')) * 60 + number('second')) * 1000;
  return utcMs(year, number('month'), number('day')) + clockMs - ms;
}
