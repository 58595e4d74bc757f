/**
 * In what a row differs between two moments, from its entries in between: a cell was what the first of them that names it begins with,
 * and is what the last one leads to. Input: entries. Output: rows that differ, cell by cell. Pure.
 */
import type { Entry } from '../replica/history-entries.ts';

/** A cell that differs; both values are JSON text. */
export interface CellDifference {
  readonly column: string;
  readonly before: string;
  readonly after: string;
}

/** A row that differs. */
export interface RowDifference {
  readonly rowId: number;
  readonly kind: 'insert' | 'update' | 'delete';
  readonly cells: readonly CellDifference[];
}

/** Rows that differ, from entries that come row by row, each in order. */
export function* differencesOf(entries: Iterable<Entry>): IterableIterator<RowDifference> {
  let row: Entry[] = [];
  for (const entry of entries) {
    if (row[0] !== undefined && row[0].rowId !== entry.rowId) {
      yield* rowDifference(row);
      row = [];
    }
    row.push(entry);
  }
  yield* rowDifference(row);
}

function rowDifference(entries: readonly Entry[]): readonly RowDifference[] {
  const [first] = entries;
  if (first === undefined) return [];
  const was = first.kind !== 'insert';
  const is = entries.at(-1)?.kind !== 'delete';
  if (!was && !is) return [];
  const cells = new Map<string, CellDifference>();
  for (const entry of entries) {
    for (const cell of cellsOf(entry)) {
      cells.set(cell.column, { ...cell, before: cells.get(cell.column)?.before ?? cell.before });
    }
  }
  const differing = [...cells.values()].filter(({ before, after }) => before !== after);
  if (was && is && differing.length === 0) return [];
  return [{ rowId: first.rowId ?? 0, kind: was ? (is ? 'update' : 'delete') : 'insert', cells: differing }];
}

/** The cells that an entry names, in its order. */
export function cellsOf({ before, after }: Pick<Entry, 'before' | 'after'>): readonly CellDifference[] {
  const [old, now] = [jsonTexts(before), jsonTexts(after)];
  return [...new Set([...old.keys(), ...now.keys()])].map((column) => ({
    column,
    before: old.get(column) ?? 'null',
    after: now.get(column) ?? 'null',
  }));
}

/** Values of a JSON object as JSON text, with every digit. */
function jsonTexts(json: string | null): ReadonlyMap<string, string> {
  if (json === null) return new Map();
  const parsed: unknown = JSON.parse(json, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value,
  );
  if (typeof parsed !== 'object' || parsed === null) return new Map();
  return new Map(
    Object.entries(parsed).map(([name, value]: readonly [string, unknown]) => [
      name,
      value instanceof Digits ? value.text : JSON.stringify(value),
    ]),
  );
}

/** A number as it is written. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
