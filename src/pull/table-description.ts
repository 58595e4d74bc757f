/**
 * The description of a table at the origin. Answers name columns, and a name may move to another column after it was
 * described. So the description is requested conditionally before the rows of a table, and for a mirror also after
 * them. Rows that came under wrong names are read again. Rows of a two-way table are stored only after a full
 * description that follows their answer. An edit, or a delete at the origin meanwhile, would keep wrong values.
 */
import { isDeepStrictEqual } from 'node:util';
import { RowsyncError } from '../base/errors.ts';
import type { Address } from '../origin/address.ts';
import { must } from '../base/assert.ts';
import { readColumns } from '../replica/bookkeeping/columns.ts';
import { baseTarget } from '../replica/base-comparison.ts';
import type { Connection } from '../replica/connection.ts';
import { readTableDescriptor, storeDescriptor } from '../replica/bookkeeping/descriptors.ts';
import { readRowsById } from '../replica/rows.ts';
import { etagFor, keptEtag } from '../wire/headers.ts';
import { leavesRightsOpen, withRights } from '../wire/write-rights.ts';
import type { RowPage, TableDescriptor, TableSummary } from '../wire/schema.ts';
import type { PullContext, TableReading } from './context.ts';
import { differingRows } from '../reconcile/merge.ts';

/** How often rights are asked for while a description changes. */
const RIGHTS_ROUNDS_MAX = 3;

/** Describes a table, conditionally unless `inFull`; asks for its rights once, or each time while it has no row. */
export async function describeTable(
  context: PullContext,
  { id, recordName, alias }: Pick<TableSummary, 'id' | 'recordName' | 'alias'>,
  { inFull = false }: { readonly inFull?: boolean } = {},
): Promise<TableDescriptor> {
  const { origin, replica, signal } = context;
  const address = { name: recordName, alias };
  const url = origin.describeUrl(address);
  const stored = readTableDescriptor(replica, id);
  const etag = inFull ? null : etagFor(url, stored?.etag);
  const answer = await origin.describeTable(address, { etag, signal });
  const value = answer.kind === 'ok' ? answer.value : must(stored, 'a 304 implies a stored ETag').descriptor;
  // A new table has this name, or a cache confused two answers: the options of this one are not for that one.
  if (value.id !== id) throw movingError(recordName);
  const rights = leavesRightsOpen(value) ? await askRights(context, address, value) : null;
  const news = rights ?? (answer.kind === 'ok' ? answer : null);
  if (news !== null) {
    await replica.write(`Storing the description of ${recordName}`, (tx) =>
      storeDescriptor(tx, id, { etag: keptEtag(url, news.etag), value: news.value }),
    );
  }
  return withKnownRights(replica, news?.value ?? value);
}

/** Asks what `*` means, then describes again: a column hidden meanwhile would seem read-only. Null without a row. */
async function askRights(
  { origin, signal }: PullContext,
  address: Address,
  first: TableDescriptor,
): Promise<{ readonly value: TableDescriptor; readonly etag: string | null } | null> {
  let described = first;
  for (let round = 1; round <= RIGHTS_ROUNDS_MAX; round += 1) {
    const updateable = await origin.updateableColumns(address, { signal });
    if (updateable === null) return null;
    const { value, etag } = await origin.describeTable(address, { signal });
    if (isDeepStrictEqual(value, described)) return { value: withRights(value, updateable), etag };
    described = value;
  }
  throw movingError(address.name);
}

/** The last description of a table; null without one. */
export function storedDescription({ replica }: PullContext, tableId: number): TableDescriptor | null {
  const stored = readTableDescriptor(replica, tableId);
  return stored === null ? null : withKnownRights(replica, stored.descriptor);
}

function withKnownRights(from: Connection, descriptor: TableDescriptor): TableDescriptor {
  return withRights(descriptor, null, readColumns(from, descriptor.id));
}

/** Requires the same columns before differing rows of a two-way table are stored. @throws `origin.moving`. */
export async function requireShapeOf(
  { context, table }: TableReading,
  { rows, unreadable }: Pick<RowPage, 'rows' | 'unreadable'>,
): Promise<void> {
  if (table.twoWay === null) return;
  const ids = rows.map(({ id }) => id);
  const bases = readRowsById(context.replica, baseTarget(table.twoWay.table), ids);
  if (unreadable.length > 0 || differingRows(rows, bases).length > 0) await table.requireShape();
}

/** Why rows that were just read may have come under the names of other columns. */
export function movingError(table: string): RowsyncError {
  return new RowsyncError('originDown', 'origin.moving', {
    message: `${table}: its columns changed while its rows were read`,
    hint: 'A colleague is changing the table at the origin; the next run reads it again.',
  });
}
