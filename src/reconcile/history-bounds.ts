/**
 * What may be removed because it is older than it is to be kept. Only a clock that the origin confirms counts, and only
 * a share goes at once. A machine whose clock is ahead must not remove years of history in one run. Pure.
 */
import { plural } from '../base/text.ts';

/** How much is kept. */
export interface Bounds {
  readonly keepDays: number;
  readonly bytesMax: number;
}

/** What there is; times are seconds since 1970. */
export interface Kept {
  readonly bytes: number;
  readonly oldestAt: number;
}

/** The clock of this machine, in seconds, and by how much it is ahead of the origin's; null if no answer had a date. */
export interface ConfirmedClock {
  readonly now: number;
  readonly ahead: number | null;
}

/** What to remove: so many bytes of entries before a time, and so many bytes of any, the oldest first. */
export interface Removal {
  readonly before: number;
  readonly agedBytesMax: number;
  readonly excessBytes: number;
  /** Why nothing is removed by age although some is old by this clock; null if that is not so. */
  readonly held: string | null;
}

const DAY_S = 86_400;
/** Clocks that differ by more are not trusted with what is kept for days. */
const AHEAD_S_MAX = DAY_S;
/** Of what there is, so much goes by age at once. */
const SHARE_MAX = 0.1;
/** What is beyond the bounds may wait until it is this share of them, because removing it has a price. */
const SLACK = 0.02;

/** What to remove; null for nothing, and nothing to say. */
export function removalOf(
  { bytes, oldestAt }: Kept,
  { keepDays, bytesMax }: Bounds,
  clock: ConfirmedClock,
): Removal | null {
  const keep = keepDays * DAY_S;
  const isOld = oldestAt < clock.now - keep * (1 + SLACK);
  const excessBytes = bytes > bytesMax ? bytes - bytesMax * (1 - SLACK) : 0;
  const held = isOld ? whyHeld(clock) : null;
  if (held !== null) return { before: 0, agedBytesMax: 0, excessBytes, held };
  if (!isOld && excessBytes === 0) return null;
  return { before: isOld ? clock.now - keep : 0, agedBytesMax: bytes * SHARE_MAX, excessBytes, held: null };
}

function whyHeld({ ahead }: ConfirmedClock): string | null {
  if (ahead === null) return "no answer of the origin had a date that confirms this machine's clock";
  if (Math.abs(ahead) <= AHEAD_S_MAX) return null;
  const days = plural(Math.round(Math.abs(ahead) / DAY_S), 'day');
  return `the clock of this machine is ${days} ${ahead > 0 ? 'ahead of' : 'behind'} that of the origin`;
}
