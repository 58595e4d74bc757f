/**
 * Takes an entry of a row back: from its state to the one before.
 */
import type { Exact, Version } from '../../replica/history-cells.ts';

/** An entry of a row; cells go by the place of their column, without those of columns that are gone. */
export interface ReversibleEntry {
  readonly kind: 'insert' | 'update' | 'delete' | 'forgotten';
  /** What the cells were before. */
  readonly cells: readonly { readonly index: number; readonly before: Exact }[];
}

/**
 * The state before an entry, from the state after it. `width`: how many columns a state has. Forgotten values are unknown before the entry too, so
 * those cells are empty.
 */
export function reverseEntry(after: Version, { kind, cells }: ReversibleEntry, width: number): Version {
  if (kind === 'insert') return null;
  if (kind === 'forgotten' && after === null) return null;
  const before: Exact[] = after === null ? Array.from({ length: width }, () => null) : [...after];
  for (const cell of cells) before[cell.index] = cell.before;
  return before;
}
