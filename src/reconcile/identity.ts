/**
 * Whether the replica was read by the same caller from the same database. ETags and missing rows are valid only for one identity. Another role sees
 * other columns and rows under the same URL, and in another time zone the same text names other instants. Pure.
 */

import type { UserDescriptor } from '../wire/schema.ts';

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

/**
 * first: nothing was pulled yet · same · changed: trust no ETag, and let a person confirm deletes ·
 * otherDatabase: the replica must not be touched.
 */
export type IdentityVerdict = 'first' | 'same' | 'changed' | 'otherDatabase';

/** Compares the identity of the last pull with the present one. */
export function judgeIdentity(stored: Identity | null, present: Identity): IdentityVerdict {
  if (stored === null) return 'first';
  if (stored.database !== present.database) return 'otherDatabase';
  const keys = ['url', 'userId', 'role', 'timeZone'] as const;
  const isSame = keys.every((key) => stored[key] === present[key]) && !isNarrowed(stored.admin, present.admin);
  return isSame ? 'same' : 'changed';
}

/** Whether a permission was lost: its rows may be missing now. A new permission hides nothing. */
function isNarrowed(before: readonly string[] | null, now: readonly string[] | null): boolean {
  return before !== null && now !== null && before.some((name) => !now.includes(name));
}
