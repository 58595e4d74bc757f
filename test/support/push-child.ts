/**
 * A push in a process of its own that kills itself (SIGKILL, as a crash would) before the step that it is told. Started
 * by push-process.ts with one JSON argument (`PushJob`); prints the codes of what went wrong where it lives to its end.
 */
import { flushCompileCache } from 'node:module';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { push } from '../../src/push/push.ts';
import { openReplica } from '../../src/replica/database.ts';
import { codesOf, pushSettings } from './push.ts';
import type { PushJob } from './push-process.ts';

const job = JSON.parse(process.argv[2] ?? '{}') as PushJob;
const { url, database, token } = job;
const replica = openReplica(job.path, { clock: systemClock });
const origin = openOrigin(
  { url, database, credentials: { kind: 'bearer', token } },
  { clock: systemClock, log: silentLogger },
);
flushCompileCache(); // who is killed writes none at its end
let left = job.nth;
const report = await push(
  {
    origin,
    replica,
    clock: systemClock,
    log: silentLogger,
    settings: pushSettings({ batchLimits: { rowsMax: job.batchRows, bytesMax: 100_000 } }),
    before: (step) => {
      if (step === job.step) left -= 1;
      if (step === job.step && left === 0) process.kill(process.pid, 'SIGKILL');
    },
  },
  { tables: [], confirm: true },
);
process.stdout.write(JSON.stringify(codesOf(report)));
replica.close();
await origin.close();
