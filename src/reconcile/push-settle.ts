/**
 * What the base of a row is after it was sent, so that the one merge (merge.ts) settles exactly the cells that still hold
 * what was sent (I12), and an edit made while the row was in flight stays a change. Rows have the table's columns in order;
 * `sent` are the cells of the request. Pure.
 */
import type { Row, Value } from '../wire/schema.ts';
import { isSameValue, isTakenAs } from './diff.ts';
import { isChanged, type MergeColumn } from './merge.ts';
import type { SentCell } from './push-plan.ts';
import { uploadName } from './uploads.ts';

/** A row that was sent: base before, cells as sent. */
export interface SentRow {
  readonly base: Row | null;
  readonly sent: readonly SentCell[];
}

/** The base once the origin accepted the cells: what it was, with the cells as sent. `id` is the origin's. */
export function baseAsSent({ base, sent }: SentRow, id: number, columnCount: number): Row {
  const values = base === null ? Array<Value>(columnCount).fill(null) : base.values.slice();
  for (const { column, value } of sent) values[column] = value;
  return { id, allow: base?.allow ?? null, values };
}

/**
 * The base to merge an accepted row with, once it was read back. Where a cell was edited again while its row was in flight, the
 * base is what the origin says now: the edit is newer than what the origin made of the value that was sent. In cells of
 * an insert that were not sent, what the origin filled in is no edit of anybody's either. `overtaken` are the columns of files that
 * arrived, and where somebody has put another one in their place since: what the origin says there is that edit.
 */
export function baseForReadBack(
  before: SentRow,
  { local, remote }: { readonly local: Row | null; readonly remote: Row },
  columns: readonly MergeColumn[],
  overtaken: ReadonlySet<number> = new Set(),
): Row {
  const asSent = baseAsSent(before, remote.id, columns.length);
  const values = asSent.values.slice();
  const ours = before.base === null ? columns.keys() : editedCells(before, columns).map(({ column }) => column);
  for (const index of ours) {
    const was = values[index] ?? null;
    // Deleted while in flight: a delete of what the origin made of what was sent, but not of what it was told by others.
    const isEdited = local === null || !isSameValue(columns[index]?.type ?? 'Text', local.values[index] ?? null, was);
    if (isEdited && !overtaken.has(index)) values[index] = remote.values[index] ?? null;
  }
  return { ...asSent, values: values.map((value, index) => (isLeftOut(local, index, columns) ? null : value)) };
}

/** Whether a statement left out what the origin fills in, such as REPLACE a key: what stands there then is taken from the origin. */
function isLeftOut(local: Row | null, index: number, columns: readonly MergeColumn[]): boolean {
  return local !== null && columns[index]?.automatic === true && (local.values[index] ?? null) === null;
}

/**
 * The base to merge a row with that was looked up after its answer got lost: cells that the origin holds as they were sent, or in a form
 * of its own, were applied; for the others the base is what it was. What the origin filled in of an insert is a default, and nobody's edit.
 * `arrived` are the columns of files that were compared by content, since the origin shows them in another form; `overtaken` those of
 * them that show a newer file of somebody else's.
 */
export function baseAfterLookup(
  before: SentRow,
  { local, remote }: { readonly local: Row | null; readonly remote: Row },
  columns: readonly MergeColumn[],
  arrived: ReadonlySet<number> = new Set(),
  overtaken: ReadonlySet<number> = new Set(),
): Row {
  const sentByColumn = new Map(before.sent.map(({ column, value }) => [column, value]));
  // Created there, deleted here since: the delete is of the row as the origin made it.
  const isAsMade = overtaken.size === 0 && isApplied(before.sent, remote, columns, arrived);
  if (before.base === null && local === null && isAsMade) return remote;
  const values = columns.map(({ type }, index) => {
    const there = remote.values[index] ?? null;
    const sent = sentByColumn.get(index);
    if (isLeftOut(local, index, columns)) return null;
    // The origin shows the file in another form: what still stands here as it was sent is no edit of it.
    if (arrived.has(index)) return local?.values[index] === sent || overtaken.has(index) ? (sent ?? null) : there;
    if (sent !== undefined && isSameValue(type, sent, there)) return there;
    const confirmed = before.base?.values[index] ?? null;
    // The origin shows it in a form of its own: what still stands here as it was sent is no edit of that.
    if (sent !== undefined && isTakenAs(type, sent, there) && !isSameValue(type, there, confirmed)) {
      return local !== null && isSameValue(type, local.values[index] ?? null, sent) ? sent : there;
    }
    // A create has no former value that emptying it would go back to.
    const isEmptied = before.base === null && local !== null && (local.values[index] ?? null) === null;
    if (isEmptied && sent !== undefined) return sent;
    const isFilledIn = before.base === null && sent === undefined;
    if (isFilledIn && (local?.values[index] ?? null) !== null) return there;
    return confirmed;
  });
  return { id: remote.id, allow: before.base?.allow ?? null, values };
}

