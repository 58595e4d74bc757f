/**
 * Creates in an older copy of the replica (older-copy.ts): the origin may already have them, and only a match value can show that. Rows without one
 * are in doubt, as after a lost answer, and wait for a person (I4).
 */
import type { Tx } from '../replica/connection.ts';
import { queryNumbers } from '../replica/query.ts';
import { readRowsById } from '../replica/rows.ts';
import { ident, sql } from '../base/sql.ts';
import { moveRows } from './marks.ts';
import { storeRefusal } from './refusals.ts';
import type { TwoWayTable } from './table.ts';

const REASON =
  'this replica is an older copy that was put back; whether the row was created at the origin since then is not known; look ' +
  'there, then retry or discard it';

/** Puts new rows without a match value in doubt: those from an id upwards, and the given ones. */
export function doubtCreates(
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
  for (const { id: rowId, values } of readRowsById(tx, table, ids)) {
    const cells = values.flatMap((value, column) => (value === null ? [] : [{ column, value }]));
    // The row was deleted here, so this is its only record.
    const doubt = { rowId, kind: 'insert', reason: REASON, column: null, words: null, hope: 'never', cells } as const;
    storeRefusal(tx, table, doubt, Date.parse(at));
  }
  moveRows(tx, table.id, ids, { event: 'restored', at });
}
