/**
 * Finds how rows differ between two moments, cell by cell, from the entries in between: their net effect.
 */
import type { HistoryEntry } from './entries.ts';
import { jsonCells } from '../../wire/exact-json.ts';

/** A change of a row; each cell is as it was first and as it is last. */
export interface Net<C> {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly cells: readonly C[];
}

/** A cell that differs; both values are JSON text. */
export interface CellDifference {
  readonly column: string;
  readonly before: string;
  readonly after: string;
}

export interface RowDifference extends Net<CellDifference> {
  readonly rowId: number;
}

/** Rows that differ, from entries that come row by row, each in order. */
export function* differencesOf(entries: Iterable<HistoryEntry>): IterableIterator<RowDifference> {
  let row: HistoryEntry[] = [];
  for (const entry of entries) {
    if (row[0] !== undefined && row[0].rowId !== entry.rowId) {
      yield* rowDifference(row);
      row = [];
    }
    row.push(entry);
  }
  yield* rowDifference(row);
}

function rowDifference(entries: readonly HistoryEntry[]): readonly RowDifference[] {
  const net = netOf(entries, {
    cellsOf,
    keyOf: ({ column }) => column,
    differs: ({ before, after }) => before !== after,
  });
  return net === null ? [] : [{ rowId: entries[0]?.rowId ?? 0, ...net }];
}

export function cellsOf({ before, after }: Pick<HistoryEntry, 'before' | 'after'>): readonly CellDifference[] {
  const textsOf = (json: string | null) => jsonCells(json ?? '{}') ?? new Map<string, string>();
  const [old, now] = [textsOf(before), textsOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].map((column) => ({
    column,
    before: old.get(column) ?? 'null',
    after: now.get(column) ?? 'null',
  }));
}

/** The net change; null for a row that came and went, or is unchanged. */
export function netOf<E extends { readonly kind: string }, C extends { readonly before: unknown }>(
  entries: readonly E[],
  given: {
    readonly cellsOf: (entry: E) => readonly C[];
    readonly keyOf: (cell: C) => string | number;
    readonly differs: (cell: C) => boolean;
  },
): Net<C> | null {
  const { keyOf, differs } = given;
  const [first] = entries;
  if (first === undefined) return null;
  const was = first.kind !== 'insert';
  const is = entries.at(-1)?.kind !== 'delete';
  if (!was && !is) return null;
  const byKey = new Map<string | number, C>();
  for (const cell of entries.flatMap(given.cellsOf)) {
    const { before } = byKey.get(keyOf(cell)) ?? cell;
    byKey.set(keyOf(cell), { ...cell, before });
  }
  const cells = [...byKey.values()].filter(differs);
  if (was && is && cells.length === 0) return null;
  return { kind: was ? (is ? 'update' : 'delete') : 'insert', cells };
}
