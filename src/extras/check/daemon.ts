/**
 * Checks the daemon: its systemd unit, what it reports where it listens, and each problem.
 */
import type { Config } from '../../config/load.ts';
import { problemsAt } from '../../daemon/account.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import { ok, type CheckResult } from '../../cli/runtime/check-result.ts';
import type { Extra } from '../../extra.ts';
import { hearDaemon } from '../../cli/runtime/daemon-client.ts';

/** The findings. */
export async function checkDaemon(
  config: Config,
  extras: readonly Extra[],
  nowMs: number,
): Promise<readonly CheckResult[]> {
  const services = await Promise.all(extras.flatMap(({ findService }) => findService?.(config) ?? []));
  const { answer, word } = await hearDaemon(config, extras);
  const problems = problemsAt(config, { word, nowMs });
  return [
    ...services.flatMap((found) => found?.findings ?? []),
    ...(answer === null ? [] : [ok('daemon', answer.status)]),
    ...problems.map(accountResult),
  ];
}

const OUTCOMES = { damaged: 'fail', person: 'warn', late: 'warn', notice: 'ok' } as const;

/** A problem of the account as a finding. */
export function accountResult({ code, severity, table, sentence, hint }: Problem): CheckResult {
  // A check may come before the first pull.
  const outcome = code === 'replica.unpulled' ? 'ok' : OUTCOMES[severity];
  return {
    name: 'account',
    outcome,
    message: `${code}: ${table === null ? '' : `${table}: `}${sentence}`,
    hint: outcome === 'ok' ? '' : hint,
  };
}
