/**
 * What a table looks like at the origin, asked conditionally: before its rows are read, behind them, and before rows that somebody edited
 * here are merged. Answers name columns, and a name may have gone to another column since it was asked about.
 */
import { RowsyncError } from '../base/errors.ts';
import type { Answer } from '../origin/answers.ts';
import { changedIndexes } from '../reconcile/diff.ts';
import { baseTarget, readDifferingIds } from '../replica/compare.ts';
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
  return contentOf(answer, stored?.descriptor ?? null);
}

/** Whether rows that were read under one description mean the same under another. */
export function isSameShape(one: TableDescriptor, other: TableDescriptor): boolean {
  const text = ({ key, columns }: TableDescriptor): string =>
    JSON.stringify([key, columns.map(({ id, name, type }) => [id, name, type])]);
  return text(one) === text(other);
}

/**
 * Makes sure, before rows meet edits, that what differs in them did not just come under the name of another column. A row that nobody
 * edited is put right by the next description; a conflict, or a row that goes on as a new one, would keep such values.
 * @throws RowsyncError `origin.moving`.
 */
export async function requireSameShape(
  context: PullContext,
  { target, twoWay, descriptor }: PreparedTable,
  rows: readonly Row[],
): Promise<void> {
  if (twoWay === null) return;
  const edited = new Set(
    readDifferingIds(
      context.replica,
      twoWay.table,
      rows.map(({ id }) => id),
    ),
  );
  if (edited.size === 0) return;
  const base = readRowsById(context.replica, baseTarget(twoWay.table), [...edited]);
  const baseById = new Map(base.map((row) => [row.id, row.values]));
  const isNews = ({ id, values }: Row): boolean =>
    edited.has(id) && changedIndexes(baseById.get(id) ?? [], values).length > 0;
  if (!rows.some(isNews)) return;
  if (isSameShape(descriptor, await describeTable(context, descriptor))) return;
  throw new RowsyncError('originDown', 'origin.moving', {
    message: `${target.localName}: its columns changed while its rows were read`,
    hint: 'Somebody is at work on the table at the origin; the next run reads it again.',
  });
}

/** The content of an answer; 304 means what is stored. */
export function contentOf<T>(answer: Answer<T>, stored: T | null): T {
  if (answer.kind === 'ok') return answer.value;
  if (stored !== null) return stored;
  throw new RowsyncError('wireFormat', 'origin.unexpected', {
    message: 'The origin answered "not modified" to a request that asked for no such thing',
    hint: 'A proxy between rowsync and the origin is likely; it must not cache.',
  });
}
