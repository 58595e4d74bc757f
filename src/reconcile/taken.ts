/**
 * Versions of a row that were kept, and taken by a person: what the row holds then, where the origin has it, and what would be lost on the
 * way. Input: the versions, what the origin last confirmed, what stands here; values in the order of the columns. Pure.
 */
import type { Value } from '../wire/schema.ts';
import { isInQuestion, isSameValue } from './diff.ts';
import type { MergeColumn } from './merge.ts';
import { valuePutBack } from './uploads.ts';

/** The values of a row that is taken in the version `taken`; `versions` are all that were kept, `local` is null where the row was deleted. */
export function valuesTaken(
  {
    taken,
    versions,
    base,
    local,
  }: {
    readonly taken: readonly Value[];
    readonly versions: readonly (readonly Value[])[];
    readonly base: readonly Value[];
    readonly local: readonly Value[] | null;
  },
  columns: readonly MergeColumn[],
): readonly Value[] {
  return columns.map(({ writable, automatic, type }, index) => {
    const own = base[index] ?? null;
    const said = versions.map((version) => version[index] ?? null);
    // What nobody asked about is as it was written since.
    if (writable && !isInQuestion(type, said)) return (local ?? base)[index] ?? null;
    const value = taken[index] ?? null;
    // A version from before the row was at the origin has nothing where the origin fills in.
    return writable && (value !== null || automatic !== true) ? valuePutBack(type, value, own) : own;
  });
}

/** Whether only the origin gives a column its value: numbers and owners, but not keys that people fill in. */
export function isGivenThere({ automatic, type }: MergeColumn): boolean {
  return automatic === true && (type === 'Autonumber' || type === 'User');
}

/**
 * The place of a column in which a version was edited and which may not be written by now, so that it would come without the
 * edit; null where there is none. `before` is what was edited.
 */
export function lockedEdit(
  { edited, before }: { readonly edited: readonly Value[]; readonly before: readonly Value[] },
  columns: readonly MergeColumn[],
): number | null {
  const place = columns.findIndex((column, index) => {
    if (column.locked !== true || isGivenThere(column)) return false;
    return !isSameValue(column.type, edited[index] ?? null, before[index] ?? null);
  });
  return place < 0 ? null : place;
}
