/**
 * What stands in the file beside rows: SQLite calls tables and triggers objects of the schema, and finds one by reading all of them. With
 * hundreds of two-way tables they are thousands, so their names are read once for as long as nobody changes the schema.
 * Input: the file. Output: names.
 */
import { readSchemaVersion, type Connection } from './connection.ts';
import { foldIdent, sql } from './sql.ts';

/** What each connection has read of the schema, by who read it, and at which version. */
const memos = new WeakMap<Connection, { readonly version: unknown; readonly values: Map<unknown, unknown> }>();

/** Makes a reader of the schema read it anew only once somebody has changed it. */
export function oncePerSchema<T>(read: (from: Connection) => T): (from: Connection) => T {
  return (from) => {
    const version = readSchemaVersion(from);
    const known = memos.get(from);
    const memo =
      known !== undefined && known.version === version ? known : { version, values: new Map<unknown, unknown>() };
    memos.set(from, memo);
    if (!memo.values.has(read)) memo.values.set(read, read(from));
    return memo.values.get(read) as T; // stored under its reader
  };
}

/** Forgets what was read of a schema whose changes are taken back: the next change gives it the same version. */
export function forgetSchema(connection: Connection): void {
  memos.delete(connection);
}

interface Objects {
  /** Names of tables, folded. */
  readonly tables: ReadonlySet<string>;
  /** Rows of `sqlite_schema` that are triggers of ours, by the origin id with which their names end. */
  readonly triggersById: ReadonlyMap<string, readonly number[]>;
  readonly hasForeignTriggers: boolean;
}

const OBJECTS = sql`SELECT rowid, type, name FROM sqlite_schema WHERE type IN ('table', 'trigger')`;

const readObjects = oncePerSchema((from): Objects => {
  const tables = new Set<string>();
  const triggersById = new Map<string, number[]>();
  let hasForeign = false;
  const objects = from.prepare(OBJECTS).raw().all() as [number, 'table' | 'trigger', string][]; // SQLite's own columns
  for (const [row, type, name] of objects) {
    if (type === 'table') {
      tables.add(foldIdent(name));
    } else if (name.startsWith('_rowsync_')) {
      const id = name.slice(name.lastIndexOf('_') + 1);
      const rows = triggersById.get(id);
      if (rows === undefined) triggersById.set(id, [row]);
      else rows.push(row);
    } else {
      hasForeign = true;
    }
  }
  return { tables, triggersById, hasForeignTriggers: hasForeign };
});

/** Whether a table stands in the file, in whatever case: another client may have dropped it, or written its name anew. */
export function hasTable(from: Connection, name: string): boolean {
  return readObjects(from).tables.has(foldIdent(name));
}

/** Whether somebody else's trigger stands in the file, which may change any row while ours are switched off. */
export function hasForeignTriggers(from: Connection): boolean {
  return readObjects(from).hasForeignTriggers;
}

/** The triggers of ours on a table. */
export function readTriggers(from: Connection, tableId: number): readonly { name: string; text: string }[] {
  const rows = readObjects(from).triggersById.get(String(tableId)) ?? [];
  return from
    .prepare(sql`SELECT name, sql AS text FROM sqlite_schema WHERE rowid IN (SELECT value FROM json_each(?))`)
    .all(JSON.stringify(rows)) as { name: string; text: string }[]; // both are TEXT
}
