/**
 * Carries out what a person decides on the command line: on the replica, or through the daemon if one holds it. Both
 * end in capture/person-decision.ts.
 */
import { stampFromMs } from '../../base/clock.ts';
import { asRowsyncError, EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';
import { carryOutDecision, type PersonDecision } from '../../capture/person-decision.ts';
import type { Config } from '../../config/load.ts';
import { daemonClient } from '../runtime/daemon-client.ts';
import { loadNamedConfig, openExistingReplica, printResult } from '../runtime/invocation.ts';
import type { DecisionAnswer, Invocation } from '../../extra.ts';

/** Carries out a decision and prints the result. @throws RowsyncError `usage.invalid` if nothing was changed. */
export async function decide(invocation: Invocation, decision: PersonDecision): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const answer = await carryOut(invocation, config, decision);
  if (answer.kind === 'busy' || answer.kind === 'failed') {
    throw new RowsyncError('replica', 'replica.busy', {
      message: `The daemon did not carry it out: ${answer.words}`,
      hint: 'Run the command again when the work under way has ended; `rowsync status` shows it.',
    });
  }
  if (answer.kind === 'problem') {
    throw usageError(
      `Nothing was changed: ${answer.words}`,
      answer.hint ??
        (decision.kind === 'resolve' || decision.kind === 'seen'
          ? 'rowsync conflicts --all shows each conflict with its number and versions.'
          : '`rowsync plan` lists edits, `rowsync failures` rows that wait.'),
    );
  }
  await printResult(invocation, { rowCount: answer.rowCount, decided: answer.decided }, `${printable(answer.words)}\n`);
  return EXIT.done;
}

async function carryOut(invocation: Invocation, config: Config, decision: PersonDecision): Promise<DecisionAnswer> {
  try {
    using replica = await openExistingReplica(invocation, config);
    const at = stampFromMs(invocation.session.clock.nowMs());
    return await carryOutDecision(replica, decision, at);
  } catch (thrown) {
    const error = asRowsyncError(thrown);
    if (error.code !== 'replica.inUse') throw error;
    return (await daemonClient(invocation)).decide(config, decision, error);
  }
}
