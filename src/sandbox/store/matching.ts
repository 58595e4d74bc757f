/**
 * Which rows of a table pass filters, in any order. Lists of ids are kept and follow single changes, since reading the
 * order of a million rows takes a second. Invariant: a filter that depends on the time is asked every time.
 */
import type { Value } from '../../wire/schema.ts';
import type { StoreColumn, Table } from './catalog.ts';
import type { ColumnOrder, Rows } from './rows.ts';
import { TextIndexes, type RowTexts } from './text-index.ts';
import type { Versions } from './versions.ts';

/** A question about rows. */
export interface RowFilter {
  /** What it reads, in the order of the cells it is given. */
  readonly columns: readonly StoreColumn[];
  /** Filters of one table with equal keys match the same rows; null where the time decides too. */
  readonly key: string | null;
  /** Between which times of a column its rows lie; null where it does not say. */
  readonly range: RowRange | null;
  /** The texts of which its rows have one in a column; null where it does not say. */
  readonly texts: RowTexts | null;
  matches(id: number, cells: readonly Value[]): boolean;
}

/** A span of the values of one column. */
export interface RowRange {
  readonly column: StoreColumn;
  /** Whether all rows in the span pass the filter. */
  readonly isExact: boolean;
  /** Whether a value is at or after the beginning. */
  hasBegun(value: Value): boolean;
  /** Whether a value is behind the end. */
  hasEnded(value: Value): boolean;
}

/** Ids in order, as of a position in the changes of the table. */
interface List {
  readonly version: string;
  position: number;
  readonly ids: number[];
}

/** Lists kept at most, and ids in all of them together. */
const LISTS_MAX = 64;
const LIST_IDS_MAX = 8_000_000;
/** A list follows one change in the time in which so many rows are read in order. */
const ROWS_PER_CHANGE = 5_000;

/** Answers filters by the catalog of the moment. A new catalog needs a new instance. */
export class Matching {
  readonly #versions: Versions;
  readonly #rows: Rows;
  readonly #lists = new Map<string, List>();
  readonly #texts: TextIndexes;

  constructor(versions: Versions, rows: Rows) {
    this.#versions = versions;
    this.#rows = rows;
    this.#texts = new TextIndexes(versions, rows);
  }

  /** Ids of the rows that pass all filters, in the given order; rows that compare equal are ordered by id. */
  ids(
    table: Table,
    sort: readonly ColumnOrder[],
    filters: readonly RowFilter[],
    { skip, top }: { readonly skip: number; readonly top: number } = { skip: 0, top: Number.POSITIVE_INFINITY },
  ): readonly number[] {
    const [first] = sort;
    const range = filters.length === 1 ? (filters[0]?.range ?? null) : null;
    if (range?.isExact !== true || first?.column.id !== range.column.id)
      return this.#list(table, sort, filters).slice(skip, skip + top);
    const ids = this.#list(table, sort, []);
    const { begin, end } = this.#find(table, ids, range, first.descending);
    return ids.slice(begin + skip, Math.min(end, begin + skip + top));
  }

