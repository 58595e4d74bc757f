/**
 * Following a table: reading only the rows whose time of modification is at or after a watermark, less an overlap.
 * Decides whether a table can be followed now, where the next page begins, and when a sweep has to look instead. The
 * watermark is a stamp of the origin, never a time of this machine. Pure.
 */
import { columnType, isWritable, type ColumnDescriptor } from '../wire/schema.ts';
import { secondOf } from './windows.ts';

/** The overlap, for transactions that became visible after later ones. The next sweep brings rows that were later. */
const OVERLAP_MS = 120_000;

/** Pages of one round, for a table with fewer: a sweep reads as many as the table has. */
export const FOLLOW_PAGES_MAX = 20;

/** How long after a second, by the origin's clock, no row gets a stamp of that second. */
const SECOND_OVER_MS = 10_000;

/** Pages from which on following costs clearly fewer requests than a sweep. */
export const LARGE_PAGES = 8;

/** The shortest time between two comparisons of days, or between a sweep and a comparison. */
const COMPARE_AFTER_MS = 600_000;

/** The stamp of a table without any change. */
export const FIRST_STAMP = '1970-01-01T00:00:00Z';

/** How often reading rows of one stamp starts again because they moved. */
const TIE_ROUNDS_MAX = 3;

/** The facts in the bookkeeping that decide whether a table can be followed. */
export interface Followable {
  readonly state: string;
  readonly push: 'off' | 'waiting' | 'on';
  readonly sweepOpen: boolean;
  /** False after an event that made every page suspect, until the next finished sweep. */
  readonly endProven: boolean;
  readonly identityChecked: boolean;
  readonly heldCode: string | null;
  /** What stopped the last push. */
  readonly pushCode: string | null;
  readonly isDistrusted: boolean;
  readonly watermark: string | null;
}

/** The column with the time of the last change; null if the calling user does not see it. */
export function stampColumn(columns: readonly ColumnDescriptor[]): ColumnDescriptor | null {
  return columns.find(({ kind, type }) => kind === 'DateModified' && columnType(type) === 'Timestamp') ?? null;
}

/** Kinds of columns that the service itself fills when it stamps a row. */
const STAMPED_KINDS: ReadonlySet<string | null> = new Set([
  'Key',
  'RecordOwner',
  'CreatedBy',
  'DateCreated',
  'LastModifiedBy',
  'DateModified',
]);

/** Whether values of a column may change while the row keeps its stamp, as those of formulas and lookups do. */
export function movesUnstamped(column: Pick<ColumnDescriptor, 'kind' | 'readOnly'>): boolean {
  return !isWritable(column) && !STAMPED_KINDS.has(column.kind);
}

/** Whether a whole sweep proved the rows here, so that only later changes are missing. */
export function mayFollow(table: Followable): boolean {
  return (
    table.watermark !== null &&
    table.state === 'steady' &&
    table.push !== 'waiting' &&
    table.endProven &&
    table.identityChecked &&
    !table.sweepOpen &&
    !table.isDistrusted &&
    table.heldCode === null &&
    table.pushCode !== 'push.shape' // its columns are not those that it was read with
  );
}

/** Whether it is time to compare days; also after the clock of this machine was set back. */
export function isCompareDue(comparedAt: string | null, nowMs: number): boolean {
  const sinceMs = nowMs - Date.parse(comparedAt ?? FIRST_STAMP);
  return sinceMs < 0 || sinceMs >= COMPARE_AFTER_MS;
}

/** How long `follow: auto` leaves a table alone whose changes come by rings. */
export const RUNG_REST_MS = 600_000;

/** A place in the rows, in the order of their stamps. */
export interface FollowCursor {
  /** Rows at or after this stamp, to the second: literals of filters have no fractions. */
  readonly after: string;
  /** Rows of that second that were already read, except for the last one, which is requested again. */
  readonly skip: number;
  /** The row with which the page must begin; null for any. */
  readonly firstId: number | null;
  readonly tieRounds: number;
}

/** The watermark after a sweep, by its begin at the origin's clock: what changed meanwhile is not before it. */
export function watermarkAfter(latest: string | null, begunMs: number): string {
  const begun = stampBefore(new Date(begunMs).toISOString(), SECOND_OVER_MS);
  return latest === null ? FIRST_STAMP : latest < begun ? latest : begun;
}

