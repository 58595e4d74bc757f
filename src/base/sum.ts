/**
 * The sum of what `pick` takes from each item.
 */
export function sumOf<T>(items: readonly T[], pick: (item: T) => number): number {
  return items.reduce((sum, item) => sum + pick(item), 0);
}
