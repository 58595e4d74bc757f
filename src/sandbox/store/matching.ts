/**
 * Which rows of a table pass filters, in any order. Invariant: a filter that depends on the time is asked every time.
 */
import type { Value } from '../../wire/schema.ts';
import { columnSql, type Catalog, type StoreColumn, type Table } from './catalog.ts';
import { valueFromSql, type SqlValue } from './cells.ts';
import { ident, type StoreConnection } from './file.ts';
import type { ColumnOrder, Rows } from './rows.ts';
import type { Versions } from './versions.ts';

/** A question about rows. */
export interface RowFilter {
  /** What it reads, in the order of the cells it is given. */
  readonly columns: readonly StoreColumn[];
  /** Filters of one table with equal keys match the same rows; null where the time decides too. */
  readonly key: string | null;
  matches(id: number, cells: readonly Value[]): boolean;
}

/** Lists kept at most, and ids in all of them together. */
const LISTS_MAX = 32;
const LIST_IDS_MAX = 4_000_000;

/** Answers filters by the catalog of the moment. A new catalog needs a new instance. */
export class Matching {
  readonly #connection: StoreConnection;
  readonly #catalog: Catalog;
  readonly #versions: Versions;
  readonly #rows: Rows;
  readonly #lists = new Map<string, { readonly version: string; readonly ids: readonly number[] }>();

  constructor(parts: {
    readonly connection: StoreConnection;
    readonly catalog: Catalog;
    readonly versions: Versions;
    readonly rows: Rows;
  }) {
    this.#connection = parts.connection;
    this.#catalog = parts.catalog;
    this.#versions = parts.versions;
    this.#rows = parts.rows;
  }

  /** Ids of the rows that pass all filters, in the given order; rows that compare equal stand by id. */
  ids(table: Table, sort: readonly ColumnOrder[], filters: readonly RowFilter[]): readonly number[] {
    if (filters.length === 0) return this.#rows.ids(table, sort);
    if (filters.some(({ key }) => key === null)) return this.#read(table, sort, filters);
    const order = sort.map(({ column, descending }) => `${column.id}${descending ? '-' : '+'}`);
    const key = JSON.stringify([table.id, order, filters.map((filter) => filter.key)]);
    const columns = [...sort.map(({ column }) => column), ...filters.flatMap((filter) => filter.columns)];
    const version = this.#versions.ofOrder(table, columns);
    const kept = this.#lists.get(key);
    this.#lists.delete(key);
    const list = kept?.version === version ? kept : { version, ids: this.#read(table, sort, filters) };
    this.#lists.set(key, list);
    this.#dropOldLists();
    return list.ids;
  }

  #read(table: Table, sort: readonly ColumnOrder[], filters: readonly RowFilter[]): readonly number[] {
    const passed = filters.map((filter) => this.#scan(table, filter));
    return this.#rows.ids(table, sort).filter((id) => passed.every((ids) => ids.has(id)));
  }

  #scan(table: Table, filter: RowFilter): ReadonlySet<number> {
    const { columns } = filter;
    const cells = columns.map((column) => `, ${columnSql(this.#catalog, column)}`).join('');
    const rows = this.#connection
      .prepare<[], SqlValue[]>(`SELECT t._sandbox_row${cells} FROM ${ident(table.sqlName)} t`)
      .raw()
      .safeIntegers()
      .iterate();
    const passed = new Set<number>();
    for (const row of rows) {
      const id = Number(row[0]);
      const values = columns.map((column, index) => valueFromSql(column.valueType, row[index + 1] ?? null));
      if (filter.matches(id, values)) passed.add(id);
    }
    return passed;
  }

  #dropOldLists(): void {
    let idCount = 0;
    for (const { ids } of this.#lists.values()) idCount += ids.length;
    for (const [key, { ids }] of this.#lists) {
      if (this.#lists.size <= 1 || (this.#lists.size <= LISTS_MAX && idCount <= LIST_IDS_MAX)) return;
      this.#lists.delete(key);
      idCount -= ids.length;
    }
  }
}
