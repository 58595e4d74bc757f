/**
 * What the next capture of a two-way table has to do beyond following the triggers. Columns of `_rowsync_tables` (tables.ts).
 */
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import { readPart } from './tables.ts';
import { withFlags } from '../query.ts';

/** What the next capture of a table has to do. */
export interface CaptureState {
  /** Marks of edited rows may miss some. */
  readonly compareDue: boolean;
  /** What of an older copy that was put back is still to be doubted: its creates, or only its other edits. Null for no such copy. */
  readonly olderCopy: 'creates' | 'edits' | null;
  /** The last id that was given here when the copy was noticed: later rows are not of the copy. */
  readonly lastIdOfCopy: number;
}

/** What the next capture of a table has to do; it must exist. */
export function readCaptureState(from: Connection, tableId: number): CaptureState {
  const columns = sql`compare_due AS compareDue, older_copy AS olderCopy, coalesce(doubt_creates_from, 0) AS lastIdOfCopy`;
  return withFlags(readPart(from, tableId, columns), 'compareDue') as CaptureState; // as selected
}

/** Lets the next capture of every two-way table compare all rows: edits may have gone unseen. */
export function storeAllCompareDue(to: Connection): void {
  to.prepare(sql`UPDATE _rowsync_tables SET compare_due = 1 WHERE push = 'on'`).run();
}

/** Notes that the creates of an older copy are in doubt; its other edits wait while there are any. */
export function storeCreatesDoubted(tx: Tx, tableId: number): void {
  tx.prepare(
    sql`UPDATE _rowsync_tables SET older_copy = iif(EXISTS (
          SELECT 1 FROM _rowsync_rows WHERE table_id = @id AND state <> 'inDoubt'), 'edits', NULL) WHERE id = @id`,
  ).run({ id: tableId });
}
