/**
 * Sends a replica to a sink once, as a process of its own that may be killed: at a step, or from outside. Prints
 * `done`, or the code of what kept it from that.
 */
import { readFileSync } from 'node:fs';
import { RowsyncError } from '../../src/base/errors.ts';
import { systemClock } from '../../src/base/clock.ts';
import { tableRules } from '../../src/config/table-patterns.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openReplica } from '../../src/replica/database.ts';
import type { PgAddress } from '../../src/extras/postgres/context.ts';
import { SinkWriter } from '../../src/extras/postgres/sink.ts';

const { path, address, kill } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as {
  readonly path: string;
  readonly address: PgAddress;
  readonly kill: { readonly step?: string };
};
const replica = openReplica(path, { clock: systemClock });
const writer = new SinkWriter({
  replica,
  clock: systemClock,
  log: silentLogger,
  settings: { name: 'warehouse', address, schema: 'crm', tables: tableRules({ '*': {} }), deletes: 'remove' },
  onStep: (step) => {
    if (step === kill.step) process.kill(process.pid, 'SIGKILL');
  },
});
try {
  await writer.work();
  process.stdout.write('done\n');
} catch (thrown) {
  process.stdout.write(`${thrown instanceof RowsyncError ? `${thrown.code} ${thrown.message}` : String(thrown)}\n`);
} finally {
  await writer.close();
  replica.close();
}
