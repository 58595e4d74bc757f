/**
 * What `rowsync check` says of the daemon: what systemd says of the unit that the configuration belongs to, and what the daemon says
 * of itself where it listens. Input: the configuration. Output: findings; none where there is neither.
 */
import type { Config } from '../config/load.ts';
import { fail, ok, warn, type CheckResult } from './check-result.ts';
import { askDaemon, instanceOf } from './daemon-answer.ts';
import { examineUnits } from './unit-checks.ts';

/** The findings. */
export async function checkDaemon(config: Config): Promise<readonly CheckResult[]> {
  const name = instanceOf(config.file);
  const units = name === null ? null : examineUnits(name);
  return [...(units?.findings ?? []), ...(await checkAnswer(config))];
}

async function checkAnswer({ http: { listen } }: Config): Promise<readonly CheckResult[]> {
  if (listen === null) return [];
  const answer = await askDaemon(listen);
  if (answer === null) {
    return [warn('daemon', 'no daemon answers at http.listen', 'Start it (rowsync daemon), or remove http.listen.')];
  }
  const { failure, status } = answer;
  return [failure === null ? ok('daemon', status) : fail('daemon', failure.message, failure.hint)];
}
