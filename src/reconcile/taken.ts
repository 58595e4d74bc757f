/**
 * What a row holds once a person has taken a version of it that was kept, where the origin has the row. Input: the versions, what
 * the origin last confirmed, what stands here. Output: values in the order of the columns. Pure.
 */
import type { Value } from '../wire/schema.ts';
import { isInQuestion } from './diff.ts';
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
