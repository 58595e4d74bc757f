/**
 * Tables, views and triggers of the file. To find one, SQLite reads all of `sqlite_schema`, which takes a tenth of a
 * millisecond with hundreds of two-way tables. So what is often looked up is kept until the schema changes.
 */
import type { Connection, Tx } from './connection.ts';
import { foldIdent, sql, type Sql } from '../base/sql.ts';
import { queryAll, queryAny } from './query.ts';

/** What each connection (`root`) has read of the schema, by who read it, and at which version. */
const memos = new WeakMap<object, { readonly version: unknown; readonly values: Map<unknown, unknown> }>();

/** Readers whose answers no `changeSchema` makes false. */
const lasting = new Set<unknown>();

/** Makes a reader of the schema read once until someone changes it; one that `lasts`, other than by `changeSchema`. */
export function oncePerSchema<T>(read: (from: Connection) => T, { lasts = false } = {}): (from: Connection) => T {
  if (lasts) lasting.add(read);
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

/** Changes triggers of ours; keeps what `lasts` while hundreds of tables are made. For tables: `changeTable`. */
export function changeSchema(tx: Tx, ...changes: readonly Sql[]): void {
  const root = tx.root ?? tx;
  const known = memos.get(root);
  const isKnown = known !== undefined && known.version === readSchemaVersion(tx);
  // All at once, by the connection of any statement: to prepare thousands of triggers takes long.
  tx.prepare(SCHEMA_VERSION).database.exec(changes.join(';\n'));
  if (!isKnown) return;
  const values = new Map([...known.values].filter(([read]) => lasting.has(read)));
  memos.set(root, { version: readSchemaVersion(tx), values });
}

/** Forgets what was read of a schema whose changes are taken back: the next change gives it the same version. */
export function forgetSchema(connection: Connection): void {
  memos.delete(connection.root ?? connection);
}

/** Tables and views by folded name. SQLite's own list of strict tables looks into every view, so the text decides. */
const readRelations = oncePerSchema(
  (from) => {
    const text = sql`SELECT name, type = 'table' AS isTable, type = 'table' AND sql GLOB '*) STRICT' AS isStrict
      FROM sqlite_schema WHERE type IN ('table', 'view')`;
    const found = queryAll(from, text) as { name: string; isTable: 0 | 1; isStrict: 0 | 1 }[]; // as selected
    return new Map(found.map(({ name, ...relation }) => [foldIdent(name), relation]));
  },
  { lasts: true },
);

/** Whether another client's trigger is in the file, which may change any row while ours are switched off. */
export const hasForeignTriggers = oncePerSchema(
  (from) => {
    const text = sql`SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name NOT GLOB '_rowsync_*' LIMIT 1`;
    return queryAny(from, text);
  },
  { lasts: true },
);

/** Makes or drops a table of ours, which is written as a STRICT one. */
export function changeTable(
  tx: Tx,
  change: { readonly text: Sql; readonly name: string; readonly isMade: boolean },
): void {
  tx.history.flush();
  changeSchema(tx, change.text);
  const [relations, folded] = [readRelations(tx), foldIdent(change.name)];
  if (change.isMade) relations.set(folded, { isTable: 1, isStrict: 1 });
  else relations.delete(folded);
}

/** Whether the file has a table, ignoring case: another client may have dropped it, or changed the case of its name. */
export function hasTable(from: Connection, name: string): boolean {
  return readRelations(from).get(foldIdent(name))?.isTable === 1;
}

/** Whether a table or a view has a name, so that none can be made under it. */
export function isNamed(from: Connection, name: string): boolean {
  return readRelations(from).has(foldIdent(name));
}

/** Whether a table is written as a STRICT one is here. */
export function isWrittenStrict(from: Connection, name: string): boolean {
  return readRelations(from).get(foldIdent(name))?.isStrict === 1;
}

export interface FoundTrigger {
  readonly name: string;
  readonly text: string;
}

/** The triggers of ours that tables have, by the origin id with which their names end. */
const readKnownTriggers = oncePerSchema(
  (from): Map<number, readonly FoundTrigger[]> => {
    const text = sql`SELECT name, sql AS text FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '_rowsync_*'`;
    const found = queryAll(from, text) as FoundTrigger[]; // both are TEXT
    return Map.groupBy(found, ({ name }) => Number(name.slice(name.lastIndexOf('_') + 1)));
  },
  { lasts: true },
);

/** Notes the triggers that a table was just given. */
export function noteTriggers(from: Connection, tableId: number, triggers: readonly FoundTrigger[]): void {
  readKnownTriggers(from).set(tableId, triggers);
}

export function readTriggers(from: Connection, tableId: number): readonly FoundTrigger[] {
  return readKnownTriggers(from).get(tableId) ?? [];
}

const SCHEMA_VERSION = sql`PRAGMA schema_version`;

/** A number in the file that changes with every change of the schema, by any client. */
export function readSchemaVersion(from: Connection): unknown {
  return from.prepare(SCHEMA_VERSION).pluck().get();
}

/** Follows the names of tables and columns in a file; an extra may set one for an open replica. */
export interface SchemaWatch {
  /** Gives up old names it keeps, before columns of this table (null: tables) get them, or what has them goes. */
  free(tx: Tx, table: string | null, names: readonly string[]): void;
  /** Called before names change; what it returns is called after that, in the same transaction. */
  change(tx: Tx): () => void;
  /** Called at the end of a pull with the tables that it read to their end, by their names here. */
  pulled(tables: ReadonlySet<string>): Promise<void>;
}

const watches = new WeakMap<object, SchemaWatch>();

/** Sets who follows the names in an open replica; null for nobody. */
export function watchSchema(replica: Connection, watch: SchemaWatch | null): void {
  if (watch === null) watches.delete(replica.root ?? replica);
  else watches.set(replica.root ?? replica, watch);
}

/** Who follows the names in an open replica; undefined for nobody. */
export function schemaWatch(from: Connection): SchemaWatch | undefined {
  return watches.get(from.root ?? from);
}
