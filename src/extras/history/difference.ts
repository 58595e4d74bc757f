/**
 * Finds how rows differ between two moments, cell by cell, from the entries in between.
 */
import type { HistoryEntry } from './entries.ts';
import { jsonCells } from '../../wire/exact-json.ts';
import { netOf, type Net } from './net-effect.ts';

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
