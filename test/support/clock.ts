/**
 * A clock for tests: time stands still until it is told to move. `sleep` either moves it at once (the default, so that
 * waits cost nothing) or waits for `advance`. Every wait that was asked for is kept in `waits`.
 */
import type { Clock } from '../../src/base/clock.ts';

/** A clock that a test moves. */
export interface TestClock extends Clock {
  /** Milliseconds of every sleep so far, in order. */
  readonly waits: readonly number[];
  /** Moves time and wakes the sleepers whose time has come. */
  advance(ms: number): void;
  /** Sets the wall clock back (or forward, by less than nothing); nobody is woken. */
  setBack(ms: number): void;
  /** Resolves when someone sleeps (at once where someone does already). */
  sleeper(): Promise<void>;
}

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Makes a clock; `random` is what every draw gives, `sleepsAdvance: false` makes sleepers wait for `advance`. */
export function testClock(
  options: { startMs?: number; random?: () => number; sleepsAdvance?: boolean } = {},
): TestClock {
  const { startMs = Date.UTC(2026, 0, 1), random = () => 0.5, sleepsAdvance = true } = options;
  const waits: number[] = [];
  const sleepers = new Set<Sleeper>();
  const watchers = new Set<() => void>();
  let passedMs = 0;
  let wallShiftMs = 0;

  const advance = (ms: number): void => {
    passedMs += ms;
    for (const sleeper of sleepers) if (sleeper.untilMs <= passedMs) sleeper.wake();
  };
  return {
    waits,
    advance,
    random,
    setBack: (ms) => void (wallShiftMs -= ms),
    nowMs: () => startMs + passedMs + wallShiftMs,
    monotonicMs: () => passedMs,
    sleeper: () => new Promise((resolve) => (sleepers.size > 0 ? resolve() : watchers.add(resolve))),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        waits.push(ms);
        if (signal?.aborted) return resolve();
        const wake = (): void => {
          sleepers.delete(sleeper);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const sleeper = { untilMs: passedMs + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', wake);
        for (const watcher of watchers) watcher();
        watchers.clear();
        if (sleepsAdvance) advance(ms);
      }),
  };
}
