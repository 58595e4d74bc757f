/**
 * The base of a row after it was sent. So the one merge (merge.ts) settles exactly the cells that still hold what was sent (I12).
 * An edit made while the row was in flight stays a change. Rows have the table's columns in order; `sent` are the cells of the
 * request. Pure.
 */
import type { Row, Value } from '../wire/schema.ts';
import { isSameValue, isTakenAs } from './diff.ts';
import { isChanged, type MergeColumn } from './merge.ts';
import type { ChangeKind, SentCell } from './push-plan.ts';

/** A row that was sent: base before, cells as sent. */
export interface SentRow {
  readonly base: Row | null;
  readonly sent: readonly SentCell[];
}

/** The row as it would be if the origin did with it just what was asked. `id` is the origin's. */
export function baseAsSent({ base, sent }: SentRow, id: number, columnCount: number): Row {
  const values = base === null ? Array<Value>(columnCount).fill(null) : base.values.slice();
  for (const { column, value } of sent) values[column] = value;
  return { id, allow: base?.allow ?? null, values };
}

/**
 * The base after an answer: the base before, with the sent cells that the origin accepted, or holds where its answer was lost. A cell that
 * it holds in a form of its own, and that was edited here since, has that form as its base. `arrived` are the columns of files that
 * the origin shows, which it does in another form than they were sent in.
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
  // What the origin fills in by itself is nobody's edit of a new row that was deleted here meanwhile.
  const asMade = columns.map(({ automatic }, column): Value => {
    return local === null && automatic === true ? (remote.values[column] ?? null) : null;
  });
  const values = before.base?.values.slice() ?? asMade;
  for (const { column, value, file } of before.sent) {
    const type = columns[column]?.type ?? 'Text';
    const there = remote.values[column] ?? null;
    const isHeld = file === undefined ? isTakenAs(type, value, there) : arrived.has(column);
    // What the origin had before, and would also make of what was sent, proves nothing.
    const isProven = isHeld && (isSameValue(type, there, value) || !isSameValue(type, there, values[column] ?? null));
    if (!isAccepted && (file === undefined ? !isProven : !isHeld)) continue;
    // REPLACE puts the file back that the origin had, which nobody can ask for: that is no edit.
    const isPutBack = file !== undefined && values[column] !== null && local?.values[column] === values[column];
    if (isPutBack) continue;
    const isAsSent = local !== null && isSameValue(type, local.values[column] ?? null, value);
    values[column] = isHeld && !isAsSent ? there : value;
  }
  return { id: remote.id, allow: before.base?.allow ?? null, values };
}

/** Whether a row at the origin holds all the cells of a request, as they were sent or in a form of its own; `arrived` as above. */
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

/** Whether a row still is here as it was sent. One that was edited since is no longer what the origin refused, and is planned again. */
export function isLeftAsSent(
  { base, local, sent }: SentRow & { readonly local: Row | null },
  kind: ChangeKind,
  columns: readonly MergeColumn[],
): boolean {
  if (local === null || kind === 'delete') return local === null && kind === 'delete';
  return !isChanged(baseAsSent({ base, sent }, local.id, columns.length), local, columns);
}
