/**
 * Reads at the origin what a block of edited rows is about: the rows as they are now, and the rows that have the match values of new ones.
 */
import { filterOfValue } from '../reconcile/findable.ts';
import type { ChangeKind } from '../reconcile/push-plan.ts';
import { uploadName } from '../reconcile/uploads.ts';
import { readRowsById } from '../replica/rows.ts';
import type { Row, Value } from '../wire/schema.ts';
import { step, type IdBlock, type TablePush } from './context.ts';
import { findById, findByMatch, type FoundRows, type Holder } from './find.ts';

/** Edited rows of one kind, in the order in which they leave, and what the origin has of them. */
export interface FoundBlock {
  readonly kind: ChangeKind;
  readonly ids: readonly number[];
  readonly found: FoundRows;
  /** The match values of inserts that were looked up, by the insert's id here. */
  readonly asked: ReadonlyMap<number, Value>;
  readonly holders: ReadonlyMap<Value, Holder>;
  /** Whether a row attaches a file. */
  readonly attaches: boolean;
  /** Whether the rows may be recorded before earlier ones have arrived: if they never leave, a look at the origin proves it. */
  readonly mayGoAhead: boolean;
}

/** Reads the rows of a block. @throws RowsyncError of the origin. */
export async function read(run: TablePush, { kind, ids }: IdBlock): Promise<FoundBlock> {
  await step(run, 'reread');
  const { match } = run.planned;
  const locals =
    kind === 'delete' || (match === null && !mayAttach(run)) ? [] : readRowsById(run.context.replica, run.table, ids);
  const attaches = mayAttach(run) && locals.some((row) => isAttaching(run, row));
  const asked = new Map<number, Value>();
  if (kind === 'insert' && match !== null) {
    for (const { id, values } of locals) {
      const value = values[match] ?? null;
      if (value !== null && value !== '') asked.set(id, value);
    }
  }
  const [found, holders] = await Promise.all([
    findById(run, kind === 'insert' ? [] : ids),
    findByMatch(run, [...new Set(asked.values())], false),
  ]);
  const isFree =
    kind !== 'insert' || (holders.size === 0 && ids.every((id) => isIdentified(run, asked.get(id) ?? null)));
  return { kind, ids, found, asked, holders, attaches, mayGoAhead: !attaches && isFree };
}

function mayAttach({ table }: TablePush): boolean {
  return table.columns.some(({ type, writable }) => writable && type === 'Attachment');
}

function isAttaching({ table }: TablePush, { values }: Row): boolean {
  return table.columns.some(({ type }, index) => uploadName(type, values[index] ?? null) !== null);
}

/** Whether a new row can be looked up if its answer gets lost: by its match value, or by one that is made up. */
function isIdentified({ planned: { match, columns } }: TablePush, value: Value): boolean {
  const column = match === null ? undefined : columns[match];
  return column !== undefined && (value === null ? column.type === 'Text' : filterOfValue(column, value) !== null);
}
