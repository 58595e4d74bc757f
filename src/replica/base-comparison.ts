/**
 * The comparison of a two-way table with its base, which is the truth about what a user edited. Triggers alone lose edits (`INSERT OR REPLACE`
 * deletes rows without a trigger, GUI tools rebuild tables without theirs). Rows that differ are marked in `_rowsync_rows`. `IS NOT` compares
 * exactly; one number in two spellings counts as different here, and capture/find-edits.ts settles it by value.
 */
import type { Connection, Tx } from './connection.ts';
import { readRowsById, type RowTarget } from './rows.ts';
import { onceFor } from '../base/memoize.ts';
import { ident, sql, type Sql } from '../base/sql.ts';
import { baseName, rowsDiffer } from './user-tables.ts';
import { addRowStates, forgetRowStatesBut } from './bookkeeping/row-states.ts';
import { queryAny, queryNumber, queryNumbers } from './query.ts';
import type { RowVersion } from '../reconcile/merge.ts';

/** The base table of a two-way table, as rows are read and written; kept, so that statements over it are made once per target. */
export const baseTarget = onceFor((target: RowTarget): RowTarget => ({ ...target, localName: baseName(target.id) }));

/** Base and local of rows, in the order of the ids; `bases` if they were read before. */
export function readVersions(
  from: Connection,
  target: RowTarget,
  ids: readonly number[],
  bases = readRowsById(from, baseTarget(target), ids),
): readonly RowVersion[] {
  const localById = new Map(readRowsById(from, target, ids).map((row) => [row.id, row]));
  const baseById = new Map(bases.map((row) => [row.id, row]));
  return ids.map((id) => ({ id, base: baseById.get(id) ?? null, local: localById.get(id) ?? null }));
}

function differs(target: RowTarget): Sql {
  return rowsDiffer(target.columns, sql`l`, sql`b`);
}

/** Those of the given rows that are in one of the two tables only, or differ. */
export function readDifferingIds(from: Connection, target: RowTarget, ids: readonly number[]): readonly number[] {
  return queryNumbers(
    from,
    sql`SELECT i.value FROM json_each(?) i
          LEFT JOIN ${ident(target.localName)} l ON l._id = i.value
          LEFT JOIN ${ident(baseName(target.id))} b ON b._id = i.value
          WHERE (l._id IS NULL) <> (b._id IS NULL) OR ${differs(target)}`,
    [JSON.stringify(ids)],
  );
}

/** Ids of all rows that differ from their base or are in only one of the two tables, ignoring marks; in order. */
export function readAllDifferingIds(from: Connection, target: RowTarget): readonly number[] {
  const local = ident(target.localName);
  const base = ident(baseName(target.id));
  return queryNumbers(
    from,
    sql`SELECT b._id AS id FROM ${base} b LEFT JOIN ${local} l ON l._id = b._id WHERE l._id IS NULL OR ${differs(target)}
          UNION ALL SELECT l._id FROM ${local} l WHERE NOT EXISTS (SELECT 1 FROM ${base} b WHERE b._id = l._id)
          ORDER BY id`,
    [],
  );
}

/** Marks every row that differs from its base and has no mark yet; returns how many were found. */
export function markDiffering(tx: Tx, target: RowTarget, at: string): number {
  const local = ident(target.localName);
  const base = ident(baseName(target.id));
  const values = { tableId: target.id, at };
  // One pass over both tables finds edits and deletes; rows that were inserted here have negative ids.
  const editedCount = addRowStates(
    tx,
    sql`SELECT @tableId, b._id, 'edited', unixepoch(@at) FROM ${base} b LEFT JOIN ${local} l ON l._id = b._id
        WHERE l._id IS NULL OR ${differs(target)}`,
    values,
  );
  const inserted = sql`SELECT @tableId, l._id, 'edited', unixepoch(@at) FROM ${local} l WHERE l._id < 0`;
  const foundCount = editedCount + addRowStates(tx, inserted, values);
  if (!hasForeignRows(tx, target)) return foundCount;
  const foreign = sql`SELECT @tableId, l._id, 'edited', unixepoch(@at) FROM ${local} l
      WHERE l._id >= 0 AND NOT EXISTS (SELECT 1 FROM ${base} b WHERE b._id = l._id)`;
  return foundCount + addRowStates(tx, foreign, values);
}

/** Whether rows are here under ids that the origin never gave: by counting, as the rows must be those of the base without the marked deletes. */
function hasForeignRows(from: Connection, target: RowTarget): boolean {
  const local = ident(target.localName);
  const base = ident(baseName(target.id));
  const isOther = sql`SELECT (SELECT count(*) FROM ${local}) - (SELECT count(*) FROM ${local} WHERE _id < 0)
      <> (SELECT count(*) FROM ${base}) - (
        SELECT count(*) FROM _rowsync_rows r JOIN ${base} b ON b._id = r.row_id
        WHERE r.table_id = ? AND NOT EXISTS (SELECT 1 FROM ${local} l WHERE l._id = r.row_id))`;
  return queryNumber(from, isOther, [target.id]) === 1;
}

/** Drops the marks in the given states from rows that are equal to their base, or are in neither table. */
export function dropEqualMarks(tx: Tx, target: RowTarget, states: readonly string[]): void {
  const unlike = sql`
    SELECT r.row_id FROM _rowsync_rows r
    LEFT JOIN ${ident(target.localName)} l ON l._id = r.row_id
    LEFT JOIN ${ident(baseName(target.id))} b ON b._id = r.row_id
    WHERE r.table_id = @tableId AND ((l._id IS NULL) <> (b._id IS NULL) OR ${differs(target)})`;
  forgetRowStatesBut(tx, target.id, states, unlike);
}

/** Ids of rows that are here without being known to the origin although their id is not one of ours. */
export function readForeignIds(from: Connection, target: RowTarget): readonly number[] {
  return queryNumbers(
    from,
    sql`SELECT r.row_id FROM _rowsync_rows r JOIN ${ident(target.localName)} l ON l._id = r.row_id
          LEFT JOIN ${ident(baseName(target.id))} b ON b._id = r.row_id
          WHERE r.table_id = ? AND b._id IS NULL AND (r.row_id >= 0 OR r.row_id = -1)`,
    [target.id],
  );
}

/** Those of the origin's rows under whose ids another program put rows that the origin did not know. */
export function readStrayIds(
  from: Connection,
  target: RowTarget,
  rows: readonly { readonly id: number }[],
): readonly number[] {
  if (rows.length === 0) return [];
  const text = sql`SELECT l._id FROM json_each(?) i JOIN ${ident(target.localName)} l ON l._id = i.value
      LEFT JOIN ${ident(baseName(target.id))} b ON b._id = l._id WHERE b._id IS NULL`;
  return queryNumbers(from, text, [JSON.stringify(rows.map(({ id }) => id))]);
}

/** Whether triggers see every edit of a table. Not where a unique index lets REPLACE remove a neighbour unseen. */
export function areMarksReliable(from: Connection, target: RowTarget): boolean {
  return !queryAny(from, sql`SELECT 1 FROM pragma_index_list(?) WHERE "unique" = 1 LIMIT 1`, [target.localName]);
}
