/**
 * Watches the daemon's own process: its memory, and whether its work makes progress and ends, for systemd's watchdog.
 * V8 collects garbage only when it needs room, so the daemon releases the memory of a pull before it waits.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../base/clock.ts';

/** Reports the daemon's state to the process manager, such as systemd. */
export interface Notifier {
  /** Before the replica is opened, which may take long if it needs an upgrade. */
  starting(): void;
  /** The replica is open, what a crash left is settled, the schedules are armed. */
  ready(): void;
  /** One line for `systemctl status`. */
  status(line: string): void;
  /** Gives signs of life as often as the manager expects them, while work advances and until the signal. */
  watch(clock: Clock, signal: AbortSignal, hasAdvanced: () => boolean): Promise<void>;
  stopping(): void;
  /** Resolves when all messages are sent. */
  flush(): Promise<void>;
}

/** Growth of the heap that is worth a pause of some hundredths of a second. */
const GROWTH_BYTES_MAX = 4 * 1024 * 1024;

/** Collects garbage if work has filled the heap since the last time, and releases free memory. */
export function memoryKeeper(): () => void {
  setFlagsFromString('--expose-gc');
  // The flag only takes effect in contexts created afterwards.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- V8's own function, described by the global type
  const collect = runInNewContext('gc') as NonNullable<typeof gc>;
  let restedBytes = 0;
  return () => {
    if (process.memoryUsage().heapTotal < restedBytes + GROWTH_BYTES_MAX) return;
    // This flavor also returns pages of the heap to the system.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    restedBytes = process.memoryUsage().heapTotal;
  };
}

export class ProgressWatchdog {
  #beatCount = 0;
  #sleeperCount = 0;
  #seen = '';
  #isAlive = true;

  /** What the last look found; true before the first one. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  beat(): void {
    this.#beatCount += 1;
  }

  /** Whether anything was done since the last call, or is being waited for; `work` is a count that grows with work. */
  hasAdvanced(work: number): boolean {
    const now = `${this.#beatCount} ${work}`;
    this.#isAlive = this.#sleeperCount > 0 || now !== this.#seen;
    this.#seen = now;
    return this.#isAlive;
  }

  /** The clock, whose waits count as life. */
  watch(clock: Clock): Clock {
    return {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      random: () => clock.random(),
      sleep: async (ms, signal) => {
        this.#sleeperCount += 1;
        try {
          await clock.sleep(ms, signal);
        } finally {
          this.#sleeperCount -= 1;
          this.beat();
        }
      },
    };
  }
}

/** Waits for work to end; false if it continues for some time after it was asked to stop. */
export async function endsInTime(
  work: Promise<unknown>,
  { stop, clock, afterStopMs }: { readonly stop: AbortSignal; readonly clock: Clock; readonly afterStopMs: number },
): Promise<boolean> {
  const done = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    if (stop.aborted) return resolve();
    stop.addEventListener('abort', () => resolve(), { once: true, signal: done.signal });
  });
  const late = stopped.then(() => clock.sleep(afterStopMs, done.signal)).then(() => false);
  const isInTime = await Promise.race([work.then(() => true), late]);
  done.abort();
  return isInTime;
}