/** The cells of a request that say something else than the base; the match value of a row that has one goes along unchanged. */
export function editedCells({ base, sent }: SentRow, columns: readonly MergeColumn[]): readonly SentCell[] {
  return sent.filter(
    ({ column, value }) =>
      base === null || !isSameValue(columns[column]?.type ?? 'Text', value, base.values[column] ?? null),
  );
}

/** Whether a row at the origin holds all the cells of a request, each as it was sent or as the origin may have taken it; `arrived` are the columns of files that were compared by content. */
export function isApplied(
  sent: readonly SentCell[],
  remote: Row,
  columns: readonly MergeColumn[],
  arrived: ReadonlySet<number> = new Set(),
): boolean {
  return sent.every(
    ({ column, value }) =>
      arrived.has(column) || isTakenAs(columns[column]?.type ?? 'Text', value, remote.values[column] ?? null),
  );
}

/**
 * Whether a row still stands here as it was sent. One that was edited since, or deleted, or put back, is no longer what the origin refused, and
 * goes on like a refused row that is edited.
 */
export function isLeftAsSent(
  { base, local, sent }: SentRow & { readonly local: Row | null },
  kind: 'insert' | 'update' | 'delete',
  columns: readonly MergeColumn[],
): boolean {
  if (local === null || kind === 'delete') return local === null && kind === 'delete';
  return !isChanged(baseAsSent({ base, sent }, local.id, columns.length), local, columns);
}

/**
 * The base of a row that its update made again, because a colleague had deleted the former one: a new row's, but for columns that nobody
 * may write. In these the origin speaks for itself, so that a new date or number there is in conflict with nobody.
 */
export function baseOfMadeAgain(base: Row, former: Row | null, columns: readonly MergeColumn[]): Row {
  const values = base.values.map((value, column) =>
    columns[column]?.writable === false ? (former?.values[column] ?? null) : value,
  );
  return { ...base, values };
}

/**
 * The base of a row that has the match value of an update without an answer, whose own row is gone, and that does not hold what was sent:
 * somebody has changed it since, or put it in the place of the former one. What it holds in cells that were not sent goes over nobody's edit,
 * and nobody's goes over it; what was emptied there goes over what the origin confirmed of it. `base` is that of a row that was made again.
 */
export function baseOfReplaced(
  base: Row,
  { former, sent, remote }: { readonly former: Row | null; readonly sent: readonly SentCell[]; readonly remote: Row },
): Row {
  const values = base.values.map((value, index) => {
    const cell = sent.find(({ column }) => column === index);
    const isWritten = cell !== undefined && cell.value !== null;
    return isWritten || (remote.values[index] ?? null) === null ? value : (former?.values[index] ?? null);
  });
  return { ...base, values };
}

/**
 * The base of a row in which a file of the former base stands still, or again: where the origin made the row again, which has no file then, or
 * where REPLACE put it back while another one was on its way. Nobody can ask for a file of the origin's by its value, so that is no
 * edit. `former` is the base before, `base` what the origin made of it.
 */
export function baseOfFormerFiles(
  base: Row,
  { former, local }: { readonly former: Row | null; readonly local: Row | null },
  columns: readonly Pick<MergeColumn, 'type'>[],
): Row {
  const values = base.values.map((value, index) => {
    const { type = 'Text' } = columns[index] ?? {};
    const here = local?.values[index] ?? null;
    const isFile = type === 'Attachment' && here !== null && uploadName(type, here) === null;
    return isFile && here === former?.values[index] ? here : value;
  });
  return { ...base, values };
}

