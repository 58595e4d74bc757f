/**
 * Creates of a replica that is an older copy (replica/copies.ts): what waits to be created in it may have been created since the copy was
 * made, and only the match value of a row can tell. Rows without one are in doubt, as after an answer that got lost, and
 * wait for a person (I4). The same goes for rows that become creates later, since the origin deleted what was edited, or on its way, in the
 * copy, or since a conflict of the copy is decided once more. Input: the table, with true marks. Output: marks and reasons.
 */
import type { Connection, Tx } from '../replica/connection.ts';
import { readCreates } from '../replica/push-rows.ts';
import { queryNumbers } from '../replica/query.ts';
import { readRowsById } from '../replica/rows.ts';
import { sql } from '../replica/sql.ts';
import { moveRows } from './marks.ts';
import { storeRefusal } from './refusals.ts';
import type { TwoWayTable } from './table.ts';

const REASON =
  'this replica is an older copy that was put back; whether the row was created at the origin since then is not known; look ' +
  'there, then retry or discard it';

/** Puts creates in doubt that stood here when the copy was noticed: those from an id upwards, and the given ones. */
export function doubtCreates(
  tx: Tx,
  table: TwoWayTable,
  { from, renumbered, at }: { readonly from: number; readonly renumbered: readonly number[]; readonly at: string },
): void {
  const ids = unnamedCreates(tx, table).filter((id) => id >= from || renumbered.includes(id));
  storeDoubts(tx, table, ids, at);
  tx.prepare(sql`UPDATE _rowsync_rows SET older = 1 WHERE table_id = ?`).run(table.id);
}

/** Puts a row in doubt that has become a create by what stood in an older copy, if nothing identifies it. */
export function doubtLateCreate(tx: Tx, table: TwoWayTable, rowId: number, at: string): void {
  if (unnamedCreates(tx, table).includes(rowId)) storeDoubts(tx, table, [rowId], at);
}

/** Whether the mark of a row stood in an older copy that was put back. */
export function isFromOlderCopy(from: Connection, tableId: number, rowId: number): boolean {
  const text = sql`SELECT older FROM _rowsync_rows WHERE table_id = ? AND row_id = ?`;
  return queryNumbers(from, text, [tableId, rowId])[0] === 1;
}

function unnamedCreates(tx: Tx, table: TwoWayTable): readonly number[] {
  const match = table.columns.find(({ name }) => name === table.matchColumn) ?? null;
  return readCreates(tx, table, { match: match?.localName ?? null });
}

/** What was sent of a row is not known, but that it may be what stands here: deleted, it stands nowhere else. */
function storeDoubts(tx: Tx, table: TwoWayTable, ids: readonly number[], at: string): void {
  for (const { id, values } of readRowsById(tx, table, ids)) {
    const refusal = {
      rowId: id,
      kind: 'insert',
      reason: REASON,
      column: null,
      words: null,
      hope: 'never',
      cells: values.flatMap((value, column) => (value === null ? [] : [{ column, value }])),
    } as const;
    storeRefusal(tx, table, refusal, Date.parse(at));
  }
  moveRows(tx, table.id, ids, { event: 'restored', at });
}
