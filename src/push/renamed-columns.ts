/**
 * The columns of a table at the origin: requested when its push begins, and again when rows differ from what was
 * expected. Answers name columns, and a name may have moved to another column. Values merged under it would belong to
 * another column, and an edit that becomes a new row would keep them permanently.
 */
import { RowsyncError } from '../base/errors.ts';
import { shellWord } from '../base/text.ts';
import type { TwoWayTable } from '../capture/two-way-table.ts';
import type { Address } from '../origin/address.ts';
import { must } from '../base/assert.ts';
import { selectPulledColumns, chosenAsRead, overtakenColumns } from '../reconcile/column-selection.ts';
import { changedColumns } from '../reconcile/renamed-columns.ts';
import { readColumns } from '../replica/bookkeeping/columns.ts';
import { readTableDescriptor } from '../replica/bookkeeping/descriptors.ts';
import { readPendingHold } from '../replica/bookkeeping/table-errors.ts';
import { etagFor } from '../wire/headers.ts';
import { withRights } from '../wire/write-rights.ts';
import type { TableDescriptor } from '../wire/schema.ts';
import type { PushContext } from './context.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import { watchShape, type RequireShape } from '../origin/renamed-columns.ts';

/** Describes a table, conditionally; its columns must be the ones that were read. @throws RowsyncError `push.shape`. */
export async function describeForPush(
  context: PushContext,
  table: TwoWayTable,
  address: Address,
): Promise<{ readonly descriptor: TableDescriptor; readonly choiceProblem: RowsyncError | null }> {
  const { origin, replica, signal } = context;
  const stored = readTableDescriptor(replica, table.id);
  const etag = etagFor(origin.describeUrl(address), stored?.etag);
  const answer = await origin.describeTable(address, { etag, signal });
  const value = answer.kind === 'ok' ? answer.value : must(stored, 'a 304 implies a stored ETag').descriptor;
  const described = withRights(value, null, readColumns(replica, table.id));
  const descriptor = asRead(context, table, described);
  const problem = shapeProblem(table, descriptor);
  // Where the last pull was held for locked columns, another one would be, too.
  if (problem !== null) throw readPendingHold(replica, table.id) ?? problem;
  return { descriptor, choiceProblem: choiceProblem(context, table, described) };
}

/** Leaves out and masks columns as when the table was read, so that rows sent then are settled like that. */
function asRead({ replica }: PushContext, { id }: TwoWayTable, described: TableDescriptor): TableDescriptor {
  return chosenAsRead(described, { leftOut: readTable(replica, id).leftOut, known: readColumns(replica, id) });
}

/** Why no new edits are sent: the configuration now chooses or masks columns in another way. Null if it does not. */
function choiceProblem(
  { origin, replica, settings }: PushContext,
  { id, name, localName }: TwoWayTable,
  described: TableDescriptor,
): RowsyncError | null {
  const known = readColumns(replica, id);
  const { leftOut } = readTable(replica, id);
  const keyDigest = (): string => origin.maskKeyDigest();
  const choosing = { choice: settings.columns?.(name) ?? null, leftOut, known, keyDigest };
  const chosen = selectPulledColumns(described, choosing);
  if (chosen.problems.length === 0 && overtakenColumns(known, chosen, choosing).length === 0) return null;
  return new RowsyncError('originRefused', 'push.shape', {
    message: `${localName}: the configuration now leaves out other columns, or masks columns in another way, than when the table was read; nothing was sent`,
    hint: `Run rowsync pull ${shellWord(localName)} first, then push again: the changes wait here.`,
  });
}

/** Checks the columns again, once rows differ from what was expected. */
export function watchColumns(context: PushContext, table: TwoWayTable, address: Address): RequireShape {
  return watchShape(context, address, (now) =>
    shapeProblem(table, asRead(context, table, withRights(now, null, readColumns(context.replica, table.id)))),
  );
}

/** Why values must not be written into the columns, because they changed since they were read; null if not. */
function shapeProblem({ localName, columns }: TwoWayTable, descriptor: TableDescriptor): RowsyncError | null {
  const changed = changedColumns(columns, descriptor);
  if (changed.length === 0) return null;
  const names = changed.map((name) => `"${name}"`).join(', ');
  return new RowsyncError('originRefused', 'push.shape', {
    message: `${localName}: at the origin, columns were renamed, retyped, removed or locked since the last pull (${names}); nothing more was sent`,
    hint: `Run rowsync pull ${shellWord(localName)} first, then push again: the changes wait here.`,
  });
}
