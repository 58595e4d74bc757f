/**
 * The edits that a push of a table began with, so that its report can say what became of each of them. A row stays the same edit when the origin gives
 * it another id.
 */
import { ROW_STATES } from '../reconcile/row-state.ts';
import { accountOf, type PushAccount } from '../reconcile/account/push-account.ts';
import type { Connection } from '../replica/connection.ts';
import { readConflictsSince, readLastConflictId } from '../replica/bookkeeping/conflicts.ts';
import { readRowEnds, readUnsentIds } from '../replica/bookkeeping/row-states.ts';

/** Follows the edits of one table through one push. */
export class BeganEdits {
  readonly #tableId: number;
  readonly #began = new Set<number>();
  /** The id that a row has now, by the one that it had. */
  readonly #idNow = new Map<number, number>();
  #lastConflictId: number | null = null;
  #isWhole = false;

  constructor(tableId: number) {
    this.#tableId = tableId;
  }

  /** Adds the rows that wait to be sent or looked up now, until `isWhole` was set: later edits are not of the beginning. */
  note(from: Connection, isWhole: boolean): void {
    if (this.#isWhole) return;
    this.#isWhole = isWhole;
    this.#lastConflictId ??= readLastConflictId(from);
    for (const id of readUnsentIds(from, this.#tableId)) this.#began.add(id);
  }

  /** A row has another id from now on. */
  renumbered(fromId: number, toId: number): void {
    this.#idNow.set(fromId, toId);
  }

  /** What became of them; `unsentReason` is why edits that still wait were not sent. */
  account(from: Connection, unsentReason: string): PushAccount {
    const ends = readRowEnds(from, this.#tableId);
    const winners = new Map<number, Set<string>>();
    for (const { rowId, winner } of readConflictsSince(from, this.#tableId, this.#lastConflictId ?? 0)) {
      winners.set(rowId, (winners.get(rowId) ?? new Set()).add(winner));
    }
    const facts = [...this.#began].map((began) => {
      // A new row may be merged with one of the origin, and that one be sent in turn.
      const id = this.#idNow.get(began) ?? began;
      const end = ends.get(id);
      return {
        state: ROW_STATES.find((known) => known === end?.state) ?? null,
        status: end?.status ?? null,
        winners: new Set([...(winners.get(began) ?? []), ...(winners.get(id) ?? [])]),
      };
    });
    return accountOf(facts, unsentReason);
  }
}
