/**
 * Texts that something on the way does not let through: a firewall that answers in the origin's place, a line that
 * breaks. Whatever request carries one ends without an answer about its rows, each time, until the faults stop. Pure.
 */
import type { Setup } from './setup.ts';
import type { Tapes } from './tape.ts';

/** What happens to requests with such a text. */
export interface PoisonSetup {
  /** The share of the users' values. */
  readonly share: number;
  /** The name of a fault (faults.ts). */
  readonly fault: string;
}

/** Whose seeds have such worlds: none that is named anywhere as one that finds something. */
const isOne = (seed: number): boolean => seed % 13 === 10;

/** Draws it; null where every text passes. */
export function drawPoison(tapes: Tapes): PoisonSetup | null {
  const draw = tapes.of('poison').draw();
  if (draw.isCalm || !isOne(tapes.seed)) return null;
  const fault = draw.pick(['login403', 'html200', 'statusless', 'lostBefore', 'lostAfter', 'status500Before']);
  return { fault, share: draw.pick([0.1, 0.3, 0.6]) };
}

/** What happens to a request because of its body; null where it passes. */
export function poisonOf(body: string | null, { poison = null }: Pick<Setup, 'poison'>): string | null {
  if (body === null || poison === null) return null;
  const texts = [...body.matchAll(/"u(\d{4})/g)];
  return texts.some(([, number]) => (Number(number) * 53) % 100 < poison.share * 100) ? poison.fault : null;
}
