/**
 * What `rowsync status` says of the last proven moment. Apart from the proof, which loads pulls and pushes.
 */
import { openReader } from '../../replica/reader.ts';
import { readLastMoment } from '../shared/fresh-tables.ts';

/** A line where there was a moment, and the same as JSON, of a replica that can be read. */
export function momentStatus(path: string): { readonly lines: readonly string[]; readonly json: object } {
  using reader = openReader(path);
  const lastMoment = reader.isOlder() ? null : readLastMoment(reader);
  if (lastMoment === null) return { lines: [], json: { lastMoment } };
  const { at, holds } = lastMoment;
  return { lines: [`moment    ${at}, ${holds ? 'unchanged since' : 'rows have changed since'}`], json: { lastMoment } };
}
