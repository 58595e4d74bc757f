/**
 * Statements that were prepared before, by their SQL. A body of 500 rows asks the same few questions for each of them,
 * and preparing one costs more than answering it. Bounded: texts depend on which columns a caller names, and callers
 * may name any.
 */

/** Far more than the shapes of rows that one client writes. */
const STATEMENTS_MAX = 200;

/** Prepared statements of one kind. */
export class Statements<S> {
  readonly #prepare: (sql: string) => S;
  readonly #bySql = new Map<string, S>();

  constructor(prepare: (sql: string) => S) {
    this.#prepare = prepare;
  }

  /** The statement for a text. */
  get(sql: string): S {
    let statement = this.#bySql.get(sql);
    if (statement === undefined) {
      if (this.#bySql.size >= STATEMENTS_MAX) this.#bySql.clear();
      this.#bySql.set(sql, (statement = this.#prepare(sql)));
    }
    return statement;
  }
}
