/**
 * What keeps each table from being pulled, deleted from or pushed, and how many rows a person let pass. Columns of `_rowsync_tables` (tables.ts).
 */
import { ident, sql, type Sql } from '../../base/sql.ts';
import type { Complaint } from '../../reconcile/account/facts.ts';
import type { Tx } from '../connection.ts';

/** What is bound to store an error, or that there is none. */
export function complaintParameters(problem: Complaint | null): Readonly<Record<keyof Complaint, string | null>> {
  return { code: problem?.code ?? null, message: problem?.message ?? null, hint: problem?.hint ?? null };
}

/** Stores what kept the last pull of a table (`problem`), or its last push, from its end; null forgets it. */
export function storeProblem(tx: Tx, tableId: number, of: 'problem' | 'push', problem: Complaint | null): void {
  const column = (part: keyof Complaint): Sql => ident(`${of}_${part}`);
  tx.prepare(
    sql`UPDATE _rowsync_tables SET ${column('code')} = @code, ${column('message')} = @message, ${column('hint')} = @hint
        WHERE id = @tableId AND (${column('code')}, ${column('message')}, ${column('hint')}) IS NOT (@code, @message, @hint)`,
  ).run({ tableId, ...complaintParameters(problem) });
}

/**
 * Ends what holds the edits of a table, once none of them is left. That is the hold of its push, its confirmation, and the mark that they are of an
 * older copy. Vanished columns hold the table itself.
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

/** Stores why a table waits for a person; the time of the first such stop is kept. Null lets it continue. */
export function storeHold(tx: Tx, tableId: number, hold: Complaint | null, at: string): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET held_code = @code, held_message = @message, held_hint = @hint,
          held_at = CASE WHEN @code IS NULL THEN NULL ELSE coalesce(held_at, @at) END WHERE id = @tableId`,
  ).run({ tableId, ...complaintParameters(hold), at });
}

/** What waits for a consent: deletes and schemas of pulls, or edits on their way to the origin. */
export type ConfirmationKind = 'pull' | 'push';

/** Subtracts rows about to be sent from a consent: later edits were not shown to the person. One of no rows still counts as given. */
export function spendPushConfirmation(tx: Tx, tableId: number, rowCount: number): void {
  const text = sql`UPDATE _rowsync_tables SET push_consent = max(0, push_consent - ?) WHERE id = ? AND push_consent > 0`;
  tx.prepare(text).run(BigInt(rowCount), tableId);
}
