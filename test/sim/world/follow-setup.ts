/**
 * How the table of a world is followed, and the difficulties of its origin: late stamps, a clock that is set, values
 * that change without a stamp, and requests that it refuses. Takes a tape of its own; produces a setup. Pure.
 */
import type { AddUpMode } from '../model/knobs.ts';
import type { Tape } from './tape.ts';

/** What is added to a world that follows. */
export interface FollowSetup {
  /** Pages of a window. */
  readonly windowPages: number;
  /** How many times as many rows its table has, so that it has several windows. */
  readonly rowsFactor: number;
  readonly listsDeleted: boolean;
  readonly addsUp: AddUpMode;
  /** How far behind colleagues' stamps may lie, in milliseconds; less than the overlap. */
  readonly lateMsMax: number;
  /**
   * How often the origin's clock is set, and a value changes without a stamp, beside the weights of the other actors.
   */
  readonly clockWeight: number;
  readonly formulaWeight: number;
  /** How long the engine rests between two cycles. */
  readonly restMs: number;
}

/** Draws it. */
export function drawFollow(tape: Tape): FollowSetup {
  const pick = <T>(list: readonly T[]): T => tape.draw().pick(list);
  const windowPages = pick([1, 2, 4]);
  const lateMsMax = pick([0, 0, 100_000]);
  return {
    windowPages,
    // Small windows join where both have shrunk to half of one: for that they need some pages.
    rowsFactor: windowPages === 4 ? 3 : 2,
    listsDeleted: pick([true, true, false]),
    addsUp: pick<AddUpMode>(['days', 'days', 'days', 'counts', 'none']),
    lateMsMax,
    clockWeight: pick([0, 0, 0.3]),
    formulaWeight: pick([0, 4]),
    // Stamps that lie behind are missed only where cycles follow each other closely; days are compared only where they
    // do not.
    restMs: lateMsMax > 0 ? 10_000 : pick([700_000, 700_000, 61_000, 1_000]),
  };
}
