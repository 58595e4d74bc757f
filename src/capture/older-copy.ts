/**
 * Edits of an older copy of the replica that was put back (replica/copies.ts): the origin may already have them, and later ones. Creates without a
 * match value become in doubt at the first capture (older-creates.ts). All other edits of their table wait until a person lets them go, or until none
 * is left. Input: the table, with true marks. Output: `doubt_creates_from` in the ledger, and why a push is held.
 */
import { RowsyncError } from '../base/errors.ts';
import { plural, shellWord } from '../base/text.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import type { Replica } from '../replica/database.ts';
import { forgetOlderCopy, readCaptureState, storeCreatesDoubted } from '../replica/bookkeeping/captures.ts';
import { doubtCreates } from './older-creates.ts';
import type { TwoWayTable } from './table.ts';

/** Puts creates of a copy in doubt, also those that just got other ids, and forgets the copy once none of its edits is left. */
export function captureOlderCopy(tx: Tx, table: TwoWayTable, at: string, renumbered: readonly number[] = []): void {
  const { doubtCreatesFrom } = readCaptureState(tx, table.id);
  if (doubtCreatesFrom === null) return;
  if (doubtCreatesFrom < 0) doubtCreates(tx, table, { from: doubtCreatesFrom, renumbered, at });
  storeCreatesDoubted(tx, table.id);
}

/** Why so many rows of a table may not be pushed; null if they may. */
export function judgeOlderCopy(
  from: Connection,
  { id, localName }: TwoWayTable,
  rowCount: number,
): RowsyncError | null {
  if (readCaptureState(from, id).doubtCreatesFrom === null) return null;
  const name = shellWord(localName);
  return new RowsyncError('needsPerson', 'guard.olderCopy', {
    message: `${localName}: ${plural(rowCount, 'edited row')} of an older copy that was put back may be outdated; nothing was sent`,
    hint: `Look at rowsync plan ${name}. If they are meant, run rowsync push ${name} --confirm; if not, rowsync discard ${name} --all puts the rows back.`,
  });
}

/** Lets the edits of a copy go, as a person agreed. */
export async function letOlderCopyGo(replica: Replica, { id }: TwoWayTable): Promise<void> {
  if (readCaptureState(replica, id).doubtCreatesFrom === null) return;
  await replica.write('Letting edits of an older copy go', (tx) => {
    forgetOlderCopy(tx, id);
  });
}
