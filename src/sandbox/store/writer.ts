/**
 * Writes of one API call: rows inserted, changed, deleted in the name of one user at one moment, inside one
 * transaction of the store. Invariant: what `attempt` undoes leaves no trace, neither in the file nor in the counters
 * of Autonumber columns.
 */
import type { Value } from '../../wire/schema.ts';
import type { StoreColumn, Table } from './catalog.ts';
import type { StoreConnection } from './file.ts';
import type { Author, Rows } from './rows.ts';
import type { Cells } from './spec.ts';

/** Writes rows while a transaction is open; worth nothing once that has ended. */
export class RowWriter {
  readonly author: Author;
  readonly #connection: StoreConnection;
  readonly #rows: Rows;

  constructor(connection: StoreConnection, rows: Rows, author: Author) {
    this.author = author;
    this.#connection = connection;
    this.#rows = rows;
  }

  /** Inserts a row and returns its id. */
  insert(table: Table, cells: Cells): number {
    return this.#rows.insert(table, cells, this.author);
  }

  /** Changes cells of a row; false when nothing changed. */
  update(table: Table, id: number, cells: Cells): boolean {
    return this.#rows.update(table, id, cells, this.author);
  }

  /** Deletes a row; false when there is none. */
  delete(table: Table, id: number, purge: boolean): boolean {
    return this.#rows.delete(table, id, this.author, purge);
  }

  /** The values of a row; undefined when there is none. */
  read(table: Table, columns: readonly StoreColumn[], id: number): readonly Value[] | undefined {
    return this.#rows.read(table, columns, [id], null)[0]?.values;
  }

  /** What a row itself says that the caller may do with it; see `Rows.allowOf`. */
  allowOf(table: Table, id: number): string | null {
    return this.#rows.allowOf(table, id);
  }

  /** Ids of the first rows, at most `limit`, that hold a value in a stored column. */
  idsWith(table: Table, column: StoreColumn, value: Value, limit: number): readonly number[] {
    return this.#rows.idsWith(table, column, value, limit);
  }

  /** Id of the row with a key as a query string spells it; undefined when there is none. */
  idWithKey(table: Table, key: string): number | undefined {
    return this.#rows.idsFromKeys(table, [key])[0];
  }

  /** Does some work, and undoes it if its result is a failure. */
  attempt<T>(work: () => T, isFailure: (result: T) => boolean): T {
    const restoreNumbering = this.#rows.markNumbering();
    this.#connection.exec('SAVEPOINT _sandbox_row');
    const result = work();
    if (isFailure(result)) {
      this.#connection.exec('ROLLBACK TO _sandbox_row');
      restoreNumbering();
    }
    this.#connection.exec('RELEASE _sandbox_row');
    return result;
  }
}
