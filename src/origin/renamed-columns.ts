/**
 * Asks again, during a pull or a push, whether the columns of a table have the names that they had at its start. Requests the full description: a
 * wrong "not modified", as from a cache on the way, would confirm names that have moved.
 */
import type { RowsyncError } from '../base/errors.ts';
import { shareNext } from '../base/concurrency.ts';
import type { TableDescriptor } from '../wire/schema.ts';
import type { Address } from './address.ts';
import type { Origin } from './client.ts';

/** Throws what is wrong with the description of now. */
export type RequireShape = () => Promise<void>;

/**
 * Calls during a check share the next one. Once there was a problem, it stays, also when the names are back: rows read meanwhile may be under any
 * name.
 */
export function watchShape(
  { origin, signal }: { readonly origin: Pick<Origin, 'describeTable'>; readonly signal?: AbortSignal | undefined },
  address: Address,
  problemOf: (now: TableDescriptor) => RowsyncError | null,
): RequireShape {
  let problem: RowsyncError | null = null;
  return shareNext(async () => {
    problem ??= problemOf((await origin.describeTable(address, { signal })).value);
    if (problem !== null) throw problem;
  });
}
