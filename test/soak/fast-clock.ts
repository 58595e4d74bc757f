/**
 * A clock that runs faster than the machine's, so that a soak passes days in minutes. Origin and daemon share it: both
 * are given its beginning and its speed, and show the same time. Waits are as much shorter; what the network and SQLite
 * wait for stays as it is.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock, type Clock } from '../../src/base/clock.ts';

/** When it showed the time of the machine, and how many of its seconds are one of the machine's. */
export interface Pace {
  readonly beginMs: number;
  readonly speed: number;
}

/** The clock of a pace. */
export function fastClock({ beginMs, speed }: Pace): Clock {
  // A copy: a probe puts this clock in the place of systemClock.
  const machine = { ...systemClock };
  return {
    nowMs: () => Math.round(beginMs + (Date.now() - beginMs) * speed),
    monotonicMs: () => performance.now() * speed,
    random: () => machine.random(),
    sleep: (ms, signal) => wait(ms / speed, undefined, { signal }).catch(() => undefined),
  };
}
