/**
 * What `rowsync status` says of the last proven moment. Apart from the proof, which loads pulls and pushes.
 */
import type { ProvenMoment } from '../../replica/bookkeeping/changed-rows.ts';
import { openReader } from '../../replica/reader.ts';
import { readLastMoment } from '../shared/fresh-tables.ts';

/** A line where there was a moment, and the same as JSON. */
export function momentStatus(path: string): { readonly lines: readonly string[]; readonly json: object } {
  const lastMoment = readMoment(path);
  if (lastMoment === null) return { lines: [], json: { lastMoment } };
  const { at, holds } = lastMoment;
  return { lines: [`moment    ${at}, ${holds ? 'unchanged since' : 'rows have changed since'}`], json: { lastMoment } };
}

/** Null for none; what keeps the replica from being read is said beside it. */
function readMoment(path: string): (ProvenMoment & { readonly holds: boolean }) | null {
  try {
    using reader = openReader(path);
    return reader.isOlder() ? null : readLastMoment(reader);
  } catch {
    return null;
  }
}
