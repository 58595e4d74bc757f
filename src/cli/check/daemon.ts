/**
 * Checks the daemon: its systemd unit, what it reports where it listens, and each problem.
 */
import type { Config } from '../../config/load.ts';
import { problemsAt } from '../../daemon/account.ts';
import type { Problem } from '../../reconcile/account.ts';
import { ok, type CheckResult } from '../runtime/check-result.ts';
import { hearDaemon, instanceOf } from '../runtime/daemon-client.ts';
import { examineUnits } from '../runtime/service-units.ts';

/** The findings. */
export async function checkDaemon(config: Config, nowMs: number): Promise<readonly CheckResult[]> {
  const name = instanceOf(config.file);
  const units = name === null ? null : examineUnits(name);
  const { answer, word } = await hearDaemon(config);
  const problems = problemsAt(config, { word, nowMs });
  return [
    ...(units?.findings ?? []),
    ...(answer === null ? [] : [ok('daemon', answer.status)]),
    ...problems.map(accountResult),
  ];
}

const OUTCOMES = { damaged: 'fail', person: 'warn', late: 'warn', notice: 'ok' } as const;

/** A problem of the account as a finding. */
export function accountResult({ code, severity, table, sentence, todo }: Problem): CheckResult {
  // A check may come before the first pull.
  const outcome = code === 'replica.unpulled' ? 'ok' : OUTCOMES[severity];
  return {
    name: 'account',
    outcome,
    message: `${code}: ${table === null ? '' : `${table}: `}${sentence}`,
    hint: outcome === 'ok' ? '' : todo,
  };
}
