/**
 * Writing what a person asks for, which SQLite may refuse. A text where a column takes integers, a value that an index of the
 * user's allows once, a trigger that says no. Input: the transaction of the caller, and what to do in it. Output: what that
 * returned, or why it could not be done, in words; then nothing of it was done, and the transaction continues. What is done may say
 * itself that it cannot be.
 */
import type { Tx } from './connection.ts';
import { refusalWords } from './failures.ts';
import { sql } from '../base/sql.ts';

/** Runs work completely or not at all. @throws every error but the refusal of a value. */
export function attempt<T extends object>(tx: Tx, action: () => T): T | { readonly problem: string } {
  tx.journal.flush(); // or what is taken back would take along entries of what came before
  tx.prepare(sql`SAVEPOINT _rowsync_attempt`).run();
  const done = orProblem(action);
  if ('problem' in done) tx.prepare(sql`ROLLBACK TO _rowsync_attempt`).run();
  tx.prepare(sql`RELEASE _rowsync_attempt`).run();
  return done;
}

function orProblem<T>(action: () => T): T | { readonly problem: string } {
  try {
    return action();
  } catch (thrown) {
    const problem = refusalWords(thrown);
    if (problem === null) throw thrown;
    return { problem };
  }
}
