/**
 * The lock that keeps a second process out of a replica (I14) and that the kernel frees, and the modes of its files.
 */
import { chmodSync, closeSync, existsSync, fchmodSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { codeOf, RowsyncError } from '../base/errors.ts';
import { readBytesAt } from '../base/file-system.ts';
import { sql } from '../base/sql.ts';
import { withFile } from './copy-file.ts';
import { realPathOf, requireFile } from './older-copy.ts';
import { replicaError } from './sqlite-errors.ts';

/** "rsyn" in ASCII; says that the file is ours (`PRAGMA application_id`). */
export const APPLICATION_ID = 0x7273_796e;

/** Longest wait for a lock inside the event loop. */
export const BUSY_TIMEOUT_MS = 50;
/** Opens a connection to a SQLite file; a simulation keeps some for later, because each must read the schema anew. */
export type Connect = (path: string, options: Database.Options) => Database.Database;

export const connectAnew: Connect = (path, options) => new Database(path, options);

/** Only its owner may read the replica; if it is shared, its group may use it too. */
export const PRIVATE_MODE = 0o600;
export const SHARED_MODE = 0o660;

/** The mode is set before SQLite writes; -wal and -shm inherit it. A file that was opened up later stays so. */
export function createWithMode(path: string, mode: number): void {
  if (!existsSync(path)) makeEmpty(path, mode);
  const found = statSync(path);
  if (found.isDirectory()) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `${path} is a folder, not a replica`,
      hint: 'Let replica.path name a file.',
    });
  }
  // The option may be younger than the file.
  if ((found.mode & mode) !== mode && mayBeOpenedUp(path)) chmodSync(path, mode);
}

/** Makes an empty file where there is none; another process may do so in the same moment. */
function makeEmpty(path: string, mode: number): void {
  try {
    const file = openSync(path, 'wx', mode);
    fchmodSync(file, mode); // the process may mask bits of new files
    closeSync(file);
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown;
  }
}

/** Where a SQLite file says whose it is (the SQLite file format, 1.3). */
const APPLICATION_ID_AT = 68;

/** Whether a file is empty or a replica. Who may write to the folder could put another file of this user there. */
function mayBeOpenedUp(path: string): boolean {
  const place = lstatSync(path);
  if (place.isSymbolicLink() && place.uid !== 0 && place.uid !== process.geteuid?.()) return false;
  if (statSync(path).size === 0) return true;
  const id = readBytesAt(path, APPLICATION_ID_AT, 4);
  return id.length === 4 && id.readInt32BE() === APPLICATION_ID;
}

/** Holds a transaction on a file beside the replica, opened once a process: closing a second one would free it. */
export function takeLock(path: string, mode: number, connect: Connect = connectAnew): Database.Database {
  const lockPath = `${realPathOf(path)}.lock`;
  const folder = dirname(path);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `The folder ${folder} for the replica does not exist`,
      hint: `Create it (mkdir -p ${folder}), or change replica.path.`,
    });
  }
  let lock: Database.Database | undefined;
  requireFile(lockPath);
  try {
    createWithMode(lockPath, mode);
    // Without a wait, of several that begin in one moment each may be in the way of the other.
    lock = connect(lockPath, { timeout: BUSY_TIMEOUT_MS });
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (thrown) {
    lock?.close();
    const error = replicaError(thrown, `Locking ${lockPath}`);
    if (error.code !== 'replica.busy') throw error;
    throw new RowsyncError('replica', 'replica.inUse', {
      message: inUseText(path),
      hint: 'Stop it if it is a daemon, and start it again afterwards; a command ends by itself. Meanwhile `rowsync status`, `sql`, `plan` and `backup` work.',
      cause: thrown,
    });
  }
}

/** Whether another process works on a replica; for all who may read it. @throws RowsyncError of the replica. */
export function isInUse(path: string): boolean {
  const lockPath = `${realPathOf(resolve(path))}.lock`;
  if (!existsSync(lockPath)) return false;
  requireFile(lockPath);
  try {
    const options = { readonly: true, fileMustExist: true, timeout: 0 };
    withFile(lockPath, options, (lock) => lock.prepare(sql`SELECT 1 FROM sqlite_schema`).get());
    return false;
  } catch (thrown) {
    const error = replicaError(thrown, `Looking at ${lockPath}`);
    if (error.code === 'replica.busy') return true;
    throw error;
  }
}

/** Says that another process works on a replica, and which one where that is known. */
export function inUseText(path: string): string {
  const pid = holderOf(path);
  return `Another rowsync process works on ${path}${pid === null ? '' : ` (process ${pid})`}`;
}

/** The process that holds the lock of a replica, where the system lists locks (proc_locks(5)); else null. */
export function holderOf(path: string): number | null {
  try {
    const { ino } = statSync(`${realPathOf(resolve(path))}.lock`);
    const held = new RegExp(String.raw`POSIX +ADVISORY +WRITE +(\d+) [\da-f]+:[\da-f]+:${ino} `).exec(
      readFileSync('/proc/locks', 'utf8'),
    );
    const pid = Number(held?.[1] ?? 0);
    return pid > 0 ? pid : null;
  } catch {
    return null; // not on Linux, or the lock was just given back
  }
}
