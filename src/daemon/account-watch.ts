/**
 * The account of the daemon from one piece of work to the next: what is new in it, and what is over, goes into the log.
 */
import type { Logger } from '../base/log.ts';
import type { Problem } from '../reconcile/account/account.ts';
import { byKey } from './notices.ts';

/** Remembers the last account. */
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
