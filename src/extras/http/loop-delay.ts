/**
 * How late the event loop of the daemon was, for its metrics.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Between two samples; shorter delays are not seen. */
const RESOLUTION_MS = 20;

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
