/**
 * Whether a target continues where this replica left it. Input: what the file remembers of the sink, and the cursor that stands in the
 * target. Output: what to do. Pure.
 *
 * The file notes where a batch ends before the target commits it. So a target may stand where the file thinks it does, or at the end of
 * the batch whose answer was lost. Anywhere else, the file is an older copy, or someone else wrote there.
 */

/** What the file remembers: the series of batches, the one before, and how far they were sent. */
export interface OwnPlace {
  readonly epoch: string | null;
  readonly former: string | null;
  readonly sent: number;
  readonly pending: number | null;
}

/** Where the target stands; null where no replica has ever written to it. */
export type TargetPlace = { readonly epoch: string; readonly seq: number } | null;

/**
 * begin: it is empty, or a beginning was cut off · go: it continues, from there · again: compare everything, and continue in a new series ·
 * taken: rows of another replica stand there, or of this one from a time that it does not remember, and a person decides.
 */
export type CursorVerdict = 'begin' | 'go' | 'again' | 'taken';

/** Decides; `isAgreed` where a person let the replica take over what stands there. */
export function judgeCursor(own: OwnPlace, target: TargetPlace, isAgreed: boolean): CursorVerdict {
  if (target === null) return 'begin';
  if (own.epoch !== null && target.epoch === own.epoch) {
    if (target.seq === own.sent || target.seq === own.pending) return isAgreed ? 'again' : 'go';
    return 'again';
  }
  // The file noted the new series, and the target never heard of it.
  if (own.former !== null && target.epoch === own.former) return 'again';
  return isAgreed ? 'again' : 'taken';
}
