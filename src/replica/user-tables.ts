/**
 * The shape of the user tables and of their base tables, which follow in step: creating them, and following the
 * origin's schema. What must be done is decided in reconcile/schema-plan.ts; here it is done and written to the
 * bookkeeping (bookkeeping/columns.ts).
 *
 *    _id     INTEGER PRIMARY KEY   the origin's `@row.id`
 *    _allow  TEXT                  the origin's `@row.allow`
 *    then the origin's columns in the order in which they appeared, and _color TEXT where rows have colors (rows.ts)
 */
import { RowsyncError } from '../base/errors.ts';
import { anyOf, foldIdent, ident, isOther, joinSql, sql, type Sql } from '../base/sql.ts';
import {
  changeColumns,
  type DescribedColumn,
  type ColumnRecord,
  readColumns,
  storeNewColumns,
  forgetColumnLine,
  storeColumnName,
} from './bookkeeping/columns.ts';
import { endHistory, keepNames, forgetKnownEdits } from './bookkeeping/history.ts';
import { NO_CHANGES_VIEW } from './bookkeeping/row-states.ts';
import { findTable, readTable, storeNewTable, type TableNames, storeFacts } from './bookkeeping/tables.ts';
import { endMoment, touchTable } from './bookkeeping/changed-rows.ts';
import type { Connection, Tx, WrittenTable } from './connection.ts';
import { changeTable, hasTable, isWrittenStrict, oncePerSchema, schemaWatch } from './schema-objects.ts';
import { dropTriggers, requireHarmlessTriggers } from './triggers.ts';
import { type StoredAs, TYPE_RULES } from '../wire/column-types.ts';
import { columnType } from '../wire/schema.ts';
import { queryAny, queryText, queryTexts } from './query.ts';

/** Name of the table that holds what the origin last confirmed of a two-way table. */
export function baseName(tableId: number): string {
  return `_rowsync_base_${tableId}`;
}

/** Whether a table has a base table, and so may be edited. */
export function hasBase(from: Connection, tableId: number): boolean {
  return hasTable(from, baseName(tableId));
}

/** Empties the view over two-way tables, which keeps SQLite from changing shapes. Views of others may read it. */
export function emptyChangesView(tx: Tx): void {
  replaceChangesView(tx, NO_CHANGES_VIEW);
}

export function isChangesView(from: Connection, wanted: Sql): boolean {
  const text = sql`SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = 'sync_changes'`;
  return queryText(from, text) === wanted.trim();
}

export function replaceChangesView(tx: Tx, wanted: Sql): void {
  if (isChangesView(tx, wanted)) return;
  tx.prepare(sql`DROP VIEW IF EXISTS sync_changes`).run();
  tx.prepare(wanted).run();
}

/** Drops our triggers and view that name columns of a table; who changes its shape makes them again at once. */
function dropDependents(tx: Tx, tableId: number): void {
  tx.history.flush();
  dropTriggers(tx, tableId);
  emptyChangesView(tx);
}

/** The user table and its base, if there is one: every change of shape changes both. */
function shapedTables(from: Connection, table: WrittenTable): readonly Sql[] {
  return [table.localName, ...(hasBase(from, table.id) ? [baseName(table.id)] : [])].map(ident);
}

/** Names of all tables, views and indexes in the file; a new table must avoid them. */
export function readTakenNames(from: Connection): readonly string[] {
  return queryTexts(from, sql`SELECT name FROM sqlite_schema`);
}

/**
 * Whether the file has a user table. Before its columns are known, it has none but ours, and no row that we did not
 * count. Any other table of that name is a client's.
 */
export function isMade(from: Connection, { id, localName }: WrittenTable): boolean {
  if (!hasTable(from, localName)) return false;
  if (readColumns(from, id).length > 0) return true;
  if (!readPhysicalColumns(from, localName).every((name) => OUR_COLUMNS.has(name))) return false;
  const isCounted = readTable(from, id).rowCount > 0 || hasBase(from, id);
  return isCounted || !queryAny(from, sql`SELECT 1 FROM ${ident(localName)} LIMIT 1`);
}

