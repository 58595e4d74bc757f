/**
 * The health of the daemon's own process. V8 collects garbage only when it needs room, so memory that a pull used is given back before the daemon
 * waits. The delay of the event loop is measured all the time, since a busy loop delays requests, timers and the watchdog.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Growth of the heap that is worth a pause of some hundredths of a second. */
const GROWTH_BYTES_MAX = 4 * 1024 * 1024;

/** Collects garbage if work has filled the heap since the last time, and releases free memory. */
export function memoryKeeper(): () => void {
  setFlagsFromString('--expose-gc');
  // A context has the features of the flags at its creation.
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
