/**
 * One request to a server that answers with a bomb, in a process of its own, so that its memory can be read. A plain
 * answer first, so that what every request takes is there, then the bomb. Started by test/network/memory.long.test.ts;
 * prints how the request ended and by how many bytes the peak has grown.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { systemClock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';

const [, , url = '', format = 'json'] = process.argv;

/** The peak of this process; where the kernel keeps no such record, that of `getrusage`. */
function peakBytes(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const kibibytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1];
  return Number(kibibytes ?? process.resourceUsage().maxRSS) * 1024;
}

const origin = openOrigin(
  { url, database: '1', credentials: { kind: 'bearer', token: 'a-token' }, format: format === 'xml' ? 'xml' : 'json' },
  { clock: { ...systemClock, sleep: async () => undefined }, log: silentLogger },
);
const request = {
  table: { name: 'Note', alias: '' },
  columns: [{ name: 'Title', type: 'Text' }],
  query: { columns: ['Title'], sort: [] },
} as const;

for (let nth = 0; nth < 3; nth += 1) await origin.select(request);
const before = peakBytes();
const code = await origin.select(request).then(
  () => 'done',
  (error: unknown) => (error instanceof RowsyncError ? error.code : String(error)),
);
await origin.close();
writeFileSync(1, JSON.stringify({ code, grownBytes: peakBytes() - before, peakBytes: peakBytes() }));
