/**
 * What a push did, table by table, and what became of the edits that it began with. A row stays the same edit when the origin gives it another id.
 */
import type { RowsyncError } from '../base/errors.ts';
import { type PushAccount, accountOf } from '../reconcile/account/push-account.ts';
import { type WaitingCounts, readRowEnds, readUnsentIds } from '../replica/bookkeeping/row-states.ts';
import { ROW_STATES } from '../reconcile/row-state.ts';
import type { Connection } from '../replica/connection.ts';
import { readConflictsSince, readLastConflictId } from '../replica/bookkeeping/conflicts.ts';

export interface TablePushCounts {
  insertedCount: number;
  updatedCount: number;
  deletedCount: number;
  /** Refused by the origin, or before it was asked. */
  refusedCount: number;
  /** Creates that may have happened. */
  inDoubtCount: number;
  conflictCount: number;
}

/** The result of one table, with what waits from this push and earlier ones. */
export interface TablePushReport extends Readonly<TablePushCounts>, WaitingCounts {
  /** Name in the replica. */
  readonly table: string;
  /** The guard that holds the table's changes. */
  readonly held: RowsyncError | null;
  readonly error: RowsyncError | null;
  /** What became of the edits that the push began with. */
  readonly account: PushAccount;
  readonly durationMs: number;
}

export interface PushReport {
  /** `id` in `sync_runs`. */
  readonly runId: number;
  readonly tables: readonly TablePushReport[];
  readonly requestCount: number;
  readonly durationMs: number;
  /** What ended the push as a whole. */
  readonly error: RowsyncError | null;
  /** The error of a table that would occur for every other table too; tables that had not begun have it too. */
  readonly stop: RowsyncError | null;
}

export function noCounts(): TablePushCounts {
  return { insertedCount: 0, updatedCount: 0, deletedCount: 0, refusedCount: 0, inDoubtCount: 0, conflictCount: 0 };
}

export function addReport(first: TablePushReport, second: TablePushReport): TablePushReport {
  return {
    ...second,
    insertedCount: first.insertedCount + second.insertedCount,
    updatedCount: first.updatedCount + second.updatedCount,
    deletedCount: first.deletedCount + second.deletedCount,
    refusedCount: first.refusedCount + second.refusedCount,
    inDoubtCount: first.inDoubtCount + second.inDoubtCount,
    conflictCount: first.conflictCount + second.conflictCount,
    durationMs: first.durationMs + second.durationMs,
  };
}

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
