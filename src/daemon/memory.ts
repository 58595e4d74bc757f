/**
 * Memory of a daemon at rest. V8 cleans up when it needs room, so what a pull left behind would stay until the next one, and the daemon waits
 * most of the time. Input: that it is about to wait. Output: memory for the system.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What the heap may grow by before it is worth a pause of some hundredths of a second. */
const GROWTH_BYTES_MAX = 4 * 1024 * 1024;

/** Cleans the heap up where work has filled it since the last time, and lets go of what is free. */
export function memoryKeeper(): () => void {
  setFlagsFromString('--expose-gc');
  // A context has what the flags say at the moment when it is made.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- V8's own function, of which the global type speaks
  const collect = runInNewContext('gc') as NonNullable<typeof gc>;
  let restedBytes = 0;
  return () => {
    if (process.memoryUsage().heapTotal < restedBytes + GROWTH_BYTES_MAX) return;
    // The flavor that also gives pages of the heap back to the system.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    restedBytes = process.memoryUsage().heapTotal;
  };
}
