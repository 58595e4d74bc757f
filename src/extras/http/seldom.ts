/**
 * Answers that everyone gets who reaches the port. Each is made anew only so seldom that making it takes a twentieth of the time, so nobody keeps the
 * daemon from its work by asking again and again.
 */
import type { Clock } from '../../base/clock.ts';

/** How many times as long as it took to make, an answer is given again. */
const REST_FACTOR = 20;

/** The same function, which gives its last result for a while. */
export function seldom<T>(make: () => T, clock: Pick<Clock, 'monotonicMs'>): () => T {
  let last: { readonly value: T; untilMs: number } | null = null;
  return () => {
    const startedMs = clock.monotonicMs();
    if (last !== null && startedMs < last.untilMs) return last.value;
    const made = { value: make(), untilMs: Infinity };
    last = made;
    const rest = (): void => {
      const nowMs = clock.monotonicMs();
      made.untilMs = nowMs + REST_FACTOR * (nowMs - startedMs);
    };
    if (made.value instanceof Promise) made.value.then(rest, rest);
    else rest();
    return made.value;
  };
}
