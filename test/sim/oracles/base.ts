/**
 * Reads the base of the table, or a mirror: its rows as the origin last confirmed them. Takes a connection (the replica
 * in a transaction, or another one); produces rows by the names of the simulation. Pure but for the question.
 */
import { ident, joinSql, sql } from '../../../src/base/sql.ts';
import type { LocalRow } from '../world/books.ts';
import { rowFromReplica, selectedColumns, type Ask, type Names } from '../world/names.ts';

/** The rows of the base, or of a mirror, by their ids; null while the table has none, or not all of the columns. */
export function readBase(ask: Ask, names: Names): ReadonlyMap<number, LocalRow> | null {
  const rows = names.isMirror ? rowsOfMirror(ask, names) : rowsOfBase(ask, names);
  return rows === null ? null : new Map(rows.map((row) => [Number(row[0]), rowFromReplica(row)]));
}

function rowsOfMirror(ask: Ask, names: Names): ReturnType<Ask> | null {
  const local = names.inReplica(ask);
  return local === null ? null : ask(sql`SELECT ${selectedColumns(local)} FROM ${local.T}`);
}

function rowsOfBase(ask: Ask, { tableId, columnIds }: Names): ReturnType<Ask> | null {
  if (ask(sql`SELECT 1 FROM sqlite_schema WHERE name = '_rowsync_base_${tableId}'`).length === 0) return null;
  const nameById = new Map(
    ask(sql`SELECT id, local_name FROM _rowsync_columns WHERE table_id = ${tableId} AND state <> 'aside'`).map(
      ([id, name]) => [Number(id), String(name)],
    ),
  );
  const columns = columnIds.flatMap((id) => nameById.get(id) ?? []);
  if (columns.length < columnIds.length) return null;
  return ask(sql`SELECT _id, ${joinSql(columns.map(ident))} FROM _rowsync_base_${tableId}`);
}
