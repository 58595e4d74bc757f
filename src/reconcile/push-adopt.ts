/**
 * Which rows at the origin are creates of ours whose answer got lost, where no unique value tells. A create that was recorded
 * and a row that is unknown here and has every value that was sent are taken for one only if it cannot be otherwise: as many
 * rows as creates, and no row that fits another create as well. Everything else is in doubt. Pure.
 */

/** A create without an answer, and the ids of rows that are unknown here and have all its values. */
export interface LostCreate {
  readonly id: number;
  readonly candidates: readonly number[];
}

/** The row that each create made, by the create's id; a create that is not in it is in doubt. */
export function adoptAlike(creates: readonly LostCreate[]): ReadonlyMap<number, number> {
  const groups = Map.groupBy(creates, ({ candidates }) => keyOf(candidates));
  const groupCounts = new Map<number, number>();
  for (const [first] of groups.values()) {
    for (const candidate of first?.candidates ?? []) groupCounts.set(candidate, (groupCounts.get(candidate) ?? 0) + 1);
  }
  const adopted = new Map<number, number>();
  for (const group of groups.values()) {
    const candidates = (group[0]?.candidates ?? []).toSorted((a, b) => a - b);
    const isOwn = candidates.every((candidate) => groupCounts.get(candidate) === 1);
    if (candidates.length !== group.length || !isOwn) continue;
    // Creates are numbered downwards in the order in which they were sent; the origin numbers upwards.
    const inOrder = group.toSorted((a, b) => b.id - a.id);
    for (const [index, { id }] of inOrder.entries()) adopted.set(id, candidates[index] ?? 0);
  }
  return adopted;
}

function keyOf(candidates: readonly number[]): string {
  return candidates.toSorted((a, b) => a - b).join(' ');
}
