/**
 * Edits the replica as any SQL client does, through a connection of its own: the triggers see the edits and may refuse
 * them. For the demo, the page, undo and proposals.
 */
import type Database from 'better-sqlite3';
import { RowsyncError } from '../../base/errors.ts';
import { ident, joinSql, literal, sql, type Sql } from '../../base/sql.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { withFile } from '../../replica/copy-file.ts';
import { refusalWords, replicaError, sqliteCode } from '../../replica/sqlite-errors.ts';
import { queryAny, queryNumber, queryRows, queryText } from '../../replica/query.ts';

/** The daemon writes in short transactions. */
const BUSY_MS_MAX = 5_000;

function asClient<T>(path: string, work: (db: Database.Database) => T): T {
  return withFile(path, { fileMustExist: true, timeout: BUSY_MS_MAX }, (db) => {
    try {
      db.pragma('trusted_schema = OFF');
      return work(db);
    } catch (thrown) {
      if (!isOurRefusal(db, thrown)) throw replicaError(thrown, `Editing ${path}`);
      const message = `Editing ${path}: ${thrown.message}`;
      throw new RowsyncError('replica', 'replica.failed', { message, hint: 'Nothing was changed.', cause: thrown });
    }
  }); // to close it takes back what was not kept
}

/** Whether a trigger of rowsync refused an edit: its text has the sentence. */
function isOurRefusal(from: Connection, thrown: unknown): thrown is Error {
  if (sqliteCode(thrown) !== 'SQLITE_CONSTRAINT_TRIGGER' || !(thrown instanceof Error)) return false;
  const text = sql`SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '_rowsync_*' AND instr(sql, ?) > 0`;
  return queryAny(from, text, [literal(thrown.message)]);
}

/** A connection of a client, which says whether its transaction goes on. */
export type ClientConnection = Connection & { readonly inTransaction: boolean };

/**
 * Why an edit was refused, in our own words: those of another program's trigger may repeat the row. Null for other
 * errors, and where the refusal ended the transaction.
 */
export function clientRefusal(from: ClientConnection, thrown: unknown): string | null {
  if (!from.inTransaction) return null;
  return isOurRefusal(from, thrown) ? thrown.message : refusalWords(thrown);
}

/** Runs statements in one transaction. @throws RowsyncError `replica.failed`, in the words of SQLite or a trigger. */
export function executeAsClient(path: string, statements: string): void {
  asClient(path, (db) => db.transaction(() => db.exec(statements)).immediate());
}

/**
 * Reads and writes in one transaction. It is rolled back if `isKept` is false, or returns false for the result.
 *
 * @throws RowsyncError `replica.failed` with the words of SQLite or a trigger, without any change; `replica.busy`.
 */
export function workAsClient<T>(
  path: string,
  work: (from: ClientConnection) => T,
  { isKept }: { readonly isKept: boolean | ((result: T) => boolean) },
): T {
  return asClient(path, (db) => {
    db.exec('BEGIN IMMEDIATE');
    const result = work(db);
    db.exec((typeof isKept === 'boolean' ? isKept : isKept(result)) ? 'COMMIT' : 'ROLLBACK');
    return result;
  });
}

/** Keeps a query as a view, or drops it for null. @throws RowsyncError `replica.failed` if it is no single query. */
export function storeView(path: string, { name, text }: { readonly name: string; readonly text: string | null }): void {
  // Only one statement is prepared, whatever the text holds.
  const statement = text === null ? `DROP VIEW ${ident(name)}` : `CREATE VIEW ${ident(name)} AS ${text}`;
  asClient(path, (db) => db.prepare(statement).run());
}

/** An edit of one row, as a form says it; a column that is not named keeps its value. */
export interface RowEdit {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly table: string;
  /** Null for a new row. */
  readonly id: number | null;
  /** What the person typed, which counts for no delete, and what they saw. */
  readonly cells: readonly { readonly column: string; readonly value: Stored; readonly was: string }[];
}

/** What came of an edit; nothing was changed but where it is done. */
export type EditOutcome =
  | { readonly kind: 'done'; readonly id: number; readonly changedCount: number }
  /** The row or these columns are not what the person saw. */
  | { readonly kind: 'moved'; readonly columns: readonly string[] }
  | { readonly kind: 'gone' }
  /** In the words of a trigger or of SQLite. */
  | { readonly kind: 'refused'; readonly words: string };

