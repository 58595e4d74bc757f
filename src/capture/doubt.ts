/**
 * Creates of a replica that is an older copy (replica/copies.ts): what waits to be created in it may have been created since the copy was
 * made, and only the match value of a row can tell. Rows without one are in doubt, as after an answer that got lost, and
 * wait for a person (I4). Input: the table, with true marks. Output: marks and reasons.
 */
import type { Tx } from '../replica/database.ts';
import { readCreates } from '../replica/push-rows.ts';
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
  const match = table.columns.find(({ name }) => name === table.matchColumn) ?? null;
  const ids = readCreates(tx, table, { match: match?.localName ?? null }).filter(
    (id) => id >= from || renumbered.includes(id),
  );
  for (const rowId of ids) {
    const refusal = {
      rowId,
      kind: 'insert',
      reason: REASON,
      column: null,
      words: null,
      hope: 'never',
      cells: [],
    } as const;
    storeRefusal(tx, table, refusal, Date.parse(at));
  }
  moveRows(tx, table.id, ids, { event: 'restored', at });
}
