/**
 * What statements are prepared on: a connection to the replica file, and a transaction that may write. Code that reads
 * or writes the file takes one of them, and need not know how the file is opened (database.ts).
 */
import type Database from 'better-sqlite3';
import type { Sql } from '../base/sql.ts';

/** What better-sqlite3 binds and returns for one value. */
export type Stored = null | string | number | bigint;

/** Anything a statement can be prepared on. */
export interface Connection {
  /** Prepares once per text and connection. */
  prepare(text: Sql): Database.Statement;
  /** The key of the connection where several objects share one; what is read of the schema is remembered under it. */
  readonly root?: object | undefined;
}

export type Cause = 'pull' | 'push' | 'edit' | 'decision' | 'discard' | 'filter' | 'schema' | 'restore';

/** Why rows change, as the history says it of each change. */
export interface ChangeCause {
  readonly cause: Cause;
  /** Null where no run is recorded. */
  readonly runId: number | null;
}

/** A user table, or the base of one. */
export interface WrittenTable {
  /** Of the user table. */
  readonly id: number;
  readonly localName: string;
}

/** Hears of every row of a user table or base before it is written (history-writer.ts), if its history is kept. */
export interface TxHistory {
  isKept(tableId: number): boolean;
  /** Rows that may be about to change, come or go. */
  willChange(table: WrittenTable, ids: readonly number[], cause: ChangeCause): void;
  /** A row continues under another id. */
  renumbered(tableId: number, fromId: number, toId: number): void;
  /** Finds edits of other clients among the rows that may have some: those marked, and those edited before. */
  captureEdits(table: WrittenTable, cause: ChangeCause): void;
  /** Writes the entries of what changed so far; before a table gets another shape or name, or another history. */
  flush(): void;
}

/** An open write transaction, which functions that write ask for. It refuses to be used once it has ended. */
export interface Tx extends Connection {
  readonly history: TxHistory;
  /** Why rows change in it. */
  readonly cause: ChangeCause;
  /** The same transaction, for changes of another cause in the same run. */
  because(cause: Cause): Tx;
  /** Counts edits that no trigger saw. */
  countUncaptured(count: number): void;
}
