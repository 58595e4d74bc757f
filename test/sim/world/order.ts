/**
 * What the next cycle of an engine does, drawn from its tape.
 */
import type { CycleOrder } from './engine.ts';
import type { Setup } from './setup.ts';
import type { Tape } from './tape.ts';

/** Draws what a cycle does. */
export function drawOrder({ isAdminAway }: Pick<Setup, 'isAdminAway'>, tape: Tape): CycleOrder {
  const draw = tape.draw();
  const [pull, push] = draw.weighted([
    [5, [true, true]],
    [3, [false, true]],
    [2, [true, false]],
  ] as const);
  // Whoever confirms has looked; where rights may go at any moment, nobody can have.
  const confirm = draw.chance(0.3) && isAdminAway;
  return { pull, push, confirm, files: draw.chance(0.3) ? 'now' : 'withPull' };
}
