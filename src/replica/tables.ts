/**
 * The shape of the user tables: creating them, following the origin's schema, and the triggers that refuse edits of a
 * mirror. What must be done is decided in reconcile/schema.ts; here it is done and written to the ledger.
 *
 *   _id     INTEGER PRIMARY KEY   the origin's `@row.id`
 *   _allow  TEXT                  the origin's `@row.allow`
 *   then the origin's columns, STRICT, in the order in which they appeared
 */
import { columnType, isWritable, type ColumnDescriptor, type ColumnType } from '../wire/schema.ts';
import type { Connection, Tx } from './database.ts';
import { forgetDescriptor } from './ledger.ts';
import { ident, joinSql, literal, sql, type Sql } from './sql.ts';

/** How SQLite keeps the values of a column. */
export type StoredAs = 'TEXT' | 'INTEGER' | 'ANY';

/** How values of a type are kept (design: never rounded, so numbers are ANY). */
function storedAs(type: ColumnType): StoredAs {
  if (type === 'Checkbox') return 'INTEGER';
  return type === 'Numeric' || type === 'Duration' ? 'ANY' : 'TEXT';
}

/** A column of a user table, as the ledger knows it. */
export interface LedgerColumn {
  /** Ledger row; tells a column set aside from the one that replaced it. */
  readonly seq: number;
  readonly id: number;
  readonly name: string;
  readonly localName: string;
  readonly type: ColumnType;
  readonly state: 'live' | 'removed' | 'aside';
}

/** The columns of a table in the order in which they stand in it; also those that are no longer described. */
export function readColumns(from: Connection, tableId: number): readonly LedgerColumn[] {
  return from
    .prepare(
      sql`SELECT seq, id, name, local_name AS localName, value_form AS type, state FROM _rowsync_columns
          WHERE table_id = ? ORDER BY position, seq`,
    )
    .all(tableId) as LedgerColumn[]; // columns and types are ours
}

/** Names of all tables, views and indexes in the file; a new table must avoid them. */
export function readTakenNames(from: Connection): readonly string[] {
  return from
    .prepare(sql`SELECT name FROM sqlite_schema`)
    .pluck()
    .all() as string[]; // name is TEXT
}

/** Whether the user table stands in the file; another client may have dropped it. */
export function hasUserTable(from: Connection, localName: string): boolean {
  return from.prepare(sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`).get(localName) !== undefined;
}

/** Names of the columns that really stand in a user table, in order. */
export function readPhysicalColumns(from: Connection, localName: string): readonly string[] {
  return from
    .prepare(sql`SELECT name FROM pragma_table_info(?)`)
    .pluck()
    .all(localName) as string[]; // name is TEXT
}

/** Creates an empty user table, in the ledger as loading. */
export function createTable(tx: Tx, table: { id: number; name: string; alias: string; localName: string }): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_tables (id, name, alias, local_name, state) VALUES (?, ?, ?, ?, 'loading')
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, alias = excluded.alias, local_name = excluded.local_name,
          state = 'loading', row_count = 0, sweep_open = 0, end_proven = 0`,
  ).run(table.id, table.name, table.alias, table.localName);
  forgetParts(tx, table.id);
  tx.prepare(sql`CREATE TABLE ${ident(table.localName)} (_id INTEGER PRIMARY KEY, _allow TEXT) STRICT`).run();
}

/** Follows a table's name and alias; the file's table is renamed where the local name differs. */
export function renameTable(
  tx: Tx,
  table: { id: number; name: string; alias: string; localName: string },
  from: string,
): void {
  if (from !== table.localName) {
    dropGuards(tx, table.id);
    // Through a name in between, since SQLite takes two names that differ only in case for one.
    const between = ident(`_rowsync_renaming_${table.id}`);
    tx.prepare(sql`ALTER TABLE ${ident(from)} RENAME TO ${between}`).run();
    tx.prepare(sql`ALTER TABLE ${between} RENAME TO ${ident(table.localName)}`).run();
  }
  tx.prepare(sql`UPDATE _rowsync_tables SET name = ?, alias = ?, local_name = ? WHERE id = ?`).run(
    table.name,
    table.alias,
    table.localName,
    table.id,
  );
}