/** Names of the columns that really are in a user table, in order; also of those that SQLite computes. */
export function readPhysicalColumns(from: Connection, localName: string): readonly string[] {
  return queryTexts(from, sql`SELECT name FROM pragma_table_xinfo(?)`, [localName]);
}

/** Those of the names that are columns of a table, as SQLite takes names for one. */
export function readStanding(from: Connection, localName: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const text = sql`SELECT kept.value FROM json_each(?) kept
          WHERE kept.value COLLATE NOCASE IN (SELECT name FROM pragma_table_xinfo(?))`;
  return queryTexts(from, text, [JSON.stringify(names), localName]);
}

/** Makes sure that `_id` is the key, and values stay as written (STRICT). @throws RowsyncError `replica.schema`. */
export function requireShape(from: Connection, table: WrittenTable): void {
  const [sound, columns] = [readSound(from), readColumns(from, table.id)];
  if (sound.has(columns)) return;
  if (isSound(from, table)) return void sound.add(columns);
  const { localName } = table;
  throw new RowsyncError('replica', 'replica.schema', {
    message: `${localName}: another program rebuilt the table without _id INTEGER PRIMARY KEY, without STRICT, or with other types; nothing of it was sent or stored`,
    hint: `Save what you edited in it, DROP TABLE ${ident(localName)} and run rowsync pull: the rows come back as the origin has them.`,
  });
}

/** The columns of tables that were found to be sound. */
const readSound = oncePerSchema(() => new WeakSet<readonly ColumnRecord[]>());

/** Whether a user table is in a shape in which edits can be told, and every value stays as it is written. */
function isSound(from: Connection, table: WrittenTable): boolean {
  const { hasKey, hasAny, changedCount } = from
    .prepare(
      // Apart, so that SQLite reads them once rather than once for each column.
      sql`WITH live AS MATERIALIZED (
            SELECT local_name, stored_as FROM _rowsync_columns WHERE table_id = +? AND state = 'live')
          SELECT count(*) FILTER (WHERE p.name = '_id' AND p.pk = 1 AND upper(p.type) = 'INTEGER') AS hasKey,
                 count(*) FILTER (WHERE upper(p.type) = 'ANY') AS hasAny,
                 count(*) FILTER (WHERE c.stored_as <> upper(p.type) AND NOT ${KEEPS}) AS changedCount
          FROM pragma_table_info(?) p LEFT JOIN live c ON c.local_name = p.name COLLATE NOCASE`,
    )
    .get(table.id, table.localName) as {
    readonly hasKey: number;
    readonly hasAny: number;
    readonly changedCount: number;
  }; // counts
  return hasKey === 1 && changedCount === 0 && (hasAny === 0 || isStrict(from, table.localName));
}

/** Whether a type that another client gave (`p`) keeps what we store (`c`): none, or one of the same affinity. */
const KEEPS = sql`(
  p.type = '' OR upper(p.type) = 'BLOB'
  OR (c.stored_as = 'INTEGER' AND upper(p.type) GLOB '*INT*')
  OR (c.stored_as = 'TEXT' AND upper(p.type) NOT GLOB '*INT*'
      AND (upper(p.type) GLOB '*CHAR*' OR upper(p.type) GLOB '*CLOB*' OR upper(p.type) GLOB '*TEXT*')))`;

/** SQLite looks into every view for the answer, so it is asked only if the text of the table is not ours. */
export function isStrict(from: Connection, localName: string): boolean {
  if (isWrittenStrict(from, localName)) return true;
  const text = sql`SELECT 1 FROM pragma_table_list(?) WHERE schema = 'main' AND strict = 1`;
  return queryAny(from, text, [localName]);
}

