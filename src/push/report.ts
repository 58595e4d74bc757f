/**
 * What a push did, table by table, and what became of the edits that it began with. A row stays the same edit when the
 * origin gives it another id.
 */
import type { RowsyncError } from '../base/errors.ts';
import { type PushAccount, accountOf } from '../reconcile/account/push-account.ts';
import { type WaitingCounts, countWaiting, readRowEnds } from '../replica/bookkeeping/row-states.ts';
import type { Connection } from '../replica/connection.ts';
import type { TwoWayTable } from '../capture/two-way-table.ts';
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

/** What all tables of one push share. */
export interface PushTally {
  /** Rows that the origin accepted. */
  takenCount: number;
  /** Updates go last row first: a chain of rows that hand on a unique value succeeds in one of both orders. */
  isReversed: boolean;
}

/** What one push counts and remembers of one table, also while refused rows are tried again. */
export class TableTally {
  readonly counts: TablePushCounts = {
    insertedCount: 0,
    updatedCount: 0,
    deletedCount: 0,
    refusedCount: 0,
    inDoubtCount: 0,
    conflictCount: 0,
  };
  readonly push: PushTally;
  /** Rows whose requests ended without an answer, with the size of the next request for each. */
  readonly limits = new Map<number, number>();
  /** One of them failed again in this round: the others wait, so that few rows are halved before the one at fault. */
  isNarrowing = false;
  /** Requests that ended so. */
  unansweredCount = 0;
  durationMs = 0;
  /** Rows that the origin did not return right before sending, in all batches: a guard judges them together. */
  missingCount = 0;
  /** The latest; null before the table was begun. */
  report: TablePushReport | null = null;
  readonly #table: Pick<TwoWayTable, 'id' | 'localName'>;
  readonly #began = new Set<number>();
  /** The id that a row has now, by the one that it had. */
  readonly #idNow = new Map<number, number>();
  /** `takenCount` of the push when the origin refused a row, by the row's id. */
  readonly #refused = new Map<number, number>();
  #lastConflictId: number | null = null;
  #isBegun = false;

  constructor(table: Pick<TwoWayTable, 'id' | 'localName'>, push: PushTally = { takenCount: 0, isReversed: false }) {
    this.#table = table;
    this.push = push;
  }

  noteRefused(id: number): void {
    this.#refused.set(id, this.push.takenCount);
  }

  /** Rows that were refused before the origin accepted others, which they may need; forgets all refused ones. */
  takeOvertaken(): readonly number[] {
    const ids = [...this.#refused].flatMap(([id, takenBefore]) => (takenBefore < this.push.takenCount ? [id] : []));
    this.#refused.clear();
    return ids;
  }

  /** Adds the rows that wait to be sent or looked up now, unless the beginning has ended. */
  noteEdits(from: Connection): void {
    if (this.#isBegun) return;
    this.#lastConflictId ??= readLastConflictId(from);
    for (const [id, { state }] of readRowEnds(from, this.#table.id))
      if (state === 'edited' || state === 'sending') this.#began.add(id);
  }

  /** Adds them for the last time: later edits are not of the beginning. */
  endBeginning(from: Connection): void {
    this.noteEdits(from);
    this.#isBegun = true;
  }

  /** Rows that were merged have other ids at the origin: they stay the same edits. */
  noteNewIds(outcomes: readonly { readonly id: number; readonly newId: number }[]): void {
    for (const { id, newId } of outcomes) if (id !== newId) this.#idNow.set(id, newId);
  }

  /** Reports what was done until now. `end` is what failed, or else why edits that still wait were not sent. */
  close(from: Connection, end: RowsyncError | string): void {
    this.endBeginning(from);
    const error = typeof end === 'string' ? null : end;
    const isGuard = error?.kind === 'needsPerson';
    this.report = {
      table: this.#table.localName,
      ...this.counts,
      ...countWaiting(from, this.#table.id),
      account: this.#account(from, typeof end === 'string' ? end : end.message),
      held: isGuard ? error : null,
      error: isGuard ? null : error,
      durationMs: this.durationMs,
    };
  }

  #account(from: Connection, unsentReason: string): PushAccount {
    const ends = readRowEnds(from, this.#table.id);
    const winners = new Map<number, Set<string>>();
    for (const { rowId, winner } of readConflictsSince(from, this.#table.id, this.#lastConflictId ?? 0)) {
      winners.set(rowId, (winners.get(rowId) ?? new Set()).add(winner));
    }
    const none: ReadonlySet<string> = new Set();
    const winnersOf = (id: number): ReadonlySet<string> => winners.get(id) ?? none;
    const facts = [...this.#began].map((began) => {
      // A new row may be merged with one of the origin, and that one be sent in turn.
      const id = this.#idNow.get(began) ?? began;
      const end = ends.get(id);
      const both = id === began ? winnersOf(id) : winnersOf(began).union(winnersOf(id));
      return { state: end?.state ?? null, status: end?.status ?? null, winners: both };
    });
    return accountOf(facts, unsentReason);
  }
}