/** Edits a row as an SQL client, but no cell that changed since it was seen. @throws RowsyncError `replica.busy`. */
export function editRowAsClient(
  path: string,
  edit: RowEdit,
  isSame: (stored: Stored, was: string) => boolean,
): EditOutcome {
  return asClient(path, (db) => {
    try {
      return db.transaction(() => editRow(db, edit, isSame)).immediate();
    } catch (thrown) {
      const isRefused = sqliteCode(thrown)?.startsWith('SQLITE_CONSTRAINT') === true;
      if (isRefused && thrown instanceof Error) return { kind: 'refused', words: thrown.message };
      throw thrown;
    }
  });
}

function editRow(
  db: Database.Database,
  { kind, table, id, cells }: RowEdit,
  isSame: (stored: Stored, was: string) => boolean,
): EditOutcome {
  if (kind === 'insert') {
    const given = cells.filter(({ value }) => value !== null);
    return { kind: 'done', id: writeCells(db, table, null, given), changedCount: 1 };
  }
  const names = joinSql([sql`_id`, ...cells.map(({ column }) => ident(column))]);
  const [row] = id === null ? [] : queryRows(db, sql`SELECT ${names} FROM ${ident(table)} WHERE _id = ?`, [id]);
  if (id === null || row === undefined) return { kind: 'gone' };
  const seen = cells.map((cell, index) => ({ ...cell, here: row[index + 1] ?? null }));
  // A value that a person left unchanged is no edit, even if the cell changed since.
  const edited = kind === 'delete' ? seen : seen.filter(({ value, was }) => !isSame(value, was));
  const moved = edited.filter(({ here, was }) => !isSame(here, was));
  if (moved.length > 0) return { kind: 'moved', columns: moved.map(({ column }) => column) };
  if (kind === 'delete') db.prepare(sql`DELETE FROM ${ident(table)} WHERE _id = ?`).run(id);
  else if (edited.length === 0) return { kind: 'done', id, changedCount: 0 };
  else writeCells(db, table, id, edited);
  return { kind: 'done', id, changedCount: Math.max(1, edited.length) };
}

/** Writes cells of a row, or of a new row for null; returns its id. @throws what SQLite or a trigger says. */
export function writeCells(
  to: Connection,
  table: string,
  id: number | null,
  cells: readonly { readonly column: string; readonly value: Stored | Buffer }[],
): number {
  const values = cells.map(({ value }) => value);
  if (id !== null) {
    const sets = joinSql(cells.map(({ column }) => sql`${ident(column)} = ?`));
    to.prepare(sql`UPDATE ${ident(table)} SET ${sets} WHERE _id = ?`).run(...values, id);
    return id;
  }
  const names = joinSql(cells.map(({ column }) => ident(column)));
  const marks = joinSql(cells.map(() => sql`?`));
  const text =
    cells.length === 0
      ? sql`INSERT INTO ${ident(table)} DEFAULT VALUES`
      : sql`INSERT INTO ${ident(table)} (${names}) VALUES (${marks})`;
  to.prepare(text).run(...values);
  // A trigger gave it the next negative id.
  const last = sql`SELECT l.last_id FROM _rowsync_local_ids l JOIN _rowsync_tables t ON t.id = l.table_id WHERE t.local_name = ?`;
  return queryNumber(to, last, [table]);
}

export function readExactCells(
  from: Connection,
  table: string,
  { id, columns }: { readonly id: number; readonly columns: readonly string[] },
): readonly Stored[] | null {
  const names = joinSql([sql`_id`, ...columns.map((column) => ident(column))]);
  const [row] = queryRows(from, sql`SELECT ${names} FROM ${ident(table)} WHERE _id = ?`, [id]);
  return row?.slice(1) ?? null;
}

export function readStored(
  from: Connection,
  text: Sql,
  values: readonly Stored[] = [],
): IterableIterator<readonly Stored[]> {
  const statement = from.prepare(text).safeIntegers().raw();
  return statement.iterate(...values) as IterableIterator<readonly Stored[]>; // raw() gives arrays
}

export function sqliteVersion(): string {
  return withFile(':memory:', {}, (db) => String(queryText(db, sql`SELECT sqlite_version()`)));
}
