/**
 * `pull`, `push`, `sync` and `verify` beside a daemon. What a person agreed to with `--confirm` is left in the replica for the daemon's next run.
 * Anything else is handed over to it: only the process that holds the lock writes to a replica.
 */
import { asRowsyncError, EXIT } from '../../base/errors.ts';
import { plural, printable } from '../../base/text.ts';
import { confirmHeld } from '../../replica/confirmation.ts';
import { isInUse } from '../../replica/lock.ts';
import type { Invocation, WorkRequest } from '../../extra.ts';
import { daemonClient } from './daemon-client.ts';
import { loadNamedConfig, printResult } from './invocation.ts';

/** Runs `work`; where another process works on the replica, leaves the confirmation for that one, or hands the work over to it. */
export async function orLeaveConfirmation(
  invocation: Invocation,
  asked: WorkRequest,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    const { code } = error;
    if (code !== 'replica.inUse' && code !== 'config.secret') throw thrown;
    const config = await loadNamedConfig(invocation, { needsCredentials: false });
    const { replica } = config;
    const client = await daemonClient(invocation);
    // Members of the group cannot read the token, and a confirmation needs none.
    if (code === 'config.secret' && !isInUse(replica.path)) throw thrown;
    const kinds = asked.works.filter((kind) => kind === 'pull' || kind === 'push');
    const consents = asked.confirm ? confirmHeld(replica.path, kinds, asked.tables) : [];
    if (consents.length === 0) return client.handOver(invocation, error, asked);
    const lines = consents.map(({ table, kind, rowCount }) => {
      const what = kind === 'push' ? 'edited' : 'missing';
      if (table === null) return `the next ${kind} of the process that is at work may continue\n`;
      return `${printable(table)}: the next ${kind} of the process that is at work may continue, with ${plural(rowCount, `${what} row`)} at most\n`;
    });
    const commands = [...new Set(consents.map(({ kind }) => `rowsync ${kind}`))].join(' and ');
    const when = client.mayAsk(config) ? `a daemon begins it when it is due, and at once on ${commands}\n` : '';
    await printResult(invocation, { consents }, lines.join('') + when);
    return EXIT.done;
  }
}
