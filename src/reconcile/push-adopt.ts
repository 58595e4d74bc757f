/**
 * Which rows at the origin are creates of ours whose answer got lost. With a unique value, it is the row that has this value,
 * unless that one was there before: then the origin refused the create. Where no unique value tells, a create that was recorded
 * and a row that is unknown here and has every value that was sent are taken for one only if it cannot be otherwise: as many
 * rows as creates, and no row that fits another create as well. Everything else is in doubt. Pure.
 */
import type { Row } from '../wire/schema.ts';
import type { MergeColumn } from './merge.ts';
import type { SentCell } from './push-plan.ts';
import { isApplied } from './push-settle.ts';
import { filesAsSent } from './uploads.ts';

/** A row without an answer that is looked for by its unique value. */
export interface LostByValue {
  readonly id: number;
  /** Rows that have the value, and whether to the letter: uniqueness at the origin may ignore case, and may not. */
  readonly found: readonly { readonly row: Row; readonly isExact: boolean }[];
  /** Of what can only have made a new row: the largest id of a row of the origin that was known when it left. */
  readonly newestKnown?: number | undefined;
  /** An upsert of a new row by this value: it is about whatever row has it; but for that, a row that was known made it be refused. */
  readonly isMet?: boolean;
}

/**
 * The row that each of them made, by its id here; each row of the origin only once, and none that is `taken`: the row of another change that
 * was sent, which somebody may have given the value since. The origin numbers upwards, so a row that is `known` here and not above the
 * newest one known when a change left was not made by it. A row that came under such an id in another way is left to the origin, which
 * refuses the value a second time. Without `newestKnown`, and of one that `isMet`, the value alone tells; but a row that was known and was
 * `edited` here since is left alone, so that the new one waits beside it.
 */
export function adoptByValue(
  lost: readonly LostByValue[],
  {
    known,
    taken,
    edited = new Set(),
  }: {
    readonly known: ReadonlySet<number>;
    readonly taken: ReadonlySet<number>;
    readonly edited?: ReadonlySet<number>;
  },
): ReadonlyMap<number, Row> {
  const adopted = new Map<number, Row>();
  const free = new Set(lost.flatMap(({ found }) => found.map(({ row }) => row.id)).filter((id) => !taken.has(id)));
  for (const asksExact of [true, false]) {
    for (const { id, found, newestKnown = 0, isMet = false } of lost.filter((row) => !adopted.has(row.id))) {
      const mayBe = (rowId: number): boolean => rowId > newestKnown || !(isMet ? edited : known).has(rowId);
      const own = found.find(({ row, isExact }) => isExact === asksExact && free.has(row.id) && mayBe(row.id));
      if (own === undefined) continue;
      adopted.set(id, own.row);
      free.delete(own.row.id);
    }
  }
  return adopted;
}

/** A create without an answer, and the ids of rows that are unknown here and have all its values. */
export interface LostCreate {
  readonly id: number;
  readonly candidates: readonly number[];
  /** The largest id of a row of the origin that was known when it left. */
  readonly newestKnown?: number | undefined;
}

/**
 * The row that each create made, by the create's id; a create that is not in it is in doubt. The origin numbers upwards, so a row below the
 * newest one known when a create left is none of its, though no pull may have seen it yet.
 */
export function adoptAlike(lost: readonly LostCreate[]): ReadonlyMap<number, number> {
  const creates = lost.map(({ id, candidates, newestKnown = 0 }) => {
    return { id, candidates: candidates.filter((candidate) => candidate > newestKnown) };
  });
  const groups = Map.groupBy(creates, ({ candidates }) => keyOf(candidates));
  const groupCounts = new Map<number, number>();
  for (const [first] of groups.values()) {
    for (const candidate of first?.candidates ?? []) groupCounts.set(candidate, (groupCounts.get(candidate) ?? 0) + 1);
  }
  const adopted = new Map<number, number>();
  for (const group of groups.values()) {
    const candidates = (group[0]?.candidates ?? []).toSorted((a, b) => a - b);
    const isOwn = candidates.every((candidate) => groupCounts.get(candidate) === 1);
    if (candidates.length !== group.length || !isOwn) continue;
    // Creates are numbered downwards in the order in which they were sent; the origin numbers upwards.
    const inOrder = group.toSorted((a, b) => b.id - a.id);
    for (const [index, { id }] of inOrder.entries()) adopted.set(id, candidates[index] ?? 0);
  }
  return adopted;
}

/**
 * Rows that stand as creates with a unique value sent them, by the creates' ids here: each row once, none that is `taken` by another change, and
 * none that was known when the create left.
 */
export function adoptAsSent(
  creates: readonly {
    readonly id: number;
    readonly cells: readonly SentCell[];
    readonly newestKnown?: number | undefined;
  }[],
  rows: readonly Row[],
  { taken, columns }: { readonly taken: ReadonlySet<number>; readonly columns: readonly MergeColumn[] },
): ReadonlyMap<number, Row> {
  const adopted = new Map<number, Row>();
  const given = new Set(taken);
  for (const { id, cells, newestKnown = 0 } of creates) {
    const isOwn = (row: Row): boolean => isApplied(cells, row, columns, filesAsSent(cells, row));
    const own = rows.find((row) => row.id > newestKnown && !given.has(row.id) && isOwn(row));
    if (own === undefined) continue;
    adopted.set(id, own);
    given.add(own.id);
  }
  return adopted;
}

/**
 * Which rows that are alike but for their unique values may be what a create made that is not found by its own; none of them can be taken for
 * it. A pull may have brought it in meanwhile, so whether they are known says nothing. `others` are rows of other changes.
 */
export function mayBeMade<Candidate extends { readonly id: number }>(
  candidates: readonly Candidate[],
  { newestKnown, others }: { readonly newestKnown: number | undefined; readonly others: ReadonlySet<number> },
): readonly Candidate[] {
  // Without it, the row may be any that ever was.
  if (newestKnown === undefined) return [];
  return candidates.filter(({ id }) => id > newestKnown && !others.has(id)).toSorted((a, b) => a.id - b.id);
}

/** Why a create without an answer, which the origin does not return, may have been made nevertheless; null where it may go again. */
export function doubtOfAbsent(facts: {
  /** It has a value by which it would have been found. */
  readonly isIdentified: boolean;
  /** Whoever looked is shown what its sender was shown. */
  readonly isSender: boolean;
  /** It was on its way in an older copy that was put back, without a match value: what identifies it may have been changed from here since. */
  readonly isOlder: boolean;
  /** A row that may be what it made, under another unique value; null where none is like it. */
  readonly likelyId: number | null;
  /** More rows are like it than were looked at. */
  readonly isPartial: boolean;
}): string | null {
  if (!facts.isIdentified) return 'nothing at the origin proves that it was, or was not';
  // To another caller a row that is hidden looks just like none, and nothing would tell of it if the one here were deleted before it went again.
  if (!facts.isSender) return 'it may be hidden from the present user or role';
  if (facts.isOlder) return 'this replica is an older copy that was put back: it may have another unique value by now';
  if (facts.likelyId !== null) return `row ${facts.likelyId} is like it but for what is unique`;
  return facts.isPartial ? 'more rows are like it but for what is unique than one answer has' : null;
}

function keyOf(candidates: readonly number[]): string {
  return candidates.toSorted((a, b) => a - b).join(' ');
}
