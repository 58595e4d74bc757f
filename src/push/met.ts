/**
 * Inserts whose match value a row of the origin has already, before anything is sent. Input: the rows of a batch, and what the origin
 * was asked for. Output: each such insert is merged into that row under its id, and goes on as an update of it, or waits where
 * that row was edited here too.
 */
import { stampFromMs } from '../base/clock.ts';
import { readVersions, type RowChange } from '../capture/changes.ts';
import { readFormerBase } from '../capture/conflicts.ts';
import { moveRows, readRowStates } from '../capture/marks.ts';
import { storeRefusal } from '../capture/refusals.ts';
import { settleRows, type VersionsNow } from '../capture/settle.ts';
import { isSameRow } from '../reconcile/diff.ts';
import { judgeHolder } from '../reconcile/match.ts';
import type { ConflictPolicy } from '../reconcile/merge.ts';
import type { PlannedRow } from '../reconcile/push-plan.ts';
import { baseOfMetUnsent } from '../reconcile/push-settle.ts';
import { isInFlight } from '../reconcile/row-state.ts';
import type { Tx } from '../replica/connection.ts';
import type { Row, Value } from '../wire/schema.ts';
import type { TablePush } from './context.ts';
import type { Held } from './upload.ts';

/** What is known of the rows that inserts meet, by the insert's id here. */
export interface Met extends Held {
  /** The match values that the origin was asked for. */
  readonly asked: ReadonlyMap<number, Value>;
  /** The rows that have them. */
  readonly takenBy: ReadonlyMap<number, Row>;
}

/** Merges inserts into the rows that have their match values. `at` is the stamp of now. */
export function settleMet(
  tx: Tx,
  run: TablePush,
  rows: readonly PlannedRow[],
  { asked, takenBy, held, ...merge }: Met & { readonly policy: ConflictPolicy; readonly at: string },
): void {
  const { table } = run;
  const versions = readVersions(tx, table, [...takenBy.keys()]);
  const localById = new Map(versions.map(({ rowId, local }) => [rowId, local]));
  const taken = rows.flatMap(({ id }) => {
    const remote = takenBy.get(id);
    // Edited or deleted since it was asked about: with another value, it is another row than the one that was found.
    if (remote === undefined || !isAsAsked(run, asked, { rowId: id, local: localById.get(id) ?? null })) return [];
    if (isTakenHere(tx, run, id, remote)) return [];
    const former = readFormerBase(tx, table, id);
    const there = { columns: table.columns, held: held.get(id) ?? new Map<number, string>() };
    return [{ rowId: id, remote, base: ({ local }: VersionsNow) => baseOfMetUnsent(former, local, there) }];
  });
  settleRows(tx, table, taken, { ...merge, isSent: false, reason: 'not returned by the origin before a push' });
}

/**
 * An insert whose match value belongs to a row that was edited here too: which of them is meant, only a person knows. One that was sent has
 * to be settled first, and one that was deleted or has another value here to be pushed.
 */
function isTakenHere(tx: Tx, run: TablePush, id: number, remote: Row): boolean {
  const { table, context, counts, planned } = run;
  const [twin] = readVersions(tx, table, [remote.id]);
  const { base = null, local = null } = twin ?? {};
  const isEdited = base === null || local === null ? base !== local : !isSameRow(base, local);
  const isSent = isInFlight(readRowStates(tx, table.id, [remote.id]).get(remote.id) ?? 'clean');
  if (!isEdited && !isSent) return false;
  const { why, hope } = judgeHolder({ base, local }, { match: planned.match, columns: table.columns, isEdited });
  const reason = `row ${remote.id} has the same match value at the origin, and ${why}`;
  storeRefusal(
    tx,
    table,
    { rowId: id, kind: 'insert', reason, column: planned.match, words: null, hope, cells: [] },
    context.clock.nowMs(),
  );
  moveRows(tx, table.id, [id], { event: 'refused', at: stampFromMs(context.clock.nowMs()) });
  counts.refusedCount += 1;
  return true;
}

/** Whether an insert still has the match value that the origin was asked for. */
export function isAsAsked(
  { planned: { match } }: TablePush,
  asked: Met['asked'],
  { rowId, local }: Pick<RowChange, 'rowId' | 'local'>,
): boolean {
  return match !== null && local !== null && local.values[match] === asked.get(rowId);
}
