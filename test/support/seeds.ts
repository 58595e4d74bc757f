/**
 * Seeds of random tests. A title names its seed, so that a failure can be run again: `ROWSYNC_SEEDS=17` runs that one,
 * `ROWSYNC_SEEDS=1-500` looks for new failures.
 */
import { randomInt } from 'node:crypto';

const asked = /^(\d+)(?:-(\d+))?$/.exec(process.env['ROWSYNC_SEEDS'] ?? '');

/** The seeds 1 to `count`, or those that the environment names. */
export function seeds(count: number): readonly number[] {
  const first = Number(asked?.[1] ?? 1);
  const last = asked === null ? count : Number(asked[2] ?? first);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** A seed that nobody has seen, or the first one that the environment names. */
export function newSeed(): number {
  return asked === null ? randomInt(2 ** 31) : Number(asked[1]);
}
