/**
 * The comparison of a two-way table with its base, which is the truth about what a user edited. Triggers alone lose
 * edits (`INSERT OR REPLACE` deletes rows without a trigger, GUI tools rebuild tables without theirs). Rows that differ
 * are marked in `_rowsync_rows`. `IS NOT` compares exactly; one number in two spellings counts as different here, and
 * capture/find-edits.ts settles it by value.
 */
import type { Connection, Tx } from './connection.ts';
import { readRowsById, valueFromStored, type RowTarget } from './rows.ts';
import { onceFor } from '../base/memoize.ts';
import { ident, joinSql, sql, type Sql } from '../base/sql.ts';
import { baseName, rowsDiffer } from './user-tables.ts';
import { addRowStates, forgetRowStatesBut } from './bookkeeping/row-states.ts';
import { queryAny, queryNumbers, queryRows } from './query.ts';
import type { RowVersion } from '../reconcile/merge.ts';
import type { BatchRow } from '../reconcile/push-settle.ts';

/** The base of a two-way table as a target; kept, so that statements over it are made once for each table. */
export const baseTarget = onceFor((target: RowTarget): RowTarget => ({ ...target, localName: baseName(target.id) }));

/** Base and local of rows, in the order of the ids; `bases` if they were read before. */
export function readVersions(
  from: Connection,
  target: RowTarget,
  ids: readonly number[],
  bases = readRowsById(from, baseTarget(target), ids),
): readonly RowVersion[] {
  const locals = readRowsById(from, target, ids);
  return ids.map((id) => ({ id, base: bases.get(id) ?? null, local: locals.get(id) ?? null }));
}

/** SQLite's bound on the columns of a SELECT. */
const RESULT_COLUMNS_MAX = 2000;

/**
 * Ids of the rows that hold what was sent of them, and are like their base otherwise; and the indexes of the columns
 * that were sent. None where so many columns were sent that one SELECT cannot compare them.
 */
export function readAsSent(
  from: Connection,
  target: RowTarget,
  rows: readonly Pick<BatchRow, 'id' | 'cells'>[],
): { readonly ids: readonly number[]; readonly columns: ReadonlySet<number> } {
  const cellsById = new Map(rows.map(({ id, cells }) => [id, cells]));
  const sent = new Set(rows.flatMap(({ cells }) => cells.map(({ column }) => column)));
  if (2 * sent.size + 1 > RESULT_COLUMNS_MAX) return { ids: [], columns: sent };
  const columns = target.columns.map((column, index) => ({ ...column, index })).filter(({ index }) => sent.has(index));
  const others = target.columns.filter((_column, index) => !sent.has(index));
  const both = columns.flatMap(({ localName }) => [sql`l.${ident(localName)}`, sql`b.${ident(localName)}`]);
  const text = sql`SELECT ${joinSql([sql`l._id`, ...both])} FROM ${ident(target.localName)} l
      JOIN ${ident(baseName(target.id))} b ON b._id = l._id
      WHERE l._id IN (SELECT value FROM json_each(?)) AND NOT (${rowsDiffer(others, sql`l`, sql`b`)})`;
  const ids = queryRows(from, text, [JSON.stringify([...cellsById.keys()])]).flatMap((row) => {
    const id = Number(row[0]);
    const isAsSent = columns.every(({ type, index }, place) => {
      const [here = null, before = null] = [row[2 * place + 1], row[2 * place + 2]];
      const cell = cellsById.get(id)?.find(({ column }) => column === index);
      return cell === undefined ? here === before : valueFromStored(here, type) === cell.value;
    });
    return isAsSent ? [id] : [];
  });
  return { ids, columns: sent };
}

function differs(target: RowTarget): Sql {
  return rowsDiffer(target.columns, sql`l`, sql`b`);
}

/** Those of the given rows that are in one of the two tables only, or differ. */
export function readDifferingIds(from: Connection, target: RowTarget, ids: readonly number[]): readonly number[] {
  const text = sql`SELECT i.value FROM json_each(?) i
      LEFT JOIN ${ident(target.localName)} l ON l._id = i.value
      LEFT JOIN ${ident(baseName(target.id))} b ON b._id = i.value
      WHERE (l._id IS NULL) <> (b._id IS NULL) OR ${differs(target)}`;
  return queryNumbers(from, text, [JSON.stringify(ids)]);
}

/** Selects the ids of all rows that differ from their base or are in only one of the two tables. */
export function allDiffering(target: RowTarget): Sql {
  const local = ident(target.localName);
  const base = ident(baseName(target.id));
  return sql`SELECT b._id AS id FROM ${base} b LEFT JOIN ${local} l ON l._id = b._id WHERE l._id IS NULL OR ${differs(target)}
      UNION ALL SELECT l._id FROM ${local} l WHERE NOT EXISTS (SELECT 1 FROM ${base} b WHERE b._id = l._id)`;
}

/** Marks every row that differs from its base and has no mark yet; returns how many were found. */
export function markDiffering(tx: Tx, target: RowTarget, at: string): number {
  const text = sql`SELECT @tableId, id, 'edited', unixepoch(@at) FROM (${allDiffering(target)}) WHERE true`;
  return addRowStates(tx, text, { tableId: target.id, at });
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

/** Marked rows that are here without being known to the origin although their id is not one of ours. */
export function readForeignIds(from: Connection, target: RowTarget): readonly number[] {
  const marked = sql`SELECT row_id AS id FROM _rowsync_rows WHERE table_id = ? AND (row_id >= 0 OR row_id = -1)`;
  return queryNumbers(from, strays(target, marked), [target.id]);
}

/** Those of the ids under which another program put rows that the origin did not know. */
export function readStrayIds(from: Connection, target: RowTarget, ids: readonly number[]): readonly number[] {
  return queryNumbers(from, strays(target, sql`SELECT value AS id FROM json_each(?)`), [JSON.stringify(ids)]);
}

function strays(target: RowTarget, ids: Sql): Sql {
  return sql`SELECT l._id FROM (${ids}) i JOIN ${ident(target.localName)} l ON l._id = i.id
      LEFT JOIN ${ident(baseName(target.id))} b ON b._id = l._id WHERE b._id IS NULL`;
}

/** Whether triggers see every edit of a table. Not where a unique index lets REPLACE remove a neighbour unseen. */
export function areMarksReliable(from: Connection, target: RowTarget): boolean {
  return !queryAny(from, sql`SELECT 1 FROM pragma_index_list(?) WHERE "unique" = 1 LIMIT 1`, [target.localName]);
}
