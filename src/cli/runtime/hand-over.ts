/**
 * `pull`, `push`, `sync` and `verify` beside a daemon. Only the process that holds the lock writes to a replica, so the
 * daemon does the work. A confirmation (`--confirm`) is stored in the replica before, for its next run.
 */
import { asRowsyncError, RowsyncError } from '../../base/errors.ts';
import { plural, printable } from '../../base/text.ts';
import { confirmHeld, type GivenConfirmation } from '../../replica/confirmation.ts';
import { inUseText, isInUse } from '../../replica/lock.ts';
import type { Invocation, WorkRequest } from '../../extra.ts';
import { daemonClient } from './daemon-client.ts';
import { loadNamedConfig } from './invocation.ts';

/** Runs `work`; where another process works on the replica, leaves it the confirmation and hands the work over. */
export async function orLeaveConfirmation(
  invocation: Invocation,
  request: WorkRequest,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    if (error.code !== 'replica.inUse' && error.code !== 'config.secret') throw thrown;
    const { replica } = await loadNamedConfig(invocation, { needsCredentials: false });
    // Members of the group cannot read the token, and a confirmation needs none.
    if (error.code === 'config.secret' && !isInUse(replica.path)) throw thrown;
    const kinds = request.works.filter((kind) => kind === 'pull' || kind === 'push');
    const confirmations = request.confirm ? confirmHeld(replica.path, kinds, request.tables) : [];
    const message = `${inUseText(replica.path)}, and your confirmation is kept for it; ${confirmations.map(confirmationText).join('; ')}`;
    const hint =
      'Nothing more is to be done if it is a daemon: it uses that when it works next, and at once on SIGUSR1.';
    const cause = confirmations.length === 0 ? error : new RowsyncError('replica', 'replica.inUse', { message, hint });
    return (await daemonClient(invocation)).handOver(invocation, cause, request, confirmations);
  }
}

export function confirmationText({ table, kind, rowCount }: GivenConfirmation): string {
  const next = `the next ${kind} may continue`;
  if (table === null) return next;
  return `${printable(table)}: ${next}, with ${plural(rowCount, `${kind === 'push' ? 'edited' : 'missing'} row`)} at most`;
}
