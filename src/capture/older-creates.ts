/**
 * Creates in an older copy of the replica (older-copy.ts): the origin may already have them, and only a match value can show that. Rows without one
 * are in doubt, as after a lost answer, and wait for a person (I4).
 */
import { decideMoved } from '../reconcile/outcome.ts';
import type { Tx } from '../replica/connection.ts';
import { queryNumbers } from '../replica/query.ts';
import { ident, sql } from '../base/sql.ts';
import type { TwoWayTable } from './table.ts';
import { apply, readFacts } from './writer/apply.ts';

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
  const outcomes = readFacts(tx, table, ids).map((facts) => {
    const cells = (facts.local?.values ?? []).flatMap((value, column) => (value === null ? [] : [{ column, value }]));
    // Once the row is deleted here, this is its only record.
    const doubt = { kind: 'insert', reason: REASON, column: null, words: null, hope: 'never', cells } as const;
    return decideMoved(facts, 'restored', doubt);
  });
  apply(tx, table, { outcomes, nowMs: Date.parse(at) });
}
