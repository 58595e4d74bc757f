/**
 * A write transaction as an object that ends with it. `because` makes another one for the same transaction with another cause;
 * all of them end together.
 */
import type Database from 'better-sqlite3';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Sql } from '../base/sql.ts';
import type { ChangeCause, Connection, Tx } from './connection.ts';
import type { Cause } from './history-interval.ts';
import { Journal } from './journal.ts';

/** What all objects of one transaction share. */
interface Shared {
  readonly connection: Connection;
  readonly journal: Journal;
  readonly countUncaptured: (count: number) => void;
  isOpen: boolean;
}

class Transaction implements Tx {
  readonly cause: ChangeCause;
  readonly #shared: Shared;

  constructor(shared: Shared, cause: ChangeCause) {
    this.#shared = shared;
    this.cause = cause;
  }

  get root(): object {
    return this.#shared.connection.root ?? this.#shared.connection;
  }

  get journal(): Journal {
    this.#requireOpen();
    return this.#shared.journal;
  }

  prepare(text: Sql): Database.Statement {
    this.#requireOpen();
    return this.#shared.connection.prepare(text);
  }

  because(cause: Cause): Tx {
    return new Transaction(this.#shared, { ...this.cause, cause });
  }

  countUncaptured(count: number): void {
    this.#requireOpen();
    this.#shared.countUncaptured(count);
  }

  #requireOpen(): void {
    assert(this.#shared.isOpen, 'a transaction is not used after its end');
  }
}

/** Runs code with an object for the transaction that the caller has begun, and writes the journal before it returns. */
export function runOpen<T>(
  connection: Connection,
  change: (tx: Tx) => T,
  options: {
    readonly clock: Clock;
    readonly cause: ChangeCause;
    readonly countUncaptured?: (count: number) => void;
    /** Whether what is written is kept; a journal of what is taken back is not written. */
    readonly isKept?: boolean;
  },
): T {
  const { clock, cause, countUncaptured = () => undefined, isKept = true } = options;
  const journal = new Journal(connection, clock);
  const shared: Shared = { connection, journal, countUncaptured, isOpen: true };
  try {
    const result = change(new Transaction(shared, cause));
    if (isKept) journal.flush();
    return result;
  } finally {
    shared.isOpen = false;
  }
}
