/**
 * Wraps every transaction of an open replica, for tests that look at it, or end the process before, in or after it.
 */
import type { Sql } from '../../src/base/sql.ts';
import type { Tx } from '../../src/replica/connection.ts';
import type { Replica } from '../../src/replica/database.ts';

/** One transaction, for the code around it. */
export interface TransactionFacts {
  /** What it does, as in messages. */
  readonly what: string;
  /** Whether it is on the disk when it ends. */
  readonly isDurable: boolean;
  /** Whether it is stored at all. */
  readonly isKept: boolean;
}

/** `transact` runs it, and calls `beforeEnd` when everything is written. */
export type Surround = <T>(facts: TransactionFacts, transact: (beforeEnd: () => void) => Promise<T>) => Promise<T>;

type Method = (this: Replica, what: string, change: (tx: Tx) => unknown, signal?: AbortSignal) => Promise<unknown>;

type Prepare = (this: Replica, text: Sql) => ReturnType<Replica['prepare']>;

const METHODS = [
  { name: 'write', isDurable: false, isKept: true },
  { name: 'writeDurably', isDurable: true, isKept: true },
  { name: 'rehearse', isDurable: false, isKept: false },
];

/** Who surrounds the transactions of an open file, and what comes before the end of the one that is open. */
const surrounds = new WeakMap<object, { readonly by: Surround; beforeEnd: () => void }>();

const wrapped = new WeakSet<object>();

/**
 * Has the transactions of an open replica surrounded, whatever their cause; also of one that another copy of the
 * program opened.
 */
export function surround(replica: Replica, by: Surround): void {
  surrounds.set(replica.root, { by, beforeEnd: () => undefined });
  const prototype = Object.getPrototypeOf(replica) as Replica;
  if (wrapped.has(prototype)) return;
  wrapped.add(prototype);
  const { prepare } = prototype as unknown as { readonly prepare: Prepare };
  prototype.prepare = function prepared(text) {
    if (text === 'COMMIT' || text === 'ROLLBACK') surrounds.get(this.root)?.beforeEnd();
    return prepare.call(this, text);
  };
  const methods = prototype as unknown as Record<string, Method>;
  for (const { name, isDurable, isKept } of METHODS) {
    const run = methods[name];
    if (run === undefined) throw new Error(`A replica has no method ${name}`);
    methods[name] = function surrounded(what, change, signal) {
      const around = surrounds.get(this.root);
      if (around === undefined) return run.call(this, what, change, signal);
      return around.by({ what, isDurable, isKept }, (beforeEnd) => {
        const whole = (tx: Tx): unknown => {
          around.beforeEnd = beforeEnd;
          return change(tx);
        };
        return run.call(this, what, whole, signal);
      });
    };
  }
}
