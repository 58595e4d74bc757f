/**
 * Whether what the replica knows was told to the same caller by the same database. ETags and absences mean something
 * only for one identity: another role sees other columns and rows under the same URL. Pure.
 */

/** Who asks whom. */
export interface Identity {
  readonly url: string;
  readonly database: string;
  readonly userId: number;
  readonly role: string;
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
  const same = stored.url === present.url && stored.userId === present.userId && stored.role === present.role;
  return same ? 'same' : 'changed';
}
