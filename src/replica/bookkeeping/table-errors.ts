/**
 * Errors and guards that stop pulls, deletes or pushes of a table, and how many rows a person allowed (see tables.ts).
 */
import { RowsyncError } from '../../base/errors.ts';
import { ident, sql, type Sql } from '../../base/sql.ts';
import type { Complaint } from '../../reconcile/account/facts.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAll } from '../query.ts';

/** The parameters that store an error, or null for none. */
export function complaintParameters(problem: Complaint | null): Readonly<Record<keyof Complaint, string | null>> {
  return { code: problem?.code ?? null, message: problem?.message ?? null, hint: problem?.hint ?? null };
}

/** Stores the error that stopped the last pull of a table (`problem`), or its last push; null clears it. */
export function storeProblem(tx: Tx, tableId: number, of: 'problem' | 'push', problem: Complaint | null): void {
  const column = (part: keyof Complaint): Sql => ident(`${of}_${part}`);
  tx.prepare(
    sql`UPDATE _rowsync_tables SET ${column('code')} = @code, ${column('message')} = @message, ${column('hint')} = @hint
        WHERE id = @tableId AND (${column('code')}, ${column('message')}, ${column('hint')}) IS NOT (@code, @message, @hint)`,
  ).run({ tableId, ...complaintParameters(problem) });
}

/** Why the last pull kept edits that the caller may not push (`guard.pending`); null if it did not. */
export function readPendingHold(from: Connection, tableId: number): RowsyncError | null {
  const text = sql`SELECT problem_message AS message, problem_hint AS hint FROM _rowsync_tables
      WHERE id = ? AND problem_code = 'guard.pending'`;
  const [held] = queryAll(from, text, [tableId]) as { message: string; hint: string }[];
  return held === undefined ? null : new RowsyncError('needsPerson', 'guard.pending', held);
}

/**
 * Once a table has no edits left, clears the hold of its push, its confirmation, and the mark that its edits come from
 * an older copy. A hold for vanished columns stays: it concerns the table, not its edits.
 */
export function endHolds(tx: Tx, tableId: number): void {
  const edits = sql`SELECT state FROM _rowsync_rows WHERE table_id = @tableId`;
  const areAllGone = sql`NOT EXISTS (${edits} AND state IN ('edited', 'sending'))`;
  tx.prepare(
    sql`UPDATE _rowsync_tables SET push_code = NULL, push_message = NULL, push_hint = NULL
        WHERE id = @tableId AND push_code GLOB 'guard.*' AND push_code <> 'guard.columns' AND ${areAllGone}`,
  ).run({ tableId });
  // Another error may have taken the place of the hold meanwhile.
  const text = sql`UPDATE _rowsync_tables SET push_consent = NULL WHERE id = @tableId AND push_consent IS NOT NULL AND ${areAllGone}`;
  tx.prepare(text).run({ tableId });
  tx.prepare(
    sql`UPDATE _rowsync_tables SET older_copy = NULL
        WHERE id = @tableId AND older_copy = 'edits' AND NOT EXISTS (${edits} AND state <> 'inDoubt')`,
  ).run({ tableId });
}

/** Stores why a table waits for a person, keeping the time of the first stop. Null lets it continue. */
export function storeHold(tx: Tx, tableId: number, hold: Complaint | null, at: string): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET held_code = @code, held_message = @message, held_hint = @hint,
          held_at = CASE WHEN @code IS NULL THEN NULL ELSE coalesce(held_at, @at) END WHERE id = @tableId`,
  ).run({ tableId, ...complaintParameters(hold), at });
}

/** What a consent is for: deletes and schema changes of a pull, or the edits of a push. */
export type ConfirmationKind = 'pull' | 'push';

/** Subtracts rows about to be sent from a consent: later edits were not shown. One of 0 rows is still a consent. */
export function spendPushConfirmation(tx: Tx, tableId: number, rowCount: number): void {
  const text = sql`UPDATE _rowsync_tables SET push_consent = max(0, push_consent - ?) WHERE id = ?`;
  tx.prepare(text).run(BigInt(rowCount), tableId);
}
