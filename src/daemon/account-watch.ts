/**
 * Remembers the account as of the end of the last work, and logs how each one differs from the one before.
 */
import type { Logger } from '../base/log.ts';
import type { Problem } from '../reconcile/account/account.ts';

export class AccountWatch {
  #byKey: ReadonlyMap<string, Problem> = new Map();

  /** As of the end of the last work. */
  get problems(): readonly Problem[] {
    return [...this.#byKey.values()];
  }

  /** Takes an account, and logs in what it differs from the last one. */
  take(problems: readonly Problem[], log: Logger): void {
    const before = this.#byKey;
    const now = byKey(problems, before);
    this.#byKey = now;
    for (const [key, { code, table, sentence, hint }] of now) {
      if (before.get(key)?.sentence !== sentence) log.warn('problem.found', { code, table, message: sentence, hint });
    }
    for (const [key, { code, table }] of before) if (!now.has(key)) log.info('problem.solved', { code, table });
  }
}

/** Problems of one code and table, as of two sinks, count apart. One with the words of one `before` keeps its key. */
export function byKey(
  problems: readonly Problem[],
  before: ReadonlyMap<string, Problem>,
): ReadonlyMap<string, Problem> {
  const placeOf = ({ code, table }: Problem): string => `${code} ${table ?? ''}`;
  const knownKeys = new Map([...before].map(([key, known]) => [`${placeOf(known)} ${known.sentence}`, key]));
  const taken = new Set<string>();
  const take = (key: string | undefined): string | null => {
    if (key === undefined || taken.has(key)) return null;
    taken.add(key);
    return key;
  };
  const keys = problems.map((problem) => take(knownKeys.get(`${placeOf(problem)} ${problem.sentence}`)));
  const firstFree = (place: string, number = 0): string => take(`${place} ${number}`) ?? firstFree(place, number + 1);
  return new Map(problems.map((problem, index) => [keys[index] ?? firstFree(placeOf(problem)), problem]));
}
