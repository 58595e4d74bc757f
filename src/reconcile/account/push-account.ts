/**
 * What became of the edits that a push began with. Whatever went wrong, each is in exactly one column, so the columns
 * add up to the edits at the beginning. Decided by the states of the rows when the push ends. Pure.
 */
import { sumOf } from '../../base/sum.ts';
import { retryHope, NO_STATUS } from '../push-answer.ts';
import type { RowState } from '../row-state.ts';

/**
 * Every column.
 *
 *    arrived     the origin has all of it            lost        the origin's version won a cell, and ours is kept
 *    won         the same, over a colleague's edit   asked       both sides changed the row: a person decides
 *    refused     parked with the origin's words      inDoubt     it may have happened
 *    unsendable  stopped here, before it was sent    unsent      waits for the next push
 */
export const EDIT_FATES = ['arrived', 'won', 'lost', 'asked', 'refused', 'inDoubt', 'unsendable', 'unsent'] as const;

/** What became of an edit. */
export type EditFate = (typeof EDIT_FATES)[number];

export interface EditFacts {
  /** Null for a clean row. */
  readonly state: RowState | null;
  /** The status of its refusal; null if it was stopped before it was sent. */
  readonly status: number | null;
  /** The winners of its conflicts in this push. */
  readonly winners: ReadonlySet<string>;
}

/** The account of one table. */
export interface PushAccount extends Readonly<Record<EditFate, number>> {
  /** Edits at the beginning: the sum of all columns. */
  readonly began: number;
  /** Refused edits that may succeed later, because the origin was in trouble. */
  readonly passing: number;
  /** Why edits were not sent; null if all were. */
  readonly unsentReason: string | null;
}

/** Decides what became of one edit. */
export function fateOf({ state, status, winners }: EditFacts): EditFate {
  switch (state) {
    case 'refused':
      return status === null ? 'unsendable' : 'refused';
    case 'inDoubt':
      return 'inDoubt';
    case 'conflicted':
      return 'asked';
    case 'edited':
    case 'sending':
      return 'unsent';
    case 'clean':
    case null:
      return winners.has('origin') ? 'lost' : winners.has('local') ? 'won' : 'arrived';
    default:
      return state satisfies never;
  }
}

/** Adds edits up. */
export function accountOf(edits: readonly EditFacts[], unsentReason: string): PushAccount {
  const byFate = Map.groupBy(edits, fateOf);
  const counts = columns((fate) => byFate.get(fate)?.length ?? 0);
  const isPassing = ({ state, status }: EditFacts): boolean =>
    state === 'refused' && status !== null && (status === NO_STATUS || retryHope(status) === 'soon');
  const passing = edits.filter(isPassing).length;
  return { began: edits.length, ...counts, passing, unsentReason: counts.unsent === 0 ? null : unsentReason };
}

function columns(count: (fate: EditFate) => number): Readonly<Record<EditFate, number>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each fate
  return Object.fromEntries(EDIT_FATES.map((fate) => [fate, count(fate)])) as Record<EditFate, number>;
}

/** The sum of the accounts of several tables, with the reason of the first that has one. */
export function sumOfAccounts(accounts: readonly PushAccount[]): PushAccount {
  const [unsentReason = null] = accounts.flatMap((it) => it.unsentReason ?? []);
  return {
    began: sumOf(accounts, ({ began }) => began),
    ...columns((fate) => sumOf(accounts, (it) => it[fate])),
    passing: sumOf(accounts, ({ passing }) => passing),
    unsentReason,
  };
}
