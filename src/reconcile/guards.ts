/**
 * Guards: stops that only a person lifts. One of them is whether the replica was read by the same caller from the same
 * database. Another role sees other columns and rows under the same URL, so ETags and missing rows hold for one
 * identity. In another time zone the same text names other instants. Pure.
 */
import { RowsyncError, type ErrorCode } from '../base/errors.ts';
import { plural, shellWord } from '../base/text.ts';
import type { UserDescriptor } from '../wire/schema.ts';

/** Why deletes wait: nothing would be left · more than configured · another caller · another filter (`rows`). */
export type DeletionHold = 'empty' | 'share' | 'identity' | 'narrowed';

export interface DeletionFacts {
  /** Rows in the replica before the deletes. */
  readonly rowCount: number;
  readonly missingCount: number;
  readonly maxDeletePercent: number;
  readonly identityChanged: boolean;
  /** The rows here were chosen by another filter, or by none. */
  readonly isNarrowed: boolean;
  readonly confirmed: boolean;
}

/**
 * Judges the rows that a sweep did not find. A table that turns up empty, or loses more than the configured share,
 * waits. After a change of identity, or of the table's filter, every delete waits: lost rights look like deletes. For
 * rows that the origin has outside of the filter no share counts (`maxDeletePercent` 100). Null if they may go.
 */
export function judgeDeletion(facts: DeletionFacts): DeletionHold | null {
  const { rowCount, missingCount } = facts;
  if (missingCount === 0 || facts.confirmed) return null;
  if (facts.identityChanged) return 'identity';
  if (facts.isNarrowed) return 'narrowed';
  if (missingCount >= rowCount) return 'empty';
  return missingCount * 100 > facts.maxDeletePercent * rowCount ? 'share' : null;
}

/**
 * Whether the rows here may be more than the filter of their table selects. `settledBy`: the filter by which they were
 * chosen. A table that was never read whole needs no question, because people have not relied on its rows.
 */
export function isNarrowed(table: {
  readonly filter: string | null;
  readonly settledBy: string | null;
  readonly wasRead: boolean;
}): boolean {
  return table.filter !== null && table.filter !== table.settledBy && table.wasRead;
}

/** Whether half of a schema, and more than one thing, vanished at once: a role or a glitch is likelier than that. */
export function isMassRemoval(liveCount: number, vanishedCount: number): boolean {
  return vanishedCount > 1 && vanishedCount * 2 >= liveCount;
}

export interface PushFacts {
  /** Rows that the origin is known to have. */
  readonly rowCount: number;
  readonly changeCount: number;
  readonly deleteCount: number;
  readonly maxPushRows: number;
  readonly maxDeletePercent: number;
}

/** Judges the size of a push: a mistake in SQL changes or deletes far more rows than intended. Null if it may begin. */
export function judgePush(facts: PushFacts): 'rows' | 'deletes' | null {
  const { rowCount, changeCount, deleteCount } = facts;
  if (rowCount > 0 && deleteCount * 100 > facts.maxDeletePercent * rowCount) return 'deletes';
  return changeCount > facts.maxPushRows ? 'rows' : null;
}

/** Why edits of an older copy wait, be it before a push or in it. */
export const OLDER_COPY = 'an older copy was put back, whose edits may be outdated; none of them was sent';

/** What holds the edits of a table, and what a person can do about it. */
export function heldEdits({ localName }: { readonly localName: string }, code: ErrorCode, words: string): RowsyncError {
  const name = shellWord(localName);
  return new RowsyncError('needsPerson', code, {
    message: `${localName}: ${words}`,
    hint: `rowsync plan ${name} lists them. If they are meant, run rowsync push --confirm ${name}; if not, rowsync discard --all ${name} puts the rows back.`,
  });
}

/** Edits of a table that no push carries, since the origin no longer shows it or the configuration leaves it out. */
export function leftOutError(localName: string, waitingCount: number, isGone: boolean): RowsyncError {
  const name = shellWord(localName);
  const [why, remedy] = isGone
    ? ['it is no longer at the origin', "give the calling user's role the right to it back"]
    : ['push is switched off in the configuration', 'set push: true again'];
  return new RowsyncError('needsPerson', 'guard.pending', {
    message: `${localName}: ${why}, and no push sends the edits of ${plural(waitingCount, 'row')} that wait here`,
    hint: `rowsync plan ${name} lists them. If they are meant, ${remedy}; if not, rowsync discard --all ${name} puts the rows back.`,
  });
}

/** Who asks whom. */
export interface Identity {
  readonly url: string;
  readonly database: string;
  readonly userId: number;
  readonly role: string;
  readonly timeZone: string;
  /** Administrative permissions, such as ManageData; null if they were not noted. */
  readonly admin: readonly string[] | null;
}

/** The identity of a caller at an origin. */
export function identityOf(
  { url, database }: Pick<Identity, 'url' | 'database'>,
  { id, role, timezone, admin }: UserDescriptor,
): Identity {
  return { url, database, userId: id, role, timeZone: timezone, admin };
}

/** Whether the caller of the last pull saw other rows: no ETag is trusted, and a person confirms deletes. */
export function isCallerChanged(stored: Identity, present: Identity): boolean {
  const keys = ['url', 'userId', 'role', 'timeZone'] as const;
  return keys.some((key) => stored[key] !== present[key]) || isPermissionLost(stored.admin, present.admin);
}

/** Whether a permission was lost: its rows may be missing now. A new permission hides nothing. */
function isPermissionLost(before: readonly string[] | null, now: readonly string[] | null): boolean {
  return before !== null && now !== null && before.some((name) => !now.includes(name));
}
