/**
 * Following a table: reading only the rows whose time of modification is at or after a watermark, less an overlap. Decided here: whether a
 * table can be followed now, where the next page begins, and when a sweep has to look instead. The watermark is a stamp of the
 * origin's own, never a time of this machine. Pure.
 */
import { columnType, type ColumnDescriptor } from '../wire/schema.ts';

/** For transactions that were stamped before others and became visible after them. */
const OVERLAP_MS = 120_000;

/** Pages of one round; a sweep reads what is more, also after an import that gave a whole table one stamp. */
export const FOLLOW_PAGES_MAX = 20;

/** How often ties that move while they are read are begun again. */
const TIE_ROUNDS_MAX = 3;

/** What stands in the ledger of a table, as far as it decides whether the table can be followed. */
export interface Followable {
  readonly state: string;
  readonly push: 'off' | 'waiting' | 'on';
  readonly sweepOpen: boolean;
  /** False since something made every page suspect, until the next finished sweep. */
  readonly endProven: boolean;
  readonly identityChecked: boolean;
  readonly heldCode: string | null;
  readonly isDistrusted: boolean;
  readonly watermark: string | null;
}

/** The column that says when a row was changed last; null where the calling user is shown none. */
export function stampColumn(columns: readonly ColumnDescriptor[]): ColumnDescriptor | null {
  return columns.find(({ kind, type }) => kind === 'DateModified' && columnType(type) === 'Timestamp') ?? null;
}

/** Whether what stands here was proven by a whole sweep, so that changes since then are all that is missing. */
export function mayFollow(table: Followable): boolean {
  return (
    table.watermark !== null &&
    table.state === 'steady' &&
    table.push !== 'waiting' &&
    table.endProven &&
    table.identityChecked &&
    !table.sweepOpen &&
    !table.isDistrusted &&
    table.heldCode === null
  );
}

/** A place in the rows, in the order of their stamps. */
export interface FollowCursor {
  /** Rows at or after this stamp, to the second: literals of filters have no fractions. */
  readonly after: string;
  /** Rows of that second that were read already, but for the last one, which is asked for again. */
  readonly skip: number;
  /** With which row the page must begin; null where any may be the first. */
  readonly firstId: number | null;
  readonly tieRounds: number;
}

/** Where a round begins. */
export function firstCursor(watermark: string): FollowCursor {
  return { after: stampBefore(watermark, OVERLAP_MS), skip: 0, firstId: null, tieRounds: 0 };
}

/** A page of rows that were changed, in the order of their stamps. */
export interface ChangedPage {
  /** All rows, readable or not. */
  readonly ids: readonly number[];
  /** Stamps by id, of the rows that have one and can be read. */
  readonly stampById: ReadonlyMap<number, string>;
  readonly top: number;
}

/** What to do after a page; `why` says in a word why only a sweep can tell. */
export type FollowStep =
  | { readonly kind: 'next'; readonly cursor: FollowCursor }
  | { readonly kind: 'done' }
  | { readonly kind: 'sweep'; readonly why: 'stamps' | 'unreadable' | 'moving' };

/** Judges a page that was asked for at a cursor. */
export function judgeChangedPage(cursor: FollowCursor, { ids, stampById, top }: ChangedPage): FollowStep {
  if ([...stampById.values()].some((stamp) => secondOf(stamp) < cursor.after)) return { kind: 'sweep', why: 'stamps' };
  if (cursor.firstId !== null && ids[0] !== cursor.firstId) {
    // A row of this second was changed meanwhile, and those behind it moved up.
    const tieRounds = cursor.tieRounds + 1;
    if (tieRounds >= TIE_ROUNDS_MAX) return { kind: 'sweep', why: 'moving' };
    return { kind: 'next', cursor: { ...cursor, skip: 0, firstId: null, tieRounds } };
  }
  if (ids.length < top) return { kind: 'done' };
  const last = ids.at(-1) ?? 0;
  const stamp = stampById.get(last);
  if (stamp === undefined) return { kind: 'sweep', why: 'unreadable' };
  const after = secondOf(stamp);
  if (after > cursor.after) return { kind: 'next', cursor: { after, skip: 0, firstId: null, tieRounds: 0 } };
  return { kind: 'next', cursor: { ...cursor, skip: cursor.skip + ids.length - 1, firstId: last } };
}

/** The later one of a watermark and what was read. */
export function laterStamp(watermark: string, stamps: Iterable<string>): string {
  let latest = watermark;
  for (const stamp of stamps) if (secondOf(stamp) > latest) latest = secondOf(stamp);
  return latest;
}

/** A stamp to the second. */
export function secondOf(stamp: string): string {
  return `${stamp.slice(0, 19)}Z`;
}

function stampBefore(stamp: string, ms: number): string {
  return secondOf(new Date(Date.parse(stamp) - ms).toISOString());
}
