/**
 * Memory of a daemon at rest. V8 collects garbage when it needs room, so the garbage of a pull would stay until the next one. Called before the
 * daemon waits. Output: memory for the system.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

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
