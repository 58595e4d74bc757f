/**
 * Remembers the account as of the end of the last work, and logs how each one differs from the one before.
 */
import type { Logger } from '../base/log.ts';
import type { Problem } from '../reconcile/account/account.ts';

export class AccountWatch {
  #problems: readonly Problem[] = [];

  /** As of the end of the last work. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Takes an account, and logs in what it differs from the last one. */
  take(problems: readonly Problem[], log: Logger): void {
    const before = byKey(this.#problems);
    const now = byKey(problems);
    this.#problems = problems;
    for (const [key, { code, table, sentence, hint }] of now) {
      if (before.get(key)?.sentence !== sentence) log.warn('problem.found', { code, table, message: sentence, hint });
    }
    for (const [key, { code, table }] of before) if (!now.has(key)) log.info('problem.solved', { code, table });
  }
}

/** Two problems with one code and one table, such as two sinks, count apart. */
export function byKey(problems: readonly Problem[]): ReadonlyMap<string, Problem> {
  const keyed = new Map<string, Problem>();
  for (const problem of problems) {
    const key = `${problem.code} ${problem.table ?? ''}`;
    let number = 0;
    while (keyed.has(`${key} ${number}`)) number += 1;
    keyed.set(`${key} ${number}`, problem);
  }
  return keyed;
}
