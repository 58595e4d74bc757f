/**
 * What a failure concerns: all tables, one table, or this work alone. Some failures need the answer to one question: does the origin still identify
 * the caller? Input: the outcome of the work, then that answer. Output: the outcome with its error in the right place. Pure.
 */
import type { RowsyncError } from '../base/errors.ts';
import { mayBeOfOneTable } from '../origin/outage.ts';
import type { WorkKind } from './jobs.ts';
import type { WorkOutcome } from './work.ts';

/**
 * What the question decides. outage: is the origin down, or does one table fail? · rights: does a table or this work lack a right, or are the
 * credentials refused?
 */
export type Question = 'outage' | 'rights';

/** The open question about a failure; null for none. */
export function questionOf(work: WorkKind, { error, isOver, tables }: WorkOutcome): Question | null {
  if (error !== null && !isOver && mayBeOfOneTable(error)) return 'outage';
  const isOfRights = error === null || (work !== 'pull' && work !== 'follow' && error.kind === 'auth');
  const errors = [error, ...tables.map((table) => table.error)];
  return isOfRights && errors.some((it) => it?.kind === 'auth') ? 'rights' : null;
}

/** The outcome after the origin was asked; `refusal` is null if it answered. */
export function answerQuestion(outcome: WorkOutcome, question: Question, refusal: RowsyncError | null): WorkOutcome {
  const { error, own, tables } = outcome;
  // A table that failed alone already reports its failure.
  const isNoted = refusal !== null || (question === 'outage' && tables.some((table) => table.error === error));
  return { ...outcome, error: refusal, own: own ?? (isNoted ? null : error) };
}
