/**
 * Checks again, during a pull or a push, whether the columns of a table are still called as at its start. Requests the
 * full description: a wrong "not modified", as of a cache in between, would confirm former names.
 */
import type { RowsyncError } from '../base/errors.ts';
import { shareNext } from '../base/concurrency.ts';
import type { TableDescriptor } from '../wire/schema.ts';
import type { Address } from './address.ts';
import type { Origin } from './client.ts';

/** Requests the present description, and throws if it no longer fits. */
export type RequireShape = () => Promise<void>;

/** Calls during a check share the next one. A problem is permanent: rows read meanwhile may be under either name. */
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