/** Notes a table that is to be read, as loading. It is made with its columns, once these are known. */
export function enterTable(tx: Tx, table: TableNames, at: string): void {
  if (findTable(tx, table.id) !== null) {
    // Where another client renamed it, our triggers are on it still.
    dropTriggers(tx, table.id);
    endMoment(tx);
  }
  storeNewTable(tx, table);
  // What was in a table that another client dropped is gone without a trace.
  endHistory(tx, table.id, { at, why: 'another program dropped the table', isAgain: true });
  forgetParts(tx, table.id);
  dropBase(tx, table.id); // of a table that another client dropped while it was still being read
}

/** Whether a table was noted, and none was made for it yet. */
export function isUnmade(from: Connection, table: WrittenTable): boolean {
  return readColumns(from, table.id).length === 0 && !isMade(from, table) && !hasBase(from, table.id);
}

function makeTable(tx: Tx, name: string, columns: readonly Pick<ColumnRecord, 'localName' | 'type'>[]): void {
  const all = joinSql([sql`_id INTEGER PRIMARY KEY`, sql`_allow TEXT`, ...columns.map(definitionOf)]);
  changeTable(tx, { text: sql`CREATE TABLE ${ident(name)} (${all}) STRICT`, name, isMade: true });
}

/** Makes the base table of a table whose rows all are as the origin last confirmed them. */
export function createBase(tx: Tx, table: WrittenTable): void {
  copyTable(tx, { id: table.id, from: table.localName, to: baseName(table.id) });
}

/** Makes a two-way table again that another client dropped, with the rows that the origin last confirmed. */
export function restoreTable(tx: Tx, table: WrittenTable): void {
  copyTable(tx, { id: table.id, from: baseName(table.id), to: table.localName });
}

function copyTable(tx: Tx, { id, from, to }: { id: number; from: string; to: string }): void {
  const columns = readShape(tx, id);
  makeTable(tx, to, columns);
  const list = columnList(columns);
  tx.prepare(sql`INSERT INTO ${ident(to)} (${list}) SELECT ${list} FROM ${ident(from)}`).run();
}

/** Our own column beside `_id`, which no client can drop. */
export const ALLOW_COLUMN: Pick<ColumnRecord, 'localName' | 'type'> = { localName: '_allow', type: 'Text' };

/** The column that keeps the colors of rows. It is ours: not in the bookkeeping, and no client may edit it. */
export const COLOR_COLUMN = { seq: 0, localName: '_color', type: 'Text', mask: null } as const;

const OUR_COLUMNS: ReadonlySet<string> = new Set(['_id', ALLOW_COLUMN.localName, COLOR_COLUMN.localName]);

/** The columns that a user table and its base both have, `_id` and `_allow` aside. */
function readShape(from: Connection, tableId: number): readonly Pick<ColumnRecord, 'localName' | 'type'>[] {
  const columns = readColumns(from, tableId);
  return readTable(from, tableId).rowColors === 'kept' ? [...columns, COLOR_COLUMN] : columns;
}

/** Adds the column for colors that were seen, unless there is no room or the name is taken. Returns whether. */
export function addColorColumn(tx: Tx, table: WrittenTable): boolean {
  if (readTable(tx, table.id).rowColors !== 'seen') return false;
  const physical = readPhysicalColumns(tx, table.localName);
  if (physical.length >= COLUMNS_MAX) return false;
  if (readStanding(tx, table.localName, [COLOR_COLUMN.localName]).length > 0) return false;
  dropDependents(tx, table.id);
  for (const name of shapedTables(tx, table)) tx.prepare(sql`ALTER TABLE ${name} ADD COLUMN _color TEXT`).run();
  storeFacts(tx, table.id, { row_colors: 'kept' });
  return true;
}

/** Drops the base table: the table is a mirror again. */
export function dropBase(tx: Tx, tableId: number): void {
  if (hasBase(tx, tableId)) {
    touchTable(tx, tableId); // from here on the user table counts
    const name = baseName(tableId);
    changeTable(tx, { text: sql`DROP TABLE ${ident(name)}`, name, isMade: false });
  }
  forgetKnownEdits(tx, tableId);
}

