/**
 * The stops that only a person lifts. Each guard answers whether work may go on, and with which numbers it would not.
 * Pure.
 */

/** Whether deletes found by a sweep may be applied. */
export type DeletionVerdict =
  | { readonly kind: 'go' }
  | { readonly kind: 'hold'; readonly reason: 'empty' | 'share' | 'identity'; readonly percent: number };

/**
 * Judges the rows that a sweep did not find (design: a table that turns up empty, or loses more than the configured share,
 * waits). After a change of identity every delete waits, since lost rights look like deletes.
 */
export function judgeDeletion(facts: {
  /** Rows in the replica before the deletes. */
  readonly rowCount: number;
  readonly missingCount: number;
  readonly maxDeletePercent: number;
  readonly identityChanged: boolean;
  readonly confirmed: boolean;
}): DeletionVerdict {
  const { rowCount, missingCount } = facts;
  if (missingCount === 0 || facts.confirmed) return { kind: 'go' };
  const percent = rowCount === 0 ? 0 : (missingCount / rowCount) * 100;
  if (facts.identityChanged) return { kind: 'hold', reason: 'identity', percent };
  if (missingCount >= rowCount) return { kind: 'hold', reason: 'empty', percent };
  return percent > facts.maxDeletePercent ? { kind: 'hold', reason: 'share', percent } : { kind: 'go' };
}

/**
 * Whether so much of a schema vanished at once that a role or a glitch is likelier than a redesign: more than half of
 * what was there, and more than one thing.
 */
export function isMassRemoval(liveCount: number, vanishedCount: number): boolean {
  return vanishedCount > 1 && vanishedCount * 2 > liveCount;
}
