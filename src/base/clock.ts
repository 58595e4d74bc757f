/**
 * The only door for time and randomness, so that tests and simulations inject both.
 *
 * Wall time is for stamps and display; durations are measured with `monotonicMs`, because the wall clock can jump.
 */
import { setTimeout } from 'node:timers/promises';

export interface Clock {
  /** Wall time in epoch milliseconds. */
  nowMs(): number;
  /** Milliseconds on a clock that never goes backwards; only differences mean anything. */
  monotonicMs(): number;
  /** A uniform random number in [0, 1). */
  random(): number;
  /** Resolves after `ms` milliseconds, or at once (without an error) when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
  // An abort ends it.
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => undefined),
};

/** Epoch milliseconds as `YYYY-MM-DDThh:mm:ssZ`, the form of every stamp in the replica (seconds, UTC). */
export function stampFromMs(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