  #list(table: Table, sort: readonly ColumnOrder[], filters: readonly RowFilter[]): readonly number[] {
    if (filters.some(({ key }) => key === null)) return this.#read(table, sort, filters);
    const order = sort.map(({ column, descending }) => `${column.id}${descending ? '-' : '+'}`);
    const key = JSON.stringify([table.id, order, filters.map((filter) => filter.key)]);
    const columns = [...sort.map(({ column }) => column), ...filters.flatMap((filter) => filter.columns)];
    const version = this.#versions.ofComputed(table, columns);
    let list = this.#lists.get(key);
    this.#lists.delete(key);
    if (list?.version !== version || !this.#follow(list, { table, sort, filters, columns }))
      list = { version, position: this.#versions.position(table.id), ids: this.#read(table, sort, filters) };
    this.#lists.set(key, list);
    this.#dropOldLists();
    return list.ids;
  }

  /** Brings a list up to date; false where reading it again is faster. */
  #follow(
    list: List,
    of: {
      readonly table: Table;
      readonly sort: readonly ColumnOrder[];
      readonly filters: readonly RowFilter[];
      readonly columns: readonly StoreColumn[];
    },
  ): boolean {
    const { table, sort, filters, columns } = of;
    const changes = this.#versions.changesSince(table.id, list.position);
    if (changes === null) return false;
    const counts = new Set(columns.map(({ id }) => id));
    const isMoved = ({ columnIds }: (typeof changes)[number]): boolean =>
      columnIds === null || columnIds.some((id) => counts.has(id));
    const moved = [...new Set(changes.filter(isMoved).map(({ id }) => id))];
    if (moved.length * ROWS_PER_CHANGE > list.ids.length && moved.length > 0) return false;
    for (const id of moved) {
      const at = list.ids.indexOf(id);
      if (at >= 0) list.ids.splice(at, 1);
    }
    // Only now is the list in order again, without the rows that moved.
    for (const id of this.#passing(table, filters, moved)) {
      const isBehind = (other: number): boolean => this.#rows.ids(table, sort, [id, other])[0] === id;
      list.ids.splice(firstIndex(list.ids, isBehind), 0, id);
    }
    list.position = this.#versions.position(table.id);
    return true;
  }

  #read(table: Table, sort: readonly ColumnOrder[], filters: readonly RowFilter[]): number[] {
    if (filters.length === 0) return this.#rows.ids(table, sort);
    return this.#rows.ids(table, sort, this.#passing(table, filters, this.#candidates(table, filters)));
  }

  /** The rows with a text that a filter asks for, or in the span of a filter, if these are few; null means all rows. */
  #candidates(table: Table, filters: readonly RowFilter[]): readonly number[] | null {
    const sought = filters.map(({ texts }) => texts).find((texts) => texts !== null);
    if (sought !== undefined) return this.#texts.ids(table, sought);
    const range = filters.map((filter) => filter.range).find((found) => found !== null);
    if (range === undefined) return null;
    const ids = this.#list(table, [{ column: range.column, descending: false }], []);
    const { begin, end } = this.#find(table, ids, range, false);
    return (end - begin) * 2 > ids.length ? null : ids.slice(begin, end);
  }

  /** Which of some rows, or of all, exist and pass the filters. */
  #passing(table: Table, filters: readonly RowFilter[], among: readonly number[] | null): readonly number[] {
    const passed: number[] = [];
    const columns = filters.flatMap((filter) => filter.columns);
    for (const { id, values } of this.#rows.each(table, columns, among)) {
      let at = 0;
      if (filters.every((filter) => filter.matches(id, values.slice(at, (at += filter.columns.length)))))
        passed.push(id);
    }
    return passed;
  }

  /** Where a span is in the order of its column; rows without a value are first, or last if it descends. */
  #find(table: Table, ids: readonly number[], range: RowRange, descending: boolean): { begin: number; end: number } {
    const valueOf = (id: number): Value => this.#rows.read(table, [range.column], [id], null)[0]?.values[0] ?? null;
    const hasBegun = (id: number): boolean => range.hasBegun(valueOf(id));
    const hasEnded = (id: number): boolean => range.hasEnded(valueOf(id));
    const begin = firstIndex(ids, descending ? (id) => !hasEnded(id) : hasBegun);
    return { begin, end: firstIndex(ids, descending ? (id) => !hasBegun(id) : hasEnded, begin) };
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

/** The first place from which on all pass a test, by halving; the end, where new rows often are, is tried first. */
function firstIndex(ids: readonly number[], passes: (id: number) => boolean, from = 0): number {
  let [low, high] = [from, ids.length];
  let middle = high - 1;
  while (low < high) {
    const id = ids[middle];
    if (id !== undefined && passes(id)) high = middle;
    else low = middle + 1;
    middle = (low + high) >>> 1;
  }
  return low;
}