/**
 * The base to merge an insert with whose match value a row of the origin has: none, but for a row that the origin had before and deleted.
 * Of that one, cells that still hold what the origin confirmed then are nobody's edit. `former` are those values, in the order of the columns.
 */
export function baseOfMet(
  former: readonly Value[] | null,
  local: Row | null,
  columns: readonly Pick<MergeColumn, 'type'>[],
): Row | null {
  if (former === null || local === null) return null;
  const values = columns.map(({ type }, index) => {
    const here = local.values[index] ?? null;
    return isSameValue(type, here, former[index] ?? null) ? here : null;
  });
  return { ...local, values };
}

/**
 * The same before anything of the insert was sent: emptying a cell is an edit of what the origin confirmed of it. `held` are files, by column,
 * that the met row shows already: attaching them is no edit of it.
 */
export function baseOfMetUnsent(
  former: readonly Value[] | null,
  local: Row | null,
  { columns, held }: { readonly columns: readonly MergeColumn[]; readonly held: ReadonlyMap<number, string> },
): Row | null {
  const met = baseOfMet(former, local, columns);
  const base = met === null ? null : baseOfEmptied(met, { former, local, made: null }, columns);
  if (local === null || held.size === 0) return base;
  const values = columns.map((_column, index): Value => {
    const here = local.values[index] ?? null;
    return here !== null && held.get(index) === here ? here : (base?.values[index] ?? null);
  });
  return { ...local, values };
}

/**
 * The base of a new row that the origin had before, and had again by the time it was sent: what the origin confirmed of a cell that was emptied
 * since is its base, so that emptying it is an edit. A file, and what the origin fills in, goes without anybody emptying its cell. `made` is a row
 * that holds all that was sent, and may be what was made of it, with such cells empty: what is there instead is somebody's, unless it is
 * what the origin had before.
 */
export function baseOfEmptied(
  base: Row,
  {
    former,
    local,
    made,
  }: { readonly former: readonly Value[] | null; readonly local: Row | null; readonly made: Row | null },
  columns: readonly MergeColumn[],
): Row {
  if (former === null || local === null) return base;
  const values = base.values.map((value, index) => {
    const { type = 'Text', writable = false, automatic } = columns[index] ?? {};
    const canBeEmptied = writable && automatic !== true && type !== 'Attachment';
    const before = former[index] ?? null;
    const isEmptied = canBeEmptied && value === null && (local.values[index] ?? null) === null;
    const isFormer = made === null || isSameValue(type, made.values[index] ?? null, before);
    return isEmptied && isFormer ? before : value;
  });
  return { ...base, values };
}

/**
 * The base of a create that was looked up, where the origin had its row before: what nobody edited since is as `met` (baseOfMet) has it, and so
 * is what nobody may write, in which the origin speaks for itself.
 */
export function baseOfMetLater(base: Row, met: Row | null, columns: readonly Pick<MergeColumn, 'writable'>[]): Row {
  if (met === null) return base;
  const values = base.values.map((value, index) => {
    const former = met.values[index] ?? null;
    return columns[index]?.writable === false ? (former ?? value) : (value ?? former);
  });
  return { ...base, values };
}

/**
 * Whether the row that has the unique value of a create without an answer may well be a colleague's, to whom nothing may be done that was
 * meant for the row made here. It does not hold what was sent, and that value, by which the two are one row, is given up here: it is another
 * one now, or the row was deleted. As long as the value stands here, the two are merged like any others.
 */
export function mayBeColleagues(facts: {
  /** The cell by whose unique value it was found. */
  readonly by: SentCell;
  readonly sent: readonly SentCell[];
  /** Whether these are all cells that were sent, and not only those of columns that the origin still shows. */
  readonly isWhole: boolean;
  /** What stands here now; null where the row was deleted. */
  readonly local: Row | null;
  readonly remote: Row;
  readonly columns: readonly MergeColumn[];
  /** Columns of files that were compared by content. */
  readonly arrived?: ReadonlySet<number> | undefined;
}): boolean {
  const { by, sent, isWhole, local, remote, columns, arrived } = facts;
  const type = columns[by.column]?.type ?? 'Text';
  const isKept = local !== null && isSameValue(type, local.values[by.column] ?? null, by.value);
  return !isKept && !(isWhole && isApplied(sent, remote, columns, arrived));
}
