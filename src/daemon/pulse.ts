/**
 * Whether work advances, for the watchdog. A program that hangs in a request that never ends, or in a loop of promises, still
 * answers timers, and must be restarted anyway (L4).
 *
 * Signs of life are a request, a page or a step of the daemon since the last look, and every deliberate wait, which goes through the clock. A request
 * that hangs ends by its own deadline, which is shorter than the time between two looks.
 */
import type { Clock } from '../base/clock.ts';
import type { Notifier } from './systemd.ts';

/** Notes signs of life. */
export class Pulse {
  #beatCount = 0;
  #sleeperCount = 0;
  #seen = '';
  #isAlive = true;

  /** What the last look found; true before the first one. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Something was done. */
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

/** Tells the manager regularly that work advances; stays silent when it does not. */
export async function watch(
  { clock, notifier }: { readonly clock: Clock; readonly notifier: Notifier },
  signal: AbortSignal,
  hasAdvanced: () => boolean,
): Promise<void> {
  const { watchdogMs } = notifier;
  if (watchdogMs === null) return;
  while (!signal.aborted) {
    if (hasAdvanced()) notifier.alive();
    await clock.sleep(watchdogMs, signal);
  }
}
