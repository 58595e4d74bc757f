/**
 * How late the event loop is, watched all the time at little cost: what keeps it busy keeps requests, timers and the watchdog waiting.
 * Output: the 99th percentile since the last look. The one use of node:perf_hooks.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Between two samples; a delay that lasts shorter is not seen. */
const RESOLUTION_MS = 20;

/** Watches the event loop of this process until it is stopped. */
export class LoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#histogram.enable();
  }

  /** Seconds that 99 of 100 turns since the last call were late at most, beyond the time between two samples. */
  takeP99Seconds(): number {
    const lateNs = this.#histogram.percentile(99) - RESOLUTION_MS * 1e6;
    this.#histogram.reset();
    return Math.max(0, lateNs) / 1e9;
  }

  stop(): void {
    this.#histogram.disable();
  }
}
