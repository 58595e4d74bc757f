/**
 * When did what change: one counter, stamped on the schema, tables and rows, and the latest changes of each table.
 * Lives in memory only, since what it validates does too.
 */
import { hash } from 'node:crypto';
import { tablesBehind, type StoreColumn, type Table } from './catalog.ts';

/** One change of one row; `columnIds` is null where it came or went. */
export interface ChangeOfRow {
  readonly id: number;
  readonly columnIds: readonly number[] | null;
}

/** Changes that are kept of one table. Lists of rows that are older are read again. */
const CHANGES_MAX = 1_000;
/** Rows with a stamp of their own; beyond that, all rows count as changed once. */
const STAMPS_MAX = 200_000;

/** Change stamps of one store. */
export class Versions {
  /** Called with the number of a table whose row came, went or changed; its transaction may not have ended. */
  onRow: (tableId: number) => void = () => undefined;
  #last = 0;
  #schema = 0;
  readonly #byTable = new Map<number, number>();
  /** Of rows that were changed after they came, or went: a request may name a row that is not there any more. */
  readonly #byRow = new Map<number, number>();
  readonly #changes = new Map<number, { first: number; rows: ChangeOfRow[] }>();

  /** Descriptions, users or rights changed: everything that was rendered before may look different. */
  touchSchema(): void {
    this.#last += 1;
    this.#schema = this.#last;
  }

  /** A row came or went, or the cells of some columns changed. */
  touchRow(tableId: number, id: number, columnIds: readonly number[] | null, isNew = false): void {
    this.#last += 1;
    this.#byTable.set(tableId, this.#last);
    this.onRow(tableId);
    if (!isNew) {
      if (this.#byRow.size >= STAMPS_MAX) {
        this.#byRow.clear();
        this.touchSchema();
      }
      this.#byRow.set(rowKey(tableId, id), this.#last);
    }
    const known = this.#changesOf(tableId);
    if (known.rows.length >= CHANGES_MAX) {
      known.first += known.rows.length;
      known.rows = [];
    }
    known.rows.push({ id, columnIds });
  }

  /** Where the changes of a table end now. */
  position(tableId: number): number {
    const { first, rows } = this.#changesOf(tableId);
    return first + rows.length;
  }

  /** What changed after a position; null where that is too long ago. */
  changesSince(tableId: number, position: number): readonly ChangeOfRow[] | null {
    const { first, rows } = this.#changesOf(tableId);
    return position < first ? null : rows.slice(position - first);
  }

  /** The version of everything that an answer read from these tables can show. */
  ofTables(tableIds: readonly number[]): string {
    return [this.#schema, ...tableIds.map((id) => this.#byTable.get(id) ?? 0)].join('.');
  }

  /** The version of what these rows show, in this order; changes of other rows leave it alone. */
  ofRows(table: Table, ids: readonly number[]): string {
    const others = table.columns.flatMap(({ computed }) =>
      computed === null || computed.how === 'join' ? [] : [computed.tableId],
    );
    const rows = ids.map((id) => `${id}.${this.#byRow.get(rowKey(table.id, id)) ?? 0}`);
    return hash('sha1', `${this.ofTables(others)} ${rows.join(' ')}`, 'base64url');
  }

  /** The version of what columns of a table are computed from. */
  ofComputed(table: Table, columns: readonly StoreColumn[]): string {
    return this.ofTables(columns.every(({ computed }) => computed === null) ? [] : tablesBehind(table));
  }

  #changesOf(tableId: number): { first: number; rows: ChangeOfRow[] } {
    let known = this.#changes.get(tableId);
    if (known === undefined) this.#changes.set(tableId, (known = { first: 0, rows: [] }));
    return known;
  }
}

/** Ids of rows are below 2^32: nobody inserts so many into a sandbox. */
function rowKey(tableId: number, id: number): number {
  return tableId * 2 ** 32 + id;
}
