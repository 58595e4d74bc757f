/**
 * One pull, with `store` the files of one, or with `push` one push, in a process of its own, so that its peak memory
 * can be read. Started by benches.ts and files.ts with one JSON argument.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Address } from './origin-child.ts';
import { pullFilesOnce, pullOnce, pushOnce, type PushWay } from './ours.ts';

/** Linux carries the peak that `getrusage` tells over from the parent, so its own record of this process comes first. */
function peakBytes(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const kibibytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1];
  return Number(kibibytes ?? process.resourceUsage().maxRSS) * 1024;
}

const { address, path, store, push } = JSON.parse(process.argv[2] ?? '{}') as {
  address: Address;
  path: string;
  store?: string;
  push?: PushWay;
};
if (push !== undefined) await pushOnce(address, path, push);
else if (store === undefined) await pullOnce(address, path, { compress: true });
else await pullFilesOnce(address, path, store);
process.send?.(peakBytes());
process.disconnect?.();