/** Renames columns of a user table; several at once, because two may swap their names. */
export function renameColumns(
  tx: Tx,
  table: { id: number; localName: string },
  renames: readonly { readonly column: LedgerColumn; readonly localName: string }[],
): void {
  const rename = (from: string, to: string): void => {
    tx.prepare(sql`ALTER TABLE ${ident(table.localName)} RENAME COLUMN ${ident(from)} TO ${ident(to)}`).run();
  };
  const store = (seq: number, name: string): void => {
    tx.prepare(sql`UPDATE _rowsync_columns SET local_name = ? WHERE seq = ?`).run(name, seq);
  };
  for (const { column } of renames) {
    rename(column.localName, `_rowsync_renaming_${column.seq}`);
    store(column.seq, `_rowsync_renaming_${column.seq}`);
  }
  for (const { column, localName } of renames) {
    rename(`_rowsync_renaming_${column.seq}`, localName);
    store(column.seq, localName);
  }
}

/** Adds a described column, empty; the next sweep fills it. */
export function addColumn(
  tx: Tx,
  table: { id: number; localName: string },
  column: { descriptor: ColumnDescriptor; localName: string; position: number },
  at: string,
): void {
  const type = columnType(column.descriptor.type);
  const definition = sql`${ident(column.localName)} ${STORAGE_SQL[storedAs(type)]}`;
  tx.prepare(sql`ALTER TABLE ${ident(table.localName)} ADD COLUMN ${definition}`).run();
  tx.prepare(
    sql`INSERT INTO _rowsync_columns (table_id, id, name, alias, local_name, type, value_form, stored_as, kind, writable,
          width, options, position, state, since)
        VALUES (?, ?, '', '', ?, '', ?, ?, NULL, 0, NULL, '', 0, 'live', ?)`,
  ).run(table.id, column.descriptor.id, column.localName, type, storedAs(type), at);
  describeColumn(tx, table.id, column);
}

const STORAGE_SQL: Readonly<Record<StoredAs, Sql>> = { TEXT: sql`TEXT`, INTEGER: sql`INTEGER`, ANY: sql`ANY` };

/** Stores what describe says of a live column now. */
export function describeColumn(
  tx: Tx,
  tableId: number,
  column: { descriptor: ColumnDescriptor; localName: string; position: number },
): void {
  const { id, name, alias, type, kind, width, dataOptions } = column.descriptor;
  tx.prepare(
    sql`UPDATE _rowsync_columns SET name = @name, alias = @alias, type = @type, value_form = @form, kind = @kind,
          writable = @writable, width = @width, options = @options, position = @position
        WHERE table_id = @tableId AND id = @id AND state = 'live' AND local_name = @localName
          AND (name, alias, type, value_form, kind, writable, width, options, position)
            IS NOT (@name, @alias, @type, @form, @kind, @writable, @width, @options, @position)`,
  ).run({
    tableId,
    id,
    localName: column.localName,
    name,
    alias,
    type,
    form: columnType(type),
    kind,
    writable: isWritable(column.descriptor) ? 1 : 0,
    width,
    options: dataOptions.join(', '),
    position: column.position,
  });
}

/** Changes the state of a column, for example to removed. */
export function storeColumnState(tx: Tx, seq: number, state: LedgerColumn['state'], at: string): void {
  tx.prepare(sql`UPDATE _rowsync_columns SET state = ?, since = ? WHERE seq = ?`).run(state, at, seq);
}

/** Puts back a column that another client dropped from the file; the next sweep fills it. */
export function restoreColumn(tx: Tx, localTable: string, column: Pick<LedgerColumn, 'localName' | 'type'>): void {
  const definition = sql`${ident(column.localName)} ${STORAGE_SQL[storedAs(column.type)]}`;
  tx.prepare(sql`ALTER TABLE ${ident(localTable)} ADD COLUMN ${definition}`).run();
}

const GUARDED = ['INSERT', 'UPDATE', 'DELETE'] as const;

