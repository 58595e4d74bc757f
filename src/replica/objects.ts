/**
 * What stands in the file beside rows: SQLite calls tables and triggers objects of the schema, and finds one by reading all of them. Hundreds of
 * two-way tables have thousands of them, so their names are read once until the schema changes. Input: the file. Output: names.
 */
import { readSchemaVersion, type Connection } from './connection.ts';
import { foldIdent, sql } from '../base/sql.ts';

/** What each connection (`root`) has read of the schema, by who read it, and at which version. */
const memos = new WeakMap<object, { readonly version: unknown; readonly values: Map<unknown, unknown> }>();

/** Makes a reader of the schema read it anew only once someone has changed it. */
export function oncePerSchema<T>(read: (from: Connection) => T): (from: Connection) => T {
  return (from) => {
    const version = readSchemaVersion(from);
    const root = from.root ?? from;
    const known = memos.get(root);
    const memo =
      known !== undefined && known.version === version ? known : { version, values: new Map<unknown, unknown>() };
    memos.set(root, memo);
    if (!memo.values.has(read)) memo.values.set(read, read(from));
    return memo.values.get(read) as T; // stored under its reader
  };
}

/** Forgets what was read of a schema whose changes are taken back: the next change gives it the same version. */
export function forgetSchema(connection: Connection): void {
  memos.delete(connection.root ?? connection);
}

/** Rows of `sqlite_schema` that are tables, by their names, folded. */
const readTableRows = oncePerSchema((from) => {
  const rows = from.prepare(sql`SELECT lower(name), rowid FROM sqlite_schema WHERE type = 'table'`).raw();
  return new Map(rows.all() as [string, number][]); // the columns just listed
});

/** Rows of `sqlite_schema` that are triggers of ours, by the origin id with which their names end. */
const readTriggerRows = oncePerSchema((from) => {
  const rowsById = new Map<string, number[]>();
  const text = sql`SELECT name, rowid FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '_rowsync_*'`;
  for (const [name, row] of from.prepare(text).raw().all() as [string, number][]) {
    const id = name.slice(name.lastIndexOf('_') + 1);
    const rows = rowsById.get(id);
    if (rows === undefined) rowsById.set(id, [row]);
    else rows.push(row);
  }
  return rowsById;
});

/** Whether another client's trigger stands in the file, which may change any row while ours are switched off. */
export const hasForeignTriggers = oncePerSchema((from) => {
  const text = sql`SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name NOT GLOB '_rowsync_*' LIMIT 1`;
  return from.prepare(text).get() !== undefined;
});

/** Whether the file has a table, ignoring case: another client may have dropped it, or changed the case of its name. */
export function hasTable(from: Connection, name: string): boolean {
  return readTableRows(from).has(foldIdent(name));
}

/** The SQL that made a table; null if there is none of this name. */
export function readTableText(from: Connection, name: string): string | null {
  const text = from
    .prepare(sql`SELECT sql FROM sqlite_schema WHERE rowid = ?`)
    .pluck()
    .get(readTableRows(from).get(foldIdent(name)) ?? null);
  return typeof text === 'string' ? text : null;
}

/** The triggers of ours on a table. */
export function readTriggers(from: Connection, tableId: number): readonly { name: string; text: string }[] {
  return from
    .prepare(sql`SELECT name, sql AS text FROM sqlite_schema WHERE rowid IN (SELECT value FROM json_each(?))`)
    .all(JSON.stringify(readTriggerRows(from).get(String(tableId)) ?? [])) as { name: string; text: string }[]; // both are TEXT
}
