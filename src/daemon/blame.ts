/**
 * Whose a failure of work is: that of all tables, of one, or of this work alone. Some failures tell only together with the answer to one
 * question, whether the origin still says who is calling. Input: what came of the work, then that answer. Output: the outcome with its
 * error in the right place. Pure.
 */
import type { RowsyncError } from '../base/errors.ts';
import { mayBeOfOneTable } from '../origin/outage.ts';
import type { WorkKind } from './jobs.ts';
import type { WorkOutcome } from './work.ts';

/**
 * What the question is to tell. outage: the origin may be down, or fail at one table alone · rights: a right may be missing to a table, or to this
 * work alone, or the credentials may be refused altogether.
 */
export type Question = 'outage' | 'rights';

/** What is in question about a failure; null where nothing is left to ask. */
export function questionOf(work: WorkKind, { error, isOver, tables }: WorkOutcome): Question | null {
  if (error !== null && !isOver && mayBeOfOneTable(error)) return 'outage';
  const isOfRights = error === null || (work !== 'pull' && work !== 'follow' && error.kind === 'auth');
  const errors = [error, ...tables.map((table) => table.error)];
  return isOfRights && errors.some((it) => it?.kind === 'auth') ? 'rights' : null;
}

/** The outcome once the origin was asked; `refusal` is null where it answered. */
export function answerQuestion(outcome: WorkOutcome, question: Question, refusal: RowsyncError | null): WorkOutcome {
  const { error, own, tables } = outcome;
  // A table that waits for a failure by itself says enough of it.
  const isNoted = refusal !== null || (question === 'outage' && tables.some((table) => table.error === error));
  return { ...outcome, error: refusal, own: own ?? (isNoted ? null : error) };
}
