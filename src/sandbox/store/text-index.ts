/**
 * Which rows have a text in a column, whatever its case. A client looks hundreds of new rows up by a unique value;
 * reading every row for each request would take longer than writing them. SQLite folds the case of ASCII alone, so the
 * index is kept in memory, and follows single changes.
 */
import type { StoreColumn, Table } from './catalog.ts';
import type { Rows } from './rows.ts';
import type { Versions } from './versions.ts';

/** Texts of a stored column, as `fold` gives them. */
export interface RowTexts {
  readonly column: StoreColumn;
  readonly texts: ReadonlySet<string>;
  readonly fold: (text: string) => string;
}

/** The rows by their folded text, as of a position in the changes of the table. */
interface TextIndex {
  position: number;
  readonly idsByText: Map<string, Set<number>>;
  readonly textById: Map<number, string>;
}

/** The indexes of the catalog of the moment. A new catalog needs a new instance. */
export class TextIndexes {
  readonly #versions: Versions;
  readonly #rows: Rows;
  readonly #byColumn = new Map<number, TextIndex>();

  constructor(versions: Versions, rows: Rows) {
    this.#versions = versions;
    this.#rows = rows;
  }

  /** Ids of the rows that have one of the texts, each once, in no order. */
  ids(table: Table, { column, texts, fold }: RowTexts): readonly number[] {
    const { idsByText } = this.#indexOf(table, column, fold);
    return [...texts].flatMap((text) => [...(idsByText.get(text) ?? [])]);
  }

  #indexOf(table: Table, column: StoreColumn, fold: RowTexts['fold']): TextIndex {
    let index = this.#byColumn.get(column.id);
    const changes = index === undefined ? null : this.#versions.changesSince(table.id, index.position);
    if (index === undefined || changes === null) {
      index = { position: 0, idsByText: new Map(), textById: new Map() };
      this.#byColumn.set(column.id, index);
    }
    const moved = changes?.filter(({ columnIds }) => columnIds === null || columnIds.includes(column.id));
    const ids = moved === undefined ? null : [...new Set(moved.map(({ id }) => id))];
    for (const id of ids ?? []) remove(index, id);
    for (const { id, values } of this.#rows.each(table, [column], ids)) {
      const [value = null] = values;
      if (value !== null) add(index, id, fold(String(value)));
    }
    index.position = this.#versions.position(table.id);
    return index;
  }
}

function add({ idsByText, textById }: TextIndex, id: number, text: string): void {
  const ids = idsByText.get(text);
  if (ids === undefined) idsByText.set(text, new Set([id]));
  else ids.add(id);
  textById.set(id, text);
}

function remove({ idsByText, textById }: TextIndex, id: number): void {
  const text = textById.get(id);
  if (text === undefined) return;
  const ids = idsByText.get(text);
  ids?.delete(id);
  if (ids?.size === 0) idsByText.delete(text);
  textById.delete(id);
}
