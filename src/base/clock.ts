/**
 * The only door for time and randomness, so that tests and simulations inject both.
 *
 * Wall time is for stamps and display; durations are measured with `monotonicMs`, because the wall clock can jump.
 */

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
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal?.addEventListener('abort', finish);
    }),
};

/** Epoch milliseconds as `YYYY-MM-DDThh:mm:ssZ`, the form of every stamp in the replica (seconds, UTC). */
export function stampFromMs(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
