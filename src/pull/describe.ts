/**
 * What a table looks like at the origin. Answers name columns, and a name may have gone to another column since it was asked about. So it is
 * asked conditionally before the rows of a table are read and, where nobody edits it, behind them: what came under wrong names is read
 * again. Of a table that people edit nothing is stored before it was asked in full behind the answer. An edit, or a row that is
 * deleted at the origin meanwhile, would keep such values permanently.
 */
import { RowsyncError } from '../base/errors.ts';
import { shareNext } from '../base/pool.ts';
import type { Address } from '../origin/address.ts';
import { valueOf } from '../origin/answers.ts';
import { hasNews } from '../reconcile/diff.ts';
import { baseTarget } from '../replica/compare.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import { readTableDescriptor, storeDescriptor } from '../replica/ledger.ts';
import { readRowsById, type RowTarget } from '../replica/rows.ts';
import type { RowPage, TableDescriptor, TableSummary } from '../wire/schema.ts';
import type { PreparedTable, PullContext } from './context.ts';

/** Describes a table, conditionally unless `inFull`. @throws RowsyncError of the origin and the replica. */
export async function describeTable(
  context: PullContext,
  { id, recordName, alias }: Pick<TableSummary, 'id' | 'recordName' | 'alias'>,
  { inFull = false }: { readonly inFull?: boolean } = {},
): Promise<TableDescriptor> {
  const { origin, replica, signal } = context;
  const stored = readTableDescriptor(replica, id, origin.format);
  const etag = inFull ? undefined : stored?.etag;
  const answer = await origin.describeTable({ name: recordName, alias }, { etag, signal });
  if (answer.kind === 'ok') {
    await replica.write(`Storing the description of ${recordName}`, (tx) =>
      storeDescriptor(tx, { of: id, format: origin.format }, answer),
    );
  }
  return valueOf(answer, stored?.descriptor ?? null);
}

/**
 * Looks, each time it is called, whether the columns of a table are still called as they were. Asks in full: a wrong "not modified", as of
 * a cache on the way, would vouch for names that have gone to other columns. Looks that come while one is under way share the next. Once they
 * were called otherwise, the answer stays no: what was read meanwhile may be under any name, also when they are called back.
 */
export function shapeWatch(
  { origin, signal }: Pick<PullContext, 'origin' | 'signal'>,
  address: Address,
  descriptor: TableDescriptor,
): () => Promise<boolean> {
  let isSame = true;
  return shareNext(async () => {
    if (isSame) isSame = isSameShape(descriptor, valueOf(await origin.describeTable(address, { signal })));
    return isSame;
  });
}

/** Whether rows that were read under one description mean the same under another. */
export function isSameShape(one: TableDescriptor, other: TableDescriptor): boolean {
  const text = ({ key, columns }: TableDescriptor): string =>
    JSON.stringify([key, columns.map(({ id, name, type }) => [id, name, type])]);
  return text(one) === text(other);
}

/**
 * Writes what came of rows. Where people edit the table, and something in them is not what its base says, it is made sure first that this did
 * not just come under the name of another column; what is as it was is right under any name.
 * @throws RowsyncError `origin.moving`.
 */
export async function writeInShape<T>(
  { replica, signal }: PullContext,
  table: PreparedTable,
  { what, answer }: { readonly what: string; readonly answer: Pick<RowPage, 'rows' | 'unreadable'> },
  work: (tx: Tx) => T,
): Promise<T> {
  if (table.twoWay !== null && bringsNews(replica, table.twoWay.table, answer)) await requireSameShape(table);
  return replica.write(what, work, signal);
}

/** Makes sure that the columns of a table are still called as they were when it was prepared. @throws RowsyncError `origin.moving`. */
export async function requireSameShape({ target, keepsShape }: PreparedTable): Promise<void> {
  if (await keepsShape()) return;
  throw new RowsyncError('originDown', 'origin.moving', {
    message: `${target.localName}: its columns changed while its rows were read`,
    hint: 'A colleague is changing the table at the origin; the next run reads it again.',
  });
}

/** Whether some row is not what the origin confirmed last, or cannot be read as what it is taken for. */
function bringsNews(
  from: Connection,
  table: RowTarget,
  { rows, unreadable }: Pick<RowPage, 'rows' | 'unreadable'>,
): boolean {
  if (unreadable.length > 0) return true;
  const ids = rows.map(({ id }) => id);
  return hasNews(rows, readRowsById(from, baseTarget(table), ids));
}
