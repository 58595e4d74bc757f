/**
 * What statements are prepared on: a connection to the replica file, and a transaction that may write. Whoever reads or writes the file
 * asks for one of them, and need not know how the file is opened (database.ts). Input and output: statements.
 */
import type Database from 'better-sqlite3';
import { sql, type Sql } from '../base/sql.ts';

/** Anything a statement can be prepared on. */
export interface Connection {
  /** Prepares once per text and connection. */
  prepare(text: Sql): Database.Statement;
}

declare const open: unique symbol;

/** An open write transaction; functions that write ask for one, so that they cannot run outside of it. */
export interface Tx extends Connection {
  readonly [open]: true;
  /** Counts edits that no trigger saw. */
  countUncaptured(count: number): void;
}

/** A number that moves with every change of the schema, whoever makes it; it is kept in the file. */
export function readSchemaVersion(from: Connection): unknown {
  return from
    .prepare(sql`PRAGMA schema_version`)
    .pluck()
    .get();
}
