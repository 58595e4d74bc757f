/**
 * Opens a replica and kills itself with SIGKILL at the n-th thing that it asks of SQLite; prints how many there were
 * where it came through. Started with a path and n.
 */
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';

const [path = '', step = '0'] = process.argv.slice(2);
let count = 0;
const prototype = Database.prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
for (const name of ['exec', 'prepare', 'pragma', 'close']) {
  const original = prototype[name] ?? (() => undefined);
  prototype[name] = function counted(this: unknown, ...given: unknown[]) {
    count += 1;
    if (count === Number(step)) process.kill(process.pid, 'SIGKILL');
    return Reflect.apply(original, this, given);
  };
}
openReplica(path, { clock: systemClock });
process.stdout.write(String(count));