/** Renames tables at once, also in exchange; the caller makes triggers again. `makesRoom`: views do not follow. */
export function renameTables(
  tx: Tx,
  renames: readonly { readonly id: number; readonly from: string; readonly to: string; readonly isMade: boolean }[],
  { makesRoom }: { readonly makesRoom: boolean },
): void {
  if (renames.length === 0) return;
  tx.history.flush();
  for (const { id } of renames) dropTriggers(tx, id);
  emptyChangesView(tx);
  if (makesRoom) tx.prepare(sql`PRAGMA legacy_alter_table = ON`).run();
  try {
    exchangeNames(renames, ({ id, isMade: isHere }, from, to) => {
      if (isHere) tx.prepare(sql`ALTER TABLE ${ident(from)} RENAME TO ${ident(to)}`).run();
      storeFacts(tx, id, { local_name: to });
    });
  } finally {
    if (makesRoom) tx.prepare(sql`PRAGMA legacy_alter_table = OFF`).run();
  }
}

/** Gives names that others may have until then, by a third name only where needed: each rename reads the schema. */
function exchangeNames<T extends { readonly id: number; readonly from: string; readonly to: string }>(
  renames: readonly T[],
  rename: (thing: T, from: string, to: string) => void,
): void {
  // SQLite takes two names that differ only in case for one.
  const leaving = new Set(renames.map(({ from }) => foldIdent(from)));
  const between = ({ id }: T): string => `_rowsync_renaming_${id}`;
  const later = renames.filter(({ to }) => leaving.has(foldIdent(to)));
  for (const one of later) rename(one, one.from, between(one));
  for (const one of renames) if (!later.includes(one)) rename(one, one.from, one.to);
  for (const one of later) rename(one, between(one), one.to);
}

/** Renames columns of a user table; several at once, because two may swap their names. */
export function renameColumns(
  tx: Tx,
  table: WrittenTable,
  renames: readonly { readonly column: ColumnRecord; readonly localName: string }[],
): void {
  if (renames.length === 0) return;
  dropDependents(tx, table.id);
  const tables = shapedTables(tx, table);
  const named = renames.map(({ column, localName }) => ({ id: column.seq, from: column.localName, to: localName }));
  exchangeNames(named, ({ id: seq }, from, to) => {
    for (const name of tables) tx.prepare(sql`ALTER TABLE ${name} RENAME COLUMN ${ident(from)} TO ${ident(to)}`).run();
    storeColumnName(tx, seq, to);
  });
}

/** Columns of a table with `_id` and `_allow`. SQLite takes 2,000, but then UPDATE … FROM fails in a trigger. */
const COLUMNS_MAX = 1_999;

function requireRoom(from: Connection, { localName }: { readonly localName: string }, addedCount: number): void {
  const count = Math.max(2, readPhysicalColumns(from, localName).length) + addedCount;
  if (count <= COLUMNS_MAX) return;
  throw new RowsyncError('replica', 'replica.schema', {
    message: `${localName}: ${count - 2} columns are too many; a table in SQLite has room for ${COLUMNS_MAX - 2} beside _id and _allow`,
    hint: 'Hide columns from the role of the calling user at the origin, or say false for the table under tables. Columns that are only here count as well; rowsync schema prune lists those that the origin no longer has, and drops them with --confirm.',
  });
}

/**
 * Adds described columns, empty; the next sweep fills them. A new table is made with them: an ALTER reads the schema.
 * @throws RowsyncError `replica.schema` where there is no room for them.
 */
