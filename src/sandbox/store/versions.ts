/**
 * When did what change: one counter, stamped on tables, columns and the schema. Lives in memory only, since what it
 * validates does too.
 */
import { tablesBehind, type StoreColumn, type Table } from './catalog.ts';

/** Change stamps of one store. */
export class Versions {
  #last = 0;
  #schema = 0;
  readonly #byTable = new Map<number, number>();
  readonly #rowsByTable = new Map<number, number>();
  readonly #byColumn = new Map<number, number>();

  /** Descriptions, users or rights changed: everything that was rendered before may look different. */
  touchSchema(): void {
    this.#last += 1;
    this.#schema = this.#last;
  }

  /** Rows came or went. */
  touchRows(tableId: number): void {
    this.#last += 1;
    this.#byTable.set(tableId, this.#last);
    this.#rowsByTable.set(tableId, this.#last);
  }

  /** Cells of rows changed. */
  touchColumns(tableId: number, columnIds: readonly number[]): void {
    this.#last += 1;
    this.#byTable.set(tableId, this.#last);
    for (const id of columnIds) this.#byColumn.set(id, this.#last);
  }

  /** The version of everything that an answer read from these tables can show. */
  ofTables(tableIds: readonly number[]): string {
    return [this.#schema, ...tableIds.map((id) => this.#byTable.get(id) ?? 0)].join('.');
  }

  /** The version of the order of a table's rows by these columns; edits of other columns leave it alone. */
  ofOrder(table: Table, columns: readonly StoreColumn[]): string {
    const stamps = columns.map((column) =>
      column.computed === null ? (this.#byColumn.get(column.id) ?? 0) : this.ofTables(tablesBehind(table)),
    );
    return [this.#schema, this.#rowsByTable.get(table.id) ?? 0, ...stamps].join('.');
  }
}
