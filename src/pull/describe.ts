/**
 * What a table looks like at the origin: asked conditionally before its rows are read and behind them, and in full before rows that
 * somebody edited here are merged. Answers name columns, and a name may have gone to another column since it was asked about.
 */
import { RowsyncError } from '../base/errors.ts';
import { valueOf } from '../origin/answers.ts';
import { changedIndexes } from '../reconcile/diff.ts';
import { baseTarget, readDifferingIds } from '../replica/compare.ts';
import type { Connection, Tx } from '../replica/database.ts';
import { readTableDescriptor, storeDescriptor } from '../replica/ledger.ts';
import { readRowsById } from '../replica/rows.ts';
import type { Row, TableDescriptor, TableSummary } from '../wire/schema.ts';
import type { PreparedTable, PullContext } from './context.ts';

/** Describes a table, conditionally. @throws RowsyncError of the origin and the replica. */
export async function describeTable(
  context: PullContext,
  { id, recordName, alias }: Pick<TableSummary, 'id' | 'recordName' | 'alias'>,
): Promise<TableDescriptor> {
  const { origin, replica, signal } = context;
  const stored = readTableDescriptor(replica, id, origin.format);
  const answer = await origin.describeTable({ name: recordName, alias }, { etag: stored?.etag, signal });
  if (answer.kind === 'ok') {
    await replica.write(`Storing the description of ${recordName}`, (tx) =>
      storeDescriptor(tx, { of: id, format: origin.format }, answer),
    );
  }
  return valueOf(answer, stored?.descriptor ?? null);
}

/** Describes a table in full: a wrong "not modified", as of a cache on the way, would vouch for names that have gone to other columns. */
async function describeAgain(
  { origin, signal }: PullContext,
  { recordName, alias }: TableDescriptor,
): Promise<TableDescriptor> {
  return valueOf(await origin.describeTable({ name: recordName, alias }, { signal }));
}

/** Whether rows that were read under one description mean the same under another. */
export function isSameShape(one: TableDescriptor, other: TableDescriptor): boolean {
  const text = ({ key, columns }: TableDescriptor): string =>
    JSON.stringify([key, columns.map(({ id, name, type }) => [id, name, type])]);
  return text(one) === text(other);
}

/**
 * Writes what came of rows, and makes sure, before rows meet edits, that what differs in them did not just come under the name of another
 * column. A row that nobody edited is put right by the next description; a conflict, or a row that goes on as a new one, would keep
 * such values. Edits may be made until the transaction begins, so it is there that they are looked for.
 * @throws RowsyncError `origin.moving`.
 */
export async function writeInShape<T>(
  context: PullContext,
  table: PreparedTable,
  { what, rows }: { readonly what: string; readonly rows: readonly Row[] },
  work: (tx: Tx) => T,
): Promise<T> {
  const { replica, signal } = context;
  const tried = await replica.write(what, (tx) => (meetsEdits(tx, table, rows) ? null : { done: work(tx) }), signal);
  if (tried !== null) return tried.done;
  if (isSameShape(table.descriptor, await describeAgain(context, table.descriptor))) {
    return replica.write(what, work, signal);
  }
  throw new RowsyncError('originDown', 'origin.moving', {
    message: `${table.target.localName}: its columns changed while its rows were read`,
    hint: 'Somebody is at work on the table at the origin; the next run reads it again.',
  });
}

/** Whether a row was edited here and is not what base says. */
function meetsEdits(from: Connection, { twoWay }: PreparedTable, rows: readonly Row[]): boolean {
  if (twoWay === null) return false;
  const ids = rows.map(({ id }) => id);
  const edited = new Set(readDifferingIds(from, twoWay.table, ids));
  if (edited.size === 0) return false;
  const base = readRowsById(from, baseTarget(twoWay.table), [...edited]);
  const baseById = new Map(base.map((row) => [row.id, row.values]));
  return rows.some(({ id, values }) => edited.has(id) && changedIndexes(baseById.get(id) ?? [], values).length > 0);
}
