/**
 * The account for callers who may not read it: whether syncing works, without anything about tables and rows. Pure.
 */
import { stopOf, type Problem } from '../../reconcile/account/account.ts';

/** Public: whether it works, and since when it does not. */
export interface PublicState {
  readonly state: 'works' | 'late' | 'failed';
  /** Null while it works, and where the beginning is not known. */
  readonly since: string | null;
}

export function publicStateOf(problems: readonly Problem[]): PublicState {
  const stop = stopOf(problems);
  const bad = stop === null ? problems.filter(({ severity }) => severity === 'late') : [stop];
  const [since = null] = bad.flatMap((problem) => problem.since ?? []).toSorted();
  return { state: bad.length === 0 ? 'works' : stop === null ? 'late' : 'failed', since };
}