/** Where a round begins. */
export function firstCursor(watermark: string): FollowCursor {
  return cursorAt(stampBefore(watermark, OVERLAP_MS));
}

/** The place before the first row of a second. */
export function cursorAt(second: string): FollowCursor {
  return { after: second, skip: 0, firstId: null, tieRounds: 0 };
}

export interface ChangedPage {
  /** All rows, readable or not. */
  readonly ids: readonly number[];
  /** Stamps by id, of the rows that have one and can be read. */
  readonly stampById: ReadonlyMap<number, string>;
  readonly top: number;
}

/** What to do after a page; `why` is the reason for a sweep, in a word. */
export type FollowStep =
  | { readonly kind: 'next'; readonly cursor: FollowCursor }
  | { readonly kind: 'done' }
  | { readonly kind: 'sweep'; readonly why: 'stamps' | 'unreadable' | 'moving' };

export function judgeChangedPage(cursor: FollowCursor, { ids, stampById, top }: ChangedPage): FollowStep {
  if ([...stampById.values()].some((stamp) => secondOf(stamp) < cursor.after)) return { kind: 'sweep', why: 'stamps' };
  if (cursor.firstId !== null && ids[0] !== cursor.firstId) {
    // A row of this second was changed meanwhile, and later rows moved up.
    const tieRounds = cursor.tieRounds + 1;
    if (tieRounds >= TIE_ROUNDS_MAX) return { kind: 'sweep', why: 'moving' };
    return { kind: 'next', cursor: { ...cursor, skip: 0, firstId: null, tieRounds } };
  }
  if (ids.length < top) return { kind: 'done' };
  const last = ids.at(-1) ?? 0;
  const stamp = stampById.get(last);
  if (stamp === undefined) return { kind: 'sweep', why: 'unreadable' };
  const after = secondOf(stamp);
  if (after > cursor.after) {
    // Rows of the page's last second are not read again, except for the last one.
    const first = ids.findIndex((id) => secondOf(stampById.get(id) ?? '') === after);
    return { kind: 'next', cursor: { ...cursorAt(after), skip: ids.length - first - 1, firstId: last } };
  }
  return { kind: 'next', cursor: { ...cursor, skip: cursor.skip + ids.length - 1, firstId: last } };
}

export type Seconds = ReadonlyMap<string, number>;

/** What was read of the seconds in which rows were changed last. */
export interface SecondsRead {
  readonly there: Seconds;
  readonly here: Seconds;
  /** When they were read the last time, by the origin's clock; null if that is unknown. */
  readonly readAtMs: number | null;
  /** Later seconds were read just now; null for none. */
  readonly readBehind: string | null;
}

/** When rows were read, by the origin's clock; `readAt` is in our seconds. Null also after this clock was set back. */
export function readAtOrigin(
  readAt: number | null,
  { nowMs, clockAheadMs }: { readonly nowMs: number; readonly clockAheadMs: number | null },
): number | null {
  if (readAt === null || clockAheadMs === null || readAt * 1_000 > nowMs) return null;
  return readAt * 1_000 - clockAheadMs;
}

/**
 * The first second whose rows have to be read: their number differs, or the second was hardly over when they were read.
 * A row whose stamp moves within a second that was over is not noticed. Null for none.
 */
export function firstUnread({ there, here, readAtMs, readBehind }: SecondsRead): string | null {
  const over = readAtMs === null ? '' : stampBefore(new Date(readAtMs).toISOString(), SECOND_OVER_MS);
  const isUnread = (second: string): boolean =>
    there.get(second) !== here.get(second) || (second >= over && !(readBehind !== null && second > readBehind));
  return [...there.keys(), ...here.keys()].toSorted().find(isUnread) ?? null;
}

/** The second behind which a page has all rows that were changed, the newest first; null if it does not say. */
export function readBehindOf({ ids, stampById, top }: ChangedPage): string | null {
  const stamp = stampById.get(ids.at(-1) ?? 0);
  if (ids.length < top) return '';
  return stamp === undefined ? null : secondOf(stamp);
}

/** The latest of all stamps, to the second; null for none. */
export function laterStamp(before: string | null, stamps: Iterable<string>): string | null {
  let latest = before;
  for (const stamp of stamps) if (latest === null || secondOf(stamp) > latest) latest = secondOf(stamp);
  return latest;
}

function stampBefore(stamp: string, ms: number): string {
  return secondOf(new Date(Date.parse(stamp) - ms).toISOString());
}
