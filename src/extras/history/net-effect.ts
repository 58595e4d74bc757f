/**
 * The net effect of several entries on a row: one change, or none.
 */

/** A change of a row; each cell is as it was first and as it is last. */
export interface Net<C> {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly cells: readonly C[];
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
  const { cellsOf, keyOf, differs } = given;
  const [first] = entries;
  if (first === undefined) return null;
  const was = first.kind !== 'insert';
  const is = entries.at(-1)?.kind !== 'delete';
  if (!was && !is) return null;
  const byKey = new Map<string | number, C>();
  for (const cell of entries.flatMap(cellsOf)) {
    const { before } = byKey.get(keyOf(cell)) ?? cell;
    byKey.set(keyOf(cell), { ...cell, before });
  }
  const cells = [...byKey.values()].filter(differs);
  if (was && is && cells.length === 0) return null;
  return { kind: was ? (is ? 'update' : 'delete') : 'insert', cells };
}
