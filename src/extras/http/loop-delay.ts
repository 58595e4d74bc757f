/**
 * How late the event loop of the daemon was, for its metrics.
 */
import { createHistogram } from 'node:perf_hooks';
import type { Clock } from '../../base/clock.ts';

/** Between two samples; shorter delays are not seen. */
const SAMPLE_EVERY_MS = 20;

/** As Node's `monitorEventLoopDelay`, which a reset makes forget its last sample, so that a delay behind it is lost. */
export class LoopDelay {
  readonly #histogram = createHistogram();
  readonly #sampling: NodeJS.Timeout;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    let lastMs = clock.monotonicMs();
    this.#sampling = setInterval(() => {
      const nowMs = clock.monotonicMs();
      this.#histogram.record(Math.max(1, Math.round((nowMs - lastMs - SAMPLE_EVERY_MS) * 1e6)));
      lastMs = nowMs;
    }, SAMPLE_EVERY_MS);
    this.#sampling.unref();
  }

  /** The 99th percentile of the delays since the last call, in seconds, beyond the time between two samples. */
  takeP99Seconds(): number {
    const lateNs = this.#histogram.percentile(99);
    this.#histogram.reset();
    return lateNs / 1e9;
  }

  stop(): void {
    clearInterval(this.#sampling);
  }
}
