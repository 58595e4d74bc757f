/**
 * Writes what a person asked for, and says in words why SQLite refused it: a text in an integer column, a value that a unique index of the user's allows
 * once, a trigger that says no. A refused write changes nothing, and the caller's transaction goes on.
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
