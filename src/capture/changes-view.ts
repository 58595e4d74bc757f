/**
 * The public view `sync_changes`: waiting edits, cell by cell, in every two-way table. It reads marks, and compares
 * each marked row with its base, so a row that was edited back does not appear. It is recreated when a two-way table
 * appears, disappears or changes its shape. While shapes change it is empty, because SQLite checks views then.
 */
import type { Connection, Tx } from '../replica/connection.ts';
import { NO_CHANGES_VIEW } from '../replica/bookkeeping/row-states.ts';
import { oncePerSchema } from '../replica/schema-objects.ts';
import { ident, joinSql, literal, sql, unionAll, type Sql } from '../base/sql.ts';
import { baseName, isChangesView, replaceChangesView } from '../replica/user-tables.ts';
import { readTwoWayTables, type TwoWayTable } from './two-way-table.ts';

export function ensureChangesView(tx: Tx): void {
  replaceChangesView(tx, wantedView(tx));
}

/** Whether the view covers the two-way tables as they were when the schema was changed last. */
export const hasChangesView = oncePerSchema((from) => isChangesView(from, wantedView(from)));

function wantedView(from: Connection): Sql {
  const tables = readTwoWayTables(from);
  return tables.length === 0 ? NO_CHANGES_VIEW : changesView(tables);
}

export function changesView(tables: readonly TwoWayTable[]): Sql {
  return sql`CREATE VIEW sync_changes AS ${unionAll(tables.map(changesOf))}`;
}

/** Columns in a block: SQLite tries the branches of a CASE in turn, so without blocks a wide row costs their square. */
const BLOCK_COLUMNS = 32;

/** One line per changed cell; a line without a column means a row that is inserted or deleted as a whole. */
function changesOf(table: TwoWayTable): Sql {
  const names = table.columns.map(({ localName }) => localName);
  const cells = joinSql([sql`(-1, NULL)`, ...names.map((name, index) => sql`(${index}, ${literal(name)})`)]);
  const valueOf = (alias: Sql): Sql => {
    const values = names.map((name) => sql`${alias}.${ident(name)}`);
    const blocks = Array.from({ length: Math.ceil(values.length / BLOCK_COLUMNS) }, (_, index) =>
      valueAt(sql`c.column1 % ${BLOCK_COLUMNS}`, values.slice(index * BLOCK_COLUMNS, (index + 1) * BLOCK_COLUMNS)),
    );
    return valueAt(sql`c.column1 / ${BLOCK_COLUMNS}`, blocks);
  };
  return sql`
  SELECT "table", row_id, kind, "column", base, local, state, since FROM (
    SELECT ${literal(table.localName)} AS "table", r.row_id,
           CASE WHEN b._id IS NULL THEN 'insert' WHEN l._id IS NULL THEN 'delete' ELSE 'update' END AS kind,
           c.column2 AS "column", ${valueOf(sql`b`)} AS base, ${valueOf(sql`l`)} AS local, r.state,
           strftime('%Y-%m-%dT%H:%M:%SZ', r.since, 'unixepoch') AS since
    FROM _rowsync_rows r
    LEFT JOIN ${ident(table.localName)} l ON l._id = r.row_id
    LEFT JOIN ${ident(baseName(table.id))} b ON b._id = r.row_id
    CROSS JOIN (VALUES ${cells}) c
    WHERE r.table_id = ${table.id} AND (l._id IS NOT NULL OR b._id IS NOT NULL))
  WHERE CASE kind WHEN 'update' THEN base IS NOT local WHEN 'insert' THEN "column" IS NULL OR local IS NOT NULL
        ELSE "column" IS NULL END`;
}

/** The value at an index, NULL at -1. */
function valueAt(index: Sql, values: readonly Sql[]): Sql {
  const whens = values.reduce<Sql>(
    (text, value, at) => sql`${text} WHEN ${at} THEN ${value}`,
    sql`CASE ${index} WHEN -1 THEN NULL`,
  );
  return sql`${whens} END`;
}
