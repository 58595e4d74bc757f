/**
 * One pull, with `store` the files of one, with `push` one push, or with `sink` one load into PostgreSQL, in a process
 * of its own, so that its peak memory can be read. Started by benches.ts and files.ts with one JSON argument.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Address } from './origin-child.ts';
import { systemClock } from '../../src/base/clock.ts';
import { keepMemorySmall, optimiseCode, prepareForRows } from '../../src/cli/runtime/memory.ts';
import { openReplica } from '../../src/replica/database.ts';
import type { PgAddress } from '../../src/extras/postgres/context.ts';
import { benchWriter } from './sink.ts';
import { pullFilesOnce, pullOnce, pushOnce, type PushWay } from './ours.ts';

/**
 * Linux carries the peak that `getrusage` tells over from the parent, so its own record of this process comes first.
 */
function peakBytes(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const kibibytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1];
  return Number(kibibytes ?? process.resourceUsage().maxRSS) * 1024;
}

const {
  address,
  path,
  store,
  push,
  sink,
  hasHistory = false,
} = JSON.parse(process.argv[2] ?? '{}') as {
  address: Address;
  path: string;
  store?: string;
  push?: PushWay;
  hasHistory?: boolean;
  sink?: { readonly path: string; readonly address: PgAddress };
};
keepMemorySmall();
optimiseCode();
prepareForRows();
if (sink !== undefined) {
  const replica = openReplica(sink.path, { clock: systemClock });
  const writer = benchWriter(replica, sink.address);
  await writer.work();
  await writer.close();
  replica.close();
} else if (push !== undefined) await pushOnce(address, path, push);
else if (store === undefined) await pullOnce(address, path, { compress: true, hasHistory });
else await pullFilesOnce(address, path, store);
process.send?.(peakBytes());
process.disconnect?.();