function guardName(tableId: number, event: (typeof GUARDED)[number]): string {
  return `_rowsync_guard_${event.toLowerCase()}_${tableId}`;
}

/** AFTER, because it costs our own writes half of what BEFORE does; an abort undoes the whole statement either way. */
function guardSql(table: { id: number; localName: string }, event: (typeof GUARDED)[number]): Sql {
  const sentence = `${table.localName} is a read-only mirror: change it at the origin, and the next sync brings it here`;
  const when = { INSERT: sql`INSERT`, UPDATE: sql`UPDATE`, DELETE: sql`DELETE` }[event];
  return sql`CREATE TRIGGER ${ident(guardName(table.id, event))} AFTER ${when} ON ${ident(table.localName)}
    WHEN NOT EXISTS (SELECT 1 FROM _rowsync_writer) BEGIN SELECT RAISE(ABORT, ${literal(sentence)}); END`;
}

/** Makes sure that the triggers which refuse edits stand as they should; returns whether one had to be made again. */
export function ensureGuards(tx: Tx, table: { id: number; localName: string }): boolean {
  let changed = false;
  for (const event of GUARDED) {
    const wanted = guardSql(table, event);
    const found = tx
      .prepare(sql`SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?`)
      .pluck()
      .get(guardName(table.id, event));
    if (found === wanted) continue;
    if (found !== undefined) tx.prepare(sql`DROP TRIGGER ${ident(guardName(table.id, event))}`).run();
    tx.prepare(wanted).run();
    changed = true;
  }
  return changed;
}

function dropGuards(tx: Tx, tableId: number): void {
  for (const event of GUARDED) tx.prepare(sql`DROP TRIGGER IF EXISTS ${ident(guardName(tableId, event))}`).run();
}

/** Drops the columns and tables that the origin no longer describes; returns their names as `table` or `table.column`. */
export function pruneSchema(tx: Tx): readonly string[] {
  const dropped: string[] = [];
  const gone = tx.prepare(sql`SELECT id, local_name AS localName FROM _rowsync_tables WHERE state = 'gone'`).all();
  for (const { id, localName } of gone as { id: number; localName: string }[]) {
    // columns and types are ours
    tx.prepare(sql`DROP TABLE IF EXISTS ${ident(localName)}`).run();
    forgetParts(tx, id);
    tx.prepare(sql`DELETE FROM _rowsync_tables WHERE id = ?`).run(id);
    forgetDescriptor(tx, id);
    dropped.push(localName);
  }
  const columns = tx
    .prepare(
      sql`SELECT c.seq, c.local_name AS localName, t.local_name AS localTable FROM _rowsync_columns c
          JOIN _rowsync_tables t ON t.id = c.table_id WHERE c.state <> 'live'`,
    )
    .all() as { seq: number; localName: string; localTable: string }[]; // columns and types are ours
  for (const { seq, localName, localTable } of columns) {
    tx.prepare(sql`ALTER TABLE ${ident(localTable)} DROP COLUMN ${ident(localName)}`).run();
    tx.prepare(sql`DELETE FROM _rowsync_columns WHERE seq = ?`).run(seq);
    dropped.push(`${localTable}.${localName}`);
  }
  return dropped;
}

/** Forgets everything about a table but its ledger row and the evidence of deleted rows. */
function forgetParts(tx: Tx, tableId: number): void {
  const clear = [
    sql`DELETE FROM _rowsync_columns WHERE table_id = ?`,
    sql`DELETE FROM _rowsync_pages WHERE table_id = ?`,
    sql`DELETE FROM _rowsync_page_rows WHERE table_id = ?`,
    sql`DELETE FROM _rowsync_suspects WHERE table_id = ?`,
    sql`DELETE FROM _rowsync_unreadable WHERE table_id = ?`,
  ];
  for (const statement of clear) tx.prepare(statement).run(tableId);
}

/** The columns of a user table that hold the origin's values, quoted, in the order of `columns`. */
export function columnList(columns: readonly { readonly localName: string }[]): Sql {
  return joinSql([sql`_id`, sql`_allow`, ...columns.map(({ localName }) => ident(localName))]);
}
