/**
 * The base of a row after it was sent. With it, the one merge (merge.ts) settles exactly the cells that still hold what was sent (I12). An edit made
 * while the row was in flight stays a change. Rows have the table's columns in order; `sent` are the cells of the request. Pure.
 */
import type { Row, Value } from '../wire/schema.ts';
import { isSameValue, isTakenAs } from './diff.ts';
import { isChanged, type Conflict, type MergeColumn } from './merge.ts';
import type { ChangeKind, SentCell } from './push-plan.ts';

/** A row that was sent: base before, cells as sent. */
export interface SentRow {
  readonly base: Row | null;
  readonly sent: readonly SentCell[];
}

/** The row if the origin did exactly what was asked. `id` is the origin's. */
export function baseAsSent({ base, sent }: SentRow, id: number, columnCount: number): Row {
  const values = base === null ? Array<Value>(columnCount).fill(null) : base.values.slice();
  for (const { column, value } of sent) values[column] = value;
  return { id, allow: base?.allow ?? null, values };
}

/**
 * The base after an answer: the base before, with the sent cells that the origin accepted, or holds after a lost answer. If it holds a cell in its
 * own form, and the cell was edited here since, that form is the base. `arrived` are the columns of files that the origin has; it shows files in
 * another form than they were sent.
 */
export function baseAfterAnswer(
  before: SentRow,
  now: { readonly local: Row | null; readonly remote: Row },
  facts: {
    readonly columns: readonly MergeColumn[];
    readonly isAccepted: boolean;
    readonly arrived: ReadonlySet<number>;
  },
): Row {
  const { columns, isAccepted, arrived } = facts;
  const { local, remote } = now;
  // Values that the origin fills in are no edits of a new row that was deleted here meanwhile.
  const asMade = columns.map(({ automatic }, column): Value => {
    return local === null && automatic === true ? (remote.values[column] ?? null) : null;
  });
  const values = before.base?.values.slice() ?? asMade;
  for (const { column, value, file } of before.sent) {
    const type = columns[column]?.type ?? 'Text';
    const there = remote.values[column] ?? null;
    const isHeld = file === undefined ? isTakenAs(type, value, there) : arrived.has(column);
    // A value that the origin had before, and that is also its form of the sent value, proves nothing.
    const isProven = isHeld && (isSameValue(type, there, value) || !isSameValue(type, there, values[column] ?? null));
    if (!isAccepted && (file === undefined ? !isProven : !isHeld)) continue;
    // REPLACE puts the origin's file back into the cell, which no client can request: that is no edit.
    const isPutBack = file !== undefined && values[column] !== null && local?.values[column] === values[column];
    if (isPutBack) continue;
    const isAsSent = local !== null && isSameValue(type, local.values[column] ?? null, value);
    values[column] = isHeld && !isAsSent ? there : value;
  }
  return { id: remote.id, allow: before.base?.allow ?? null, values };
}

/** Whether a row at the origin holds all cells of a request, as sent or in the origin's form; `arrived` as above. */
export function isApplied(
  sent: readonly SentCell[],
  remote: Row,
  columns: readonly MergeColumn[],
  arrived: ReadonlySet<number>,
): boolean {
  return sent.every(({ column, value, file }) => {
    if (file !== undefined) return arrived.has(column);
    return isTakenAs(columns[column]?.type ?? 'Text', value, remote.values[column] ?? null);
  });
}

/** What a new row overwrote in the known row that the origin merged it into: the sent values stand there, and those before are kept. */
export function overwrittenCells(
  known: Row,
  sent: readonly SentCell[],
  columns: readonly MergeColumn[],
): readonly Conflict[] {
  return sent.flatMap(({ column, value, file }) => {
    const before = known.values[column] ?? null;
    if (file !== undefined || isSameValue(columns[column]?.type ?? 'Text', before, value)) return [];
    return [{ kind: 'cell', column, base: before, local: value, remote: before, winner: 'local' }];
  });
}

/** Whether a row is still as it was sent. A row that was edited since is no longer what the origin refused, and is planned again. */
export function isLeftAsSent(
  { base, local, sent }: SentRow & { readonly local: Row | null },
  kind: ChangeKind,
  columns: readonly MergeColumn[],
): boolean {
  if (local === null || kind === 'delete') return local === null && kind === 'delete';
  return !isChanged(baseAsSent({ base, sent }, local.id, columns.length), local, columns);
}