export function addColumns(tx: Tx, table: WrittenTable, columns: readonly DescribedColumn[], at: string): void {
  const isHere = isMade(tx, table);
  if (columns.length === 0 && isHere) return;
  requireRoom(tx, table, columns.length);
  const stored = columns.map(({ descriptor, localName }) => ({ localName, type: columnType(descriptor.type) }));
  if (!isHere) {
    makeTable(tx, table.localName, stored);
  } else {
    dropDependents(tx, table.id);
    for (const name of shapedTables(tx, table)) {
      for (const column of stored) tx.prepare(sql`ALTER TABLE ${name} ADD COLUMN ${definitionOf(column)}`).run();
    }
  }
  storeNewColumns(tx, table.id, columns, at);
}

const STORAGE_SQL: Readonly<Record<StoredAs, Sql>> = { TEXT: sql`TEXT`, INTEGER: sql`INTEGER`, ANY: sql`ANY` };

function definitionOf({ localName, type }: Pick<ColumnRecord, 'localName' | 'type'>): Sql {
  return sql`${ident(localName)} ${STORAGE_SQL[TYPE_RULES[type].storedAs]}`;
}

/** Puts back a column that another client dropped: with its base values, or empty for the next sweep to fill. */
export function restoreColumn(
  tx: Tx,
  table: WrittenTable,
  column: Pick<ColumnRecord, 'localName' | 'type'>,
  at: string,
): void {
  // Without a base, nothing tells what was in it.
  if (!hasBase(tx, table.id)) endHistory(tx, table.id, { at, why: 'another program dropped a column', isAgain: true });
  dropDependents(tx, table.id);
  const name = ident(column.localName);
  const here = ident(table.localName);
  tx.prepare(sql`ALTER TABLE ${here} ADD COLUMN ${definitionOf(column)}`).run();
  if (!hasBase(tx, table.id)) return;
  requireHarmlessTriggers(tx, table);
  const base = ident(baseName(table.id));
  tx.prepare(sql`UPDATE ${here} SET ${name} = ${base}.${name} FROM ${base} WHERE ${base}._id = ${here}._id`).run();
}

/** Drops a column of a table with its values; the caller makes triggers and the view of changes again. */
export function dropColumn(
  tx: Tx,
  table: WrittenTable,
  { seq, localName }: Pick<ColumnRecord, 'seq' | 'localName'>,
): void {
  dropDependents(tx, table.id);
  schemaWatch(tx)?.free(tx, table.localName, [localName]);
  // Another client may have dropped the table, or the column.
  const parts = [table.localName, baseName(table.id)].filter((name) => readStanding(tx, name, [localName]).length > 0);
  for (const name of parts) tx.prepare(sql`ALTER TABLE ${ident(name)} DROP COLUMN ${ident(localName)}`).run();
  forgetColumnLine(tx, seq);
}

/** Forgets everything about a table but its line in the bookkeeping and the evidence of deleted rows. */
export function forgetParts(tx: Tx, tableId: number): void {
  keepNames(tx, tableId, 'all');
  changeColumns(tx, sql`DELETE FROM _rowsync_columns WHERE table_id = ?`).run(tableId);
  const parts = [
    'pages',
    'page_rows',
    'suspects',
    'unreadable',
    'rows',
    'refusals',
    'batches',
    'local_ids',
    'quarters',
  ];
  for (const part of parts) tx.prepare(sql`DELETE FROM ${ident(`_rowsync_${part}`)} WHERE table_id = ?`).run(tableId);
}

/** Whether two rows, by the names that a statement gives them, differ in what rowsync stores. */
export function rowsDiffer(columns: readonly { readonly localName: string }[], one: Sql, other: Sql): Sql {
  const names = [sql`_allow`, ...columns.map(({ localName }) => ident(localName))];
  return anyOf(names.map((name) => isOther(sql`${one}.${name}`, sql`${other}.${name}`)));
}

/** The columns of a user table that hold the origin's values, quoted, in the order of `columns`. */
export function columnList(columns: readonly { readonly localName: string }[]): Sql {
  return joinSql([sql`_id`, sql`_allow`, ...columns.map(({ localName }) => ident(localName))]);
}
