/**
 * Which rows at the origin are creates of ours whose answer got lost. With a unique value, it is the row that has this value,
 * unless that one was there before: then the origin refused the create. Where no unique value tells, a create that was recorded
 * and a row that is unknown here and has every value that was sent are taken for one only if it cannot be otherwise: as many
 * rows as creates, and no row that fits another create as well. Everything else is in doubt. Pure.
 */
import type { Row } from '../wire/schema.ts';

/**
 * Of the rows that have the unique value of a create, the one that it made. The origin numbers upwards, so a row that is known
 * here and not above the newest one known when the create left (`newestKnown`) is older than the create. A row that came under such an
 * id in another way is left to the origin, which refuses the value a second time. Without `newestKnown` the value alone tells.
 */
export function adoptByValue(
  found: readonly Row[],
  { known, newestKnown = 0 }: { readonly known: ReadonlySet<number>; readonly newestKnown?: number | undefined },
): Row | undefined {
  return found.find(({ id }) => id > newestKnown || !known.has(id));
}

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
