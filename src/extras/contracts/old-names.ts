/**
 * Old names of renamed tables and columns, kept readable for a while: a table under a view, a column as a generated
 * column that stores nothing. The date of their end is a comment in their own SQL, so no other list can contradict it.
 */
import { foldIdent, ident, sql, type Sql } from '../../base/sql.ts';
import { type ColumnRecord, readColumns } from '../../replica/bookkeeping/columns.ts';
import { type TableRecord, readTables } from '../../replica/bookkeeping/tables.ts';
import type { Connection, Tx } from '../../replica/connection.ts';
import { queryRows, queryTexts } from '../../replica/query.ts';
import { readPhysicalColumns, readStanding, readTakenNames } from '../../replica/user-tables.ts';

/** An old name; `table` is null for that of a table, and `until` a day. */
export interface OldName {
  readonly table: string | null;
  readonly name: string;
  readonly now: string;
  readonly until: string;
}

const NAME = '"((?:[^"]|"")*)"';
const MARK = String.raw`/\* rowsync: old name until (\d{4}-\d\d-\d\d) \*/`;
const VIEW = new RegExp(`^CREATE VIEW ${NAME} AS SELECT \\* FROM ${NAME} ${MARK}$`);
const COLUMN = new RegExp(`${NAME} ANY AS \\(${NAME}\\) ${MARK}`, 'g');

/** Beyond so many columns a table gets no old names: SQLite takes 2,000. */
const COLUMNS_MAX = 1_900;

export function readOldNames(from: Connection): readonly OldName[] {
  const text = sql`SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND sql LIKE '%/* rowsync: old name until %'`;
  return queryRows(from, text, []).flatMap(([table, made]) => {
    const view = VIEW.exec(String(made));
    if (view !== null) return [oldName(null, view)];
    return [...String(made).matchAll(COLUMN)].map((column) => oldName(String(table), column));
  });
}

function oldName(
  table: string | null,
  [, name = '', now = '', until = '']: RegExpExecArray | RegExpMatchArray,
): OldName {
  return { table, name: name.replaceAll('""', '"'), now: now.replaceAll('""', '"'), until };
}

function addTableName(tx: Tx, { name, now, until }: OldName): void {
  tx.prepare(sql`CREATE VIEW ${ident(name)} AS SELECT * FROM ${ident(now)} ${mark(until)}`).run();
}

/** A date is safe in a comment. */
function mark(until: string): Sql {
  const [year, month, day] = until.split('-').map(Number);
  const two = (part = 0): Sql => (part < 10 ? sql`0${part}` : sql`${part}`);
  return sql`/* rowsync: old name until ${year ?? 0}-${two(month)}-${two(day)} */`;
}

/** Drops old names, with indexes that other programs made on them, also where a view of the user's still reads them. */
export function dropOldNames(tx: Tx, oldNames: readonly OldName[]): void {
  if (oldNames.length === 0) return;
  tx.prepare(sql`PRAGMA legacy_alter_table = ON`).run();
  try {
    for (const { table, name } of oldNames) {
      for (const index of table === null ? [] : readIndexes(tx, table, name))
        tx.prepare(sql`DROP INDEX ${ident(index)}`).run();
      if (table === null) tx.prepare(sql`DROP VIEW ${ident(name)}`).run();
      else tx.prepare(sql`ALTER TABLE ${ident(table)} DROP COLUMN ${ident(name)}`).run();
    }
  } finally {
    tx.prepare(sql`PRAGMA legacy_alter_table = OFF`).run();
  }
}

/** The indexes on a column, and those with an expression or a condition that says its name. */
function readIndexes(from: Connection, table: string, column: string): readonly string[] {
  const text = sql`SELECT DISTINCT l.name FROM pragma_index_list(@table) l JOIN pragma_index_xinfo(l.name) c
                   JOIN sqlite_schema s ON s.type = 'index' AND s.name = l.name
                   WHERE c.name = @column COLLATE NOCASE
                      OR ((c.cid = -2 OR l.partial) AND instr(lower(replace(s.sql, '""', '"')), lower(@column)))`;
  return queryTexts(from, text, [{ table, column }]);
}

/** Drops the old names that are one of these names, or mean what is called so. */
export function freeOldNames(tx: Tx, table: string | null, names: readonly string[]): void {
  if (names.length === 0) return;
  const wanted = new Set(names.map(foldIdent));
  const fold = (name: string | null): string | null => (name === null ? null : foldIdent(name));
  const isOfTable = (one: OldName): boolean => fold(one.table) === fold(table);
  const isWanted = ({ name, now }: OldName): boolean => wanted.has(foldIdent(name)) || wanted.has(foldIdent(now));
  dropOldNames(
    tx,
    readOldNames(tx).filter((one) => isOfTable(one) && isWanted(one)),
  );
}

/** The tables of the bookkeeping by their ids, and the columns by their numbers there. */
export interface SchemaNames {
  readonly tables: ReadonlyMap<number, TableRecord>;
  readonly columns: ReadonlyMap<number, ColumnRecord & { readonly tableId: number }>;
}

export function readNames(from: Connection): SchemaNames {
  const tables = readTables(from);
  const columns = tables.flatMap(({ id }) => readColumns(from, id).map((column) => ({ ...column, tableId: id })));
  return {
    tables: new Map(tables.map((table) => [table.id, table])),
    columns: new Map(columns.map((column) => [column.seq, column])),
  };
}

/** Keeps the names that tables and columns had at the origin before a change, unless something else has them now. */
export function keepOldNames(tx: Tx, before: SchemaNames, after: SchemaNames, until: string): void {
  for (const [id, { name, localName: now }] of after.tables) {
    const former = before.tables.get(id);
    if (former === undefined || former.name === name || former.localName === now) continue;
    const taken = new Set(readTakenNames(tx).map(foldIdent));
    if (!taken.has(foldIdent(former.localName))) addTableName(tx, { table: null, name: former.localName, now, until });
  }
  for (const [seq, { name, localName: now, tableId }] of after.columns) {
    const former = before.columns.get(seq);
    if (former === undefined || former.name === name || former.localName === now) continue;
    const table = after.tables.get(tableId)?.localName ?? '';
    const isFull = readPhysicalColumns(tx, table).length >= COLUMNS_MAX;
    if (isFull || readStanding(tx, table, [former.localName]).length > 0) continue;
    const definition = sql`${ident(former.localName)} ANY AS (${ident(now)}) ${mark(until)}`;
    tx.prepare(sql`ALTER TABLE ${ident(table)} ADD COLUMN ${definition}`).run();
  }
}

/** Where a table made room for another, SQLite left the views over it as they were: they would read the other one. */
export function followTables(tx: Tx, kept: readonly OldName[], before: SchemaNames, after: SchemaNames): void {
  const idByName = new Map([...before.tables].map(([id, { localName }]) => [foldIdent(localName), id]));
  const there = new Map(readOldNames(tx).map((one) => [one.table === null ? one.name : null, one]));
  for (const { table, name, now } of kept) {
    const found = there.get(name);
    const meant = after.tables.get(idByName.get(foldIdent(now)) ?? Number.NaN)?.localName;
    if (table !== null || found === undefined || meant === undefined || found.now === meant) continue;
    dropOldNames(tx, [found]);
    addTableName(tx, { ...found, now: meant });
  }
}
