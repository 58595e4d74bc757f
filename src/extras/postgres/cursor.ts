/**
 * Decides whether a target continues where this replica left it.
 *
 * The replica stores the end of a batch before the target commits it. So the target has the last confirmed cursor, or
 * the end of that batch if the answer to its commit was lost. Any other cursor means that the file is an older copy, or
 * that another process wrote there.
 */
import type { SinkPlace } from '../shared/sinks.ts';

/** The cursor of the target; null if no replica has ever written to it. */
export type TargetPlace = { readonly epoch: string; readonly seq: number } | null;

/**
 * begin: it is empty, or a beginning was cut off · go: continue from there · again: compare everything, and continue in
 * a new series · taken: a person decides, since its rows are of another replica, or of a forgotten time of this one.
 */
export type CursorVerdict = 'begin' | 'go' | 'again' | 'taken';

/** Decides; `isAgreed` if a person let the replica take over the target. */
export function judgeCursor(own: SinkPlace, target: TargetPlace, isAgreed: boolean): CursorVerdict {
  if (target === null) return 'begin';
  if (own.epoch !== null && target.epoch === own.epoch) {
    if (target.seq === own.sent || target.seq === own.pending) return isAgreed ? 'again' : 'go';
    return 'again';
  }
  // The file noted the new series, but the target never got it.
  if (own.former !== null && target.epoch === own.former) return 'again';
  return isAgreed ? 'again' : 'taken';
}
