/**
 * Edits of an older copy of the replica that was put back (replica/older-copy.ts): the origin may already have them, and later ones. Only a match value can
 * show whether it has a create, so creates without one become in doubt at the first capture (I4). All other edits of their table wait until a person
 * lets them go, or until none is left.
 */
import { RowsyncError } from '../base/errors.ts';
import { ident, sql } from '../base/sql.ts';
import { plural, shellWord } from '../base/text.ts';
import { decideMoved } from '../reconcile/row-outcome.ts';
import type { Connection, Tx } from '../replica/connection.ts';
import type { Replica } from '../replica/database.ts';
import { queryNumbers } from '../replica/query.ts';
import type { TwoWayTable } from './two-way-table.ts';
import { applyOutcome, readRowFacts } from './writer/apply-outcome.ts';
import { storeFacts, storeCreatesDoubted, readTable } from '../replica/bookkeeping/tables.ts';

const REASON =
  'this replica is an older copy that was put back; whether the row was created at the origin since then is not known; look ' +
  'there, then retry or discard it';

/** Puts creates of a copy in doubt, also those that just got other ids, and forgets the copy once none of its edits is left. */
export function captureOlderCopy(tx: Tx, table: TwoWayTable, at: string, renumbered: readonly number[] = []): void {
  const { olderCopy, lastIdOfCopy: from } = readTable(tx, table.id);
  if (olderCopy === null) return;
  if (olderCopy === 'creates') doubtCreates(tx, table, { from, renumbered, at });
  storeCreatesDoubted(tx, table.id);
}

function doubtCreates(
  tx: Tx,
  table: TwoWayTable,
  { from, renumbered, at }: { readonly from: number; readonly renumbered: readonly number[]; readonly at: string },
): void {
  const match = table.columns.find(({ name }) => name === table.matchColumn);
  const isUnnamed = match === undefined ? sql`1` : sql`coalesce(l.${ident(match.localName)}, '') = ''`;
  const text = sql`SELECT r.row_id FROM _rowsync_rows r JOIN ${ident(table.localName)} l ON l._id = r.row_id
      WHERE r.table_id = ? AND (r.row_id BETWEEN ? AND -1 OR r.row_id IN (SELECT value FROM json_each(?)))
        AND r.state IN ('edited', 'refused') AND ${isUnnamed}`;
  const ids = queryNumbers(tx, text, [table.id, from, JSON.stringify(renumbered)]);
  const outcomes = readRowFacts(tx, table, ids).map((facts) => {
    const cells = (facts.local?.values ?? []).flatMap((value, column) => (value === null ? [] : [{ column, value }]));
    // Once the row is deleted here, this is its only record.
    const doubt = { kind: 'insert', reason: REASON, column: null, words: null, hope: 'never', cells } as const;
    return decideMoved(facts, 'restored', doubt);
  });
  applyOutcome(tx, table, { outcomes, nowMs: Date.parse(at) });
}

/** Why so many rows of a table may not be pushed; null if they may. */
export function judgeOlderCopy(
  from: Connection,
  { id, localName }: TwoWayTable,
  rowCount: number,
): RowsyncError | null {
  if (readTable(from, id).olderCopy === null) return null;
  const name = shellWord(localName);
  return new RowsyncError('needsPerson', 'guard.olderCopy', {
    message: `${localName}: an older copy was put back, whose edits may be outdated; nothing of ${plural(rowCount, 'edited row')} was sent`,
    hint: `rowsync plan ${name} lists them. If they are meant, run rowsync push ${name} --confirm; if not, rowsync discard ${name} --all puts the rows back.`,
  });
}

export async function letOlderCopyGo(replica: Replica, { id }: TwoWayTable): Promise<void> {
  if (readTable(replica, id).olderCopy === null) return;
  await replica.write('Letting edits of an older copy go', (tx) => {
    storeFacts(tx, id, { older_copy: null });
  });
}
