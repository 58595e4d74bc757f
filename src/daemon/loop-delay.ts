/**
 * The delay of the event loop, measured all the time at little cost: a busy loop delays requests, timers and the watchdog. Output: the 99th
 * percentile since the last look. The one use of node:perf_hooks.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Between two samples; shorter delays are not seen. */
const RESOLUTION_MS = 20;

/** Watches the event loop of this process until it is stopped. */
export class LoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#histogram.enable();
  }

  /** The 99th percentile of the delays since the last call, in seconds, beyond the time between two samples. */
  takeP99Seconds(): number {
    const lateNs = this.#histogram.percentile(99) - RESOLUTION_MS * 1e6;
    this.#histogram.reset();
    return Math.max(0, lateNs) / 1e9;
  }

  stop(): void {
    this.#histogram.disable();
  }
}
