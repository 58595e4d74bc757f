/**
 * The one three-way merge, used by pull and by push: the result for a row with three known versions.
 *
 *    base     what the origin last confirmed      local    what is in the user's table
 *    remote   what the origin says now            null     no such row in that version
 *
 * Cell by cell: remote = base, nothing · local = base, take remote · local = remote, settled · all three differ,
 * conflict. A delete on one side against an edit on the other is a conflict of the whole row; a row that the origin
 * deleted is never created again. The new base is always what the origin says now, so merging the same answer again
 * changes nothing. The losing version is in `conflicts`, never dropped (I2). Columns that cannot be written here follow
 * the origin. All rows have the same columns in the same order. Values are canonical (wire/schema.ts), so equal values
 * are identical; only numbers may come from SQL in several spellings, and are compared exactly by value. Pure.
 */
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { TYPE_RULES } from '../wire/column-types.ts';

/** Who wins if both sides changed a cell: the origin, the replica, or neither until a person decides. */
export type ConflictPolicy = 'origin' | 'local' | 'ask';

/** A row as the origin last confirmed it, and as it is here; null where it is not. */
export interface RowVersion {
  /** `_id` here; negative for a row that the origin has not seen. */
  readonly id: number;
  readonly base: Row | null;
  readonly local: Row | null;
}

/** The facts about a column that the merge needs. */
export interface MergeColumn {
  readonly type: ColumnType;
  /** Whether an edit of it can be pushed; other columns follow the origin, and an edit of them loses. */
  readonly writable: boolean;
  /** Whether the origin fills it in if it is empty, so that an empty cell here is no edit of a new row. */
  readonly automatic?: boolean;
  /** The calling user may not write it, but others may: it is not a computed column. */
  readonly locked?: boolean;
}

/** Whether a merge gave an edited cell the origin's value, which may have been why the row was refused. */
export function hasLostEdit(
  { base, local }: Pick<RowVersion, 'base' | 'local'>,
  decision: Pick<MergeDecision, 'base' | 'local'>,
  columns: readonly MergeColumn[],
): boolean {
  if (local === null || decision.local === null) return false;
  return editedColumns(base, local, columns).some((at) => isSameCell(columns, at, decision.base, decision.local));
}

/** Whether a question about a cell is settled: both sides agree, or it cannot be written, or its column was removed. */
export function isAnswered(
  { base, local }: Pick<RowVersion, 'base' | 'local'>,
  column: number,
  columns: readonly MergeColumn[],
): boolean {
  if (columns[column]?.writable !== true) return true;
  return base !== null && local !== null && isSameCell(columns, column, base, local);
}

/** `nobody`: both versions are kept until a person decides. */
export type ConflictWinner = 'origin' | 'local' | 'nobody';

export type ConflictKind = 'cell' | 'deletedHere' | 'deletedThere' | 'inserted';

/**
 * A line of `sync_conflicts`: a version that lost, or a question.
 *
 *    cell           all three values differ; `column` is its index, null for the other kinds, whose versions are rows
 *    deletedHere    deleted in the replica, edited at the origin
 *    deletedThere   edited in the replica, deleted at the origin
 *    inserted       a row that only was here; its version may be the text of one that was sent
 */
export interface KeptConflict {
  readonly kind: ConflictKind;
  readonly column: number | null;
  readonly base: Row | Value;
  readonly local: Row | Value;
  readonly remote: Row | Value;
  readonly winner: ConflictWinner;
  readonly state: 'open' | 'decided' | 'discarded';
  /** The open question that the line renews; its first base is kept. Null for a new line. */
  readonly renews: number | null;
}

/** A line of sync_conflicts: an open question, or a loss that the policy decided. */
export function conflictLine(
  kind: ConflictKind,
  winner: ConflictWinner,
  versions: Pick<KeptConflict, 'base' | 'local' | 'remote'>,
  column: number | null = null,
): KeptConflict {
  return { kind, column, ...versions, winner, state: winner === 'nobody' ? 'open' : 'decided', renews: null };
}

/** What to store. `local` and `base` are whole rows, or null if the row must not be in that table. */
interface MergedRow {
  readonly local: Row | null;
  readonly base: Row | null;
  readonly conflicts: readonly KeptConflict[];
}

export interface MergeDecision extends MergedRow {
  /** settled: nothing is left to push · changed: local differs from base, to be pushed · parked: a person decides. */
  readonly state: 'settled' | 'changed' | 'parked';
}

/** Merges one row. A conflict that a person was asked about is not repeated as long as the origin stays as it is. */
export function mergeRow(
  { base, local, remote }: Pick<RowVersion, 'base' | 'local'> & { readonly remote: Row | null },
  columns: readonly MergeColumn[],
  policy: ConflictPolicy,
): MergeDecision {
  const rules = { columns, policy };
  const merged =
    remote === null
      ? mergeMissing(base, local, columns)
      : local === null
        ? mergeDeleted(base, remote, rules)
        : mergeCells({ base, local, remote }, rules);
  if (!isChanged(merged.base, merged.local, columns)) return { ...merged, state: 'settled' };
  const isAsked = merged.conflicts.some(({ winner }) => winner === 'nobody');
  return { ...merged, state: isAsked ? 'parked' : 'changed' };
}

