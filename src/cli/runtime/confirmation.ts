/**
 * `--confirm` while a daemon runs: no other client may write then, so what a person agreed to is left in the replica
 * for the daemon's next run.
 */
import { asRowsyncError, EXIT } from '../../base/errors.ts';
import { plural, printable } from '../../base/text.ts';
import { isInUse } from '../../replica/lock.ts';
import { giveConsent } from '../../replica/consent.ts';
import { type ConsentKind } from '../../replica/bookkeeping/problems.ts';
import { handOver, type HandedWork } from './hand-over.ts';
import { loadNamedConfig, printJson } from './invocation.ts';
import type { Invocation } from '../../extra.ts';

/** Runs `work`; where another process works on the replica, leaves the consent of `confirm` for that one, or hands the work over to it. */
export async function orLeaveConfirmation(
  invocation: Invocation,
  asked: {
    readonly confirm: boolean;
    readonly kinds: readonly ConsentKind[];
    readonly tables: readonly string[];
  } & HandedWork,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    const { code } = error;
    if (code !== 'replica.inUse' && code !== 'config.secret') throw thrown;
    const { replica } = await loadNamedConfig(invocation, { needsCredentials: false });
    // Members of the group cannot read the token, and a consent needs none.
    if (code === 'config.secret' && !isInUse(replica.path)) throw thrown;
    if (!asked.confirm) return handOver(invocation, error, asked);
    const consents = giveConsent(replica.path, asked.kinds, asked.tables);
    if (consents.length === 0) throw thrown;
    const lines = consents.map(({ table, kind, rowCount }) => {
      const what = kind === 'push' ? 'edited' : 'missing';
      if (table === null) return `the next ${kind} of the process that is at work may continue\n`;
      return `${printable(table)}: the next ${kind} of the process that is at work may continue, with ${plural(rowCount, `${what} row`)} at most\n`;
    });
    await (invocation.isJson ? printJson(invocation, { consents }) : invocation.session.stdout.write(lines.join('')));
    return EXIT.done;
  }
}
