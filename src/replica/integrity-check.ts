/**
 * Runs `PRAGMA quick_check` on a fresh connection, so that it reads the disk and not the cache. The error says what is
 * damaged. A million rows take a quarter of a second.
 *
 * It matters most before a two-way table is compared with its base: rows that a damaged page has lost would look like
 * deletes, and be pushed (I5). A file from which another program dropped the records of edits counts as damaged, too.
 */
import { statSync, utimesSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { RowsyncError } from '../base/errors.ts';
import { SCHEMA_VERSION } from './bookkeeping/schema.ts';
import { realPathOf } from './older-copy.ts';
import { replicaError, withReplicaErrors } from './sqlite-errors.ts';
import { ident, sql } from '../base/sql.ts';
import { baseName } from './user-tables.ts';
import { queryTexts } from './query.ts';

const DAMAGED_HINT =
  'Stop the daemon. rowsync rebuild puts what was edited here into a file and makes room for a new replica; or restore a backup.';

/** The tables that must be undamaged before edits are looked for, in every file that has any. */
const EDIT_TABLES = ['_rowsync_tables', '_rowsync_columns', '_rowsync_rows', '_rowsync_batches'];

/** Records of edits and their outcome, which cannot be rebuilt once another program has dropped them. */
const EDIT_RECORDS = [...EDIT_TABLES, '_rowsync_refusals', '_rowsync_conflicts', '_rowsync_local_ids'];

/** Checks every table of ours and of users, with a pause behind each. @throws RowsyncError `replica.damaged`. */
export async function checkIntegrity(path: string): Promise<void> {
  for (const _checked of checkTables(path)) await stat(path); // lets others have their turn
}

/** The same, a table for each step. */
function* checkTables(path: string): Generator<string, void> {
  const options = { readonly: true, fileMustExist: true, timeout: 1_000 };
  const db = withReplicaErrors(`Checking ${path}`, () => new Database(path, options));
  try {
    for (const name of withReplicaErrors(`Checking ${path}`, () => readNames(db, path))) {
      requireSound(db, name, path);
      yield name;
    }
  } finally {
    db.close();
  }
}

const DAY_MS = 86_400_000;

/** What a time may lose when it is set: seconds have a quarter of a microsecond, some file systems a whole one. */
const TIME_LOSS_MS = 0.002;

/**
 * Whether a process of ours closed the file today, and no other wrote to it since. Then there is no reason to look
 * through it again, nor to compare rows with their bases. After a crash or a power cut its log is still there. The lock
 * file has the time at which the file was left.
 */
export function isAsLeft(path: string, lockPath: string, nowMs: number): boolean {
  const [file, lock, log] = [path, lockPath, `${path}-wal`].map((name) => statSync(name, { throwIfNoEntry: false }));
  if (file === undefined || lock === undefined || (log?.size ?? 0) > 0) return false;
  if (Math.abs(file.mtimeMs - lock.mtimeMs) > TIME_LOSS_MS) return false;
  // Where a file system has whole seconds, somebody may have written in the second in which the file was left.
  if (file.mtimeMs % 1_000 === 0) return false;
  return Math.floor(file.mtimeMs / DAY_MS) === Math.floor(nowMs / DAY_MS);
}

/** Notes that a process of ours closed the file, unless it was written since `mtimeMs`; null if it met damage. */
export function noteLeft(path: string, lockPath: string, mtimeMs: number | null): void {
  try {
    const file = statSync(path);
    if (mtimeMs !== null && file.mtimeMs !== mtimeMs) return;
    const mtime = mtimeMs === null ? 0 : mtimeMs / 1_000;
    utimesSync(lockPath, mtime, mtime);
  } catch {
    // It was moved meanwhile, or the lock is another user's: then it is looked through the next time.
  }
}

/** Looks through a file in which a process of ours met damage. @throws RowsyncError `replica.damaged`. */
export function checkAfterDamage(path: string): void {
  const lock = statSync(`${realPathOf(path)}.lock`, { throwIfNoEntry: false });
  if (lock?.mtimeMs !== 0) return;
  for (const _checked of checkTables(path));
}

/** Checks that records of edits exist and, unless `isLeft`, are whole. @throws RowsyncError `replica.damaged`. */
export function checkEditsComplete(
  db: Database.Database,
  path: string,
  { isLeft = false }: { readonly isLeft?: boolean } = {},
): void {
  const names = editedNames(db, path);
  for (const name of isLeft ? [] : names) requireSound(db, name, path);
}

/** Names of the tables that have, or tell, edits. */
function editedNames(db: Database.Database, path: string): readonly string[] {
  const names = new Set(readNames(db, path));
  const text = sql`SELECT id, local_name AS name FROM _rowsync_tables WHERE push = 'on'`;
  const pushed = db.prepare<[], { id: number; name: string }>(text).all();
  if (pushed.length === 0) return [];
  return [...EDIT_TABLES, ...pushed.flatMap(({ id, name }) => [name, baseName(id)])].filter((name) => names.has(name));
}

/** An error that says that the file is damaged, in words of SQLite's, which name tables and pages and no value. */
export function damaged(path: string, words: string): RowsyncError {
  return new RowsyncError('replica', 'replica.damaged', {
    message: `${path} is damaged: ${words}`,
    hint: DAMAGED_HINT,
  });
}

/** The tables of a file, which must have all records of edits, unless it is of an earlier version. */
function readNames(db: Database.Database, path: string): readonly string[] {
  const names = queryTexts(db, sql`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`);
  const lost = EDIT_RECORDS.find((name) => !names.includes(name));
  if (lost !== undefined && db.pragma('user_version', { simple: true }) === SCHEMA_VERSION)
    throw damaged(path, `${lost} is missing, which another program must have dropped`);
  return names;
}

function requireSound(db: Database.Database, name: string, path: string): void {
  const [problem] = problemsOf(db, name, path);
  if (problem !== undefined) throw damaged(path, `${name}: ${problem}`);
}

/** What is wrong with a table and its indexes, in words of SQLite's; at most a hundred things. */
export function problemsOf(db: Database.Database, name: string, path: string): readonly string[] {
  try {
    return db
      .prepare<[], string>(sql`PRAGMA quick_check(${ident(name)})`)
      .pluck()
      .all()
      .flatMap((text) => text.split('\n'))
      .map((line) => line.trim())
      .filter((line) => line !== 'ok' && line !== '' && !line.startsWith('***'));
  } catch (thrown) {
    const error = replicaError(thrown, `Checking ${name} in ${path}`);
    if (error.code === 'replica.damaged') return [error.message];
    throw error;
  }
}