/** Whether an edit of the local row waits to be pushed: a writable cell differs from base, or one row is missing. */
export function isChanged(base: Row | null, local: Row | null, columns: readonly MergeColumn[]): boolean {
  return base === null || local === null ? base !== local : editedColumns(base, local, columns).length > 0;
}

/** Indexes of the writable cells in which a row differs from its base; without a base, of those with a value. */
export function editedColumns(base: Row | null, local: Row, columns: readonly MergeColumn[]): readonly number[] {
  const edited: number[] = [];
  let column = 0;
  for (const { type, writable } of columns) {
    if (writable && !isSameValue(type, cellOf(base, column), cellOf(local, column))) edited.push(column);
    column += 1;
  }
  return edited;
}

interface Rules {
  readonly columns: readonly MergeColumn[];
  readonly policy: ConflictPolicy;
}

const AWAY: MergedRow = { local: null, base: null, conflicts: [] };

/** The origin has no such row. */
function mergeMissing(base: Row | null, local: Row | null, columns: readonly MergeColumn[]): MergedRow {
  // Inserted here, and still unknown there.
  if (base === null) return { ...AWAY, local };
  // Deleted on both sides, or deleted there and left alone here.
  if (local === null || !isChanged(base, local, columns)) return AWAY;
  // Deleted there, edited here. Under every policy, the row is not created again: the edit is kept, and a person may
  // insert it.
  return { ...AWAY, conflicts: [conflictLine('deletedThere', 'origin', { base, local, remote: null })] };
}

/** The replica has no such row, the origin has. */
function mergeDeleted(base: Row | null, remote: Row, { columns, policy }: Rules): MergedRow {
  // New at the origin.
  if (base === null) return { local: remote, base: remote, conflicts: [] };
  // Deleted here, unchanged there: the delete is still to be pushed. A user with more rights may have changed other
  // columns.
  const written = columns.map((column) => ({ ...column, writable: column.writable || column.locked === true }));
  if (!isChanged(base, remote, written)) return { local: null, base: remote, conflicts: [] };
  // Deleted here, edited there.
  const winner = winnerOf(policy);
  const conflicts = [conflictLine('deletedHere', winner, { base, local: null, remote })];
  return { local: winner === 'origin' ? remote : null, base: remote, conflicts };
}

/** Both have the row. One without a base was inserted here and found at the origin; its base was empty. */
function mergeCells(
  { base, local, remote }: { base: Row | null; local: Row; remote: Row },
  { columns, policy }: Rules,
): MergedRow {
  const conflicts: KeptConflict[] = [];
  const values = columns.map(({ type, writable }, column): Value => {
    const here = cellOf(local, column);
    const there = cellOf(remote, column);
    if (isSameValue(type, here, there)) return there;
    const before = cellOf(base, column);
    if (isSameValue(type, here, before)) return there;
    if (writable && isSameValue(type, there, before)) return here;
    const winner = writable ? winnerOf(policy) : 'origin';
    conflicts.push(conflictLine('cell', winner, { base: before, local: here, remote: there }, column));
    return winner === 'origin' ? there : here;
  });
  return { local: { id: remote.id, allow: remote.allow, values }, base: remote, conflicts };
}

function winnerOf(policy: ConflictPolicy): ConflictWinner {
  return policy === 'ask' ? 'nobody' : policy;
}

/** The value of a cell; null also without a row. */
export function cellOf(row: Row | null, column: number): Value {
  return row?.values[column] ?? null;
}

/** Whether a cell is the same in two rows. */
export function isSameCell(columns: readonly MergeColumn[], at: number, one: Row | null, other: Row | null): boolean {
  return isSameValue(columns[at]?.type ?? 'Text', cellOf(one, at), cellOf(other, at));
}

/** Rows that differ from the known ones in a value or in the caller's rights. */
export function differingRows(rows: readonly Row[], known: ReadonlyMap<number, Row>): readonly Row[] {
  return rows.filter(({ id, allow, values }) => {
    const before = known.get(id);
    return before?.allow !== allow || values.some((value, index) => value !== before.values[index]);
  });
}

/** Whether two values of a column are the same: null only as null, numbers exactly (1, 1.0 and '1.0' are one). */
export function isSameValue(type: ColumnType, one: Value, other: Value): boolean {
  if (one === other) return true;
  return one !== null && other !== null && TYPE_RULES[type].isSame(one, other);
}

/**
 * Whether a value is the origin's form of a sent value. Numbers have six decimals, a checkbox is never empty (origin
 * facts 2.1), and an empty text may be null. Another name of a user is not taken for a form: it may be a colleague's.
 */
export function isTakenAs(type: ColumnType, sent: Value, there: Value): boolean {
  return isSameValue(type, sent, there) || TYPE_RULES[type].isTakenAs(sent, there);
}
