/**
 * Copies the replica while others use it, and puts such a copy back in its place. SQLite checks the copy and its
 * tables are counted before it gets its name, and its files get theirs before (I15).
 *
 * The caller copies the files, since this knows no file store. A restored copy is an older one (replica/older-copy.ts).
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { must } from '../../base/assert.ts';
import { stampFromMs, systemClock } from '../../base/clock.ts';
import { codeOf, RowsyncError, usageError } from '../../base/errors.ts';
import { ident, sql } from '../../base/sql.ts';
import { sumOf } from '../../base/sum.ts';
import { readContents, storeContentLost, storeStoreFolder } from '../../replica/bookkeeping/files.ts';
import type { Tx } from '../../replica/connection.ts';
import { disownFile, realPathOf, requireOwnLog } from '../../replica/older-copy.ts';
import {
  checkCopy,
  countRows,
  makePrivate,
  PARTIAL,
  removeFile,
  syncToDisk,
  takeName,
  withFile,
} from '../../replica/copy-file.ts';
import { checkOwner, runOpen } from '../../replica/database.ts';
import { replicaError, sqliteCode } from '../../replica/sqlite-errors.ts';
import { takeLock } from '../../replica/lock.ts';
import { requireReplica } from '../../replica/reader.ts';
import { queryNumber, queryText, queryTexts } from '../../replica/query.ts';
import type { CarryReport } from '../shared/stored-content.ts';
import { namesIn } from '../shared/file-names.ts';
import { inheritSeries } from '../shared/sinks.ts';
import type { StoredContent } from '../../reconcile/files.ts';

/** Pages copied before other work gets its turn; 2,000 of them take some 13 ms. */
const PAGES_PER_STEP = 2_000;

/** Behind the name of a file, where SQLite keeps what belongs to it and is not in it. */
const LOGS = ['-wal', '-journal'];

export interface CopyReport {
  readonly path: string;
  readonly bytes: number;
  readonly tableCount: number;
  readonly rowCount: number;
  /** Null if they were left out. */
  readonly files: CarryReport | null;
}

/** Brings content that a copy names to where the copy goes; its folder is durable when this resolves. */
export type Carry = (contents: readonly StoredContent[]) => Promise<CarryReport>;

/**
 * Copies the replica at `source` into the new file `target`; needs no lock, so a daemon may be at work. `onAdvance` is
 * called as it continues.
 * @throws RowsyncError `backup.exists`, `backup.damaged` (the copy did not pass, and is gone), or of the replica.
 */
export async function backUp(
  source: string,
  target: string,
  carry?: Carry,
  onAdvance?: () => void,
): Promise<CopyReport> {
  const path = resolve(target);
  requireReplica(resolve(source));
  requireFree(path);
  const partial = path + PARTIAL;
  let db: Database.Database | undefined;
  try {
    makePrivate(partial);
    db = new Database(source, { readonly: true, fileMustExist: true, timeout: 1_000 });
    checkOwner(db, source);
    // One read transaction around both: the counted rows are the copied ones, even if rows are written meanwhile.
    db.exec('BEGIN');
    const counts = countRows(db);
    const progress = (): number => {
      onAdvance?.();
      return PAGES_PER_STEP;
    };
    await db.backup(partial, { progress });
    db.exec('COMMIT');
    checkCopy(partial, counts);
    const files = carry === undefined ? null : await carry(contentsIn(partial));
    takeName(partial, path);
    const rowCount = sumOf([...counts.values()], (count) => count);
    return { path, bytes: statSync(path).size, tableCount: counts.size, rowCount, files };
  } catch (thrown) {
    removeFile(partial);
    throw replicaError(thrown, `Backing up ${source} to ${path}`);
  } finally {
    db?.close();
  }
}

/** Makes sure that a backup can be made under a name. @throws RowsyncError `backup.exists`, `replica.path`. */
export function requireFree(path: string): void {
  // SQLite would write a log that was left there into the copy.
  const existing = ['', ...LOGS].map((ending) => path + ending).find((name) => existsSync(name));
  if (existing !== undefined) {
    throw usageError(
      `${existing} exists already`,
      'Name a new file; a backup never replaces anything.',
      'backup.exists',
    );
  }
  const folder = dirname(path);
  try {
    accessSync(`${folder}/`, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const isMissing = codeOf(cause) === 'ENOENT';
    throw new RowsyncError('replica', 'replica.path', {
      message: isMissing
        ? `The folder ${folder} for the backup does not exist`
        : `The folder ${folder} for the backup cannot be written: ${codeOf(cause)}`,
      hint: isMissing
        ? `Create it (mkdir -p ${folder}), or name another one; backup.folder is that of the daemon.`
        : 'Let this user write there, or name another one; backup.folder is that of the daemon.',
      cause,
    });
  }
}

/** Stamp and ending of a dated backup. */
const DATED = /^\d{8}T\d{6}Z\.db$/;

/**
 * The path of a new dated backup, and earlier backups of the same replica, newest first. Replicas may share a name and
 * a folder; a tag from the replica's path keeps them apart. A date in the future sorts last: the clock was set back.
 */
export function datedBackups(
  source: string,
  { folder, database, nowMs }: { readonly folder: string; readonly database: string; readonly nowMs: number },
): { readonly path: string; readonly earlier: readonly string[] } {
  const stem = basename(source).replace(/\.[^.]*$/, '');
  const own = `${stem}-${database}-${placeTag(source)}-`;
  const now = stampFromMs(nowMs).replaceAll(/[-:]/g, '');
  const order = (file: string): string => `${stampIn(file) > `${now}.db` ? 0 : 1} ${stampIn(file)}`;
  const earlier = namesIn(folder)
    .filter((file) => file.startsWith(own) && DATED.test(file.slice(own.length)))
    .toSorted((a, b) => (order(a) < order(b) ? 1 : -1));
  return { path: join(folder, `${own}${now}.db`), earlier: earlier.map((file) => join(folder, file)) };
}

export function dateOfBackup(path: string): number {
  const [, day, time] = /(\d{8})T(\d{6})Z\.db$/.exec(path) ?? [];
  const digits = must(day, 'dated') + must(time, 'dated');
  return Date.parse(digits.replace(/(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/, '$1-$2-$3T$4:$5:$6Z'));
}

/** A short tag that tells replicas in different places apart. */
function placeTag(source: string): string {
  return createHash('sha256')
    .update(realPathOf(resolve(source)))
    .digest('hex')
    .slice(0, 6);
}

function stampIn(file: string): string {
  return file.slice(-'19700101T000000Z.db'.length);
}

/** The content that a file names. */
function contentsIn(path: string): readonly StoredContent[] {
  return withFile(path, READ_ONLY, (db) => readContents(db, null));
}

export const READ_ONLY = { readonly: true, fileMustExist: true } as const;

export interface RestoreReport extends CopyReport {
  /** Where the former replica is now; null where there was none. */
  readonly asidePath: string | null;
  /** Rows of two-way tables that the origin had not seen when the backup was made. */
  readonly pendingCreateCount: number;
  /** Rows of the origin that were edited or deleted here, and not pushed, when the backup was made. */
  readonly pendingEditCount: number;
}

/** Puts a backup in the place of the replica, which is moved aside. @throws RowsyncError of `replica` or `backup`. */
export async function restore(
  backup: string,
  place: {
    readonly path: string;
    readonly stamp: string;
    /** The database that it must be of. */
    readonly database?: string;
  },
  carry?: Carry,
): Promise<RestoreReport> {
  const { stamp, database } = place;
  const path = resolve(place.path);
  const partial = path + PARTIAL;
  const lock = takeLock(path, 0o600);
  try {
    const copied = await copyBackup(resolve(backup), partial);
    if (database !== undefined) requireDatabase(partial, backup, database);
    const files = carry === undefined ? null : await carry(contentsIn(partial));
    if (files !== null) noteFiles(partial, files);
    noteSeries(partial, path);
    const pending = countPending(partial);
    syncToDisk(partial);
    const asidePath = moveAside(path, stamp);
    disownFile(path);
    takeName(partial, path);
    return { ...copied, path, bytes: statSync(path).size, asidePath, ...pending, files };
  } catch (thrown) {
    removeFile(partial);
    throw replicaError(thrown, `Restoring ${backup} to ${path}`);
  } finally {
    lock.close();
  }
}

/** Before the first pull there is none. @throws RowsyncError `replica.otherDatabase`. */
function requireDatabase(copy: string, backup: string, database: string): void {
  const found = withFile(copy, READ_ONLY, (db) => queryText(db, sql`SELECT database FROM _rowsync_identity`));
  if (found === null || found === database) return;
  throw new RowsyncError('replica', 'replica.otherDatabase', {
    message: `${backup} holds database ${found}, the configuration names ${database}`,
    hint: 'Nothing was changed. Name a backup of that database, or another configuration (--config).',
  });
}

/** Content that was not copied is marked as missing, and the next pull fetches it. */
function noteFiles(path: string, { folder, lost }: CarryReport): void {
  withFile(path, {}, (db) => {
    change(db, (tx) => {
      if (folder !== null) storeStoreFolder(tx, folder);
      for (const sha256 of lost) storeContentLost(tx, sha256);
    });
  });
}

/** Lets the copy know what the replaced file sent to sinks. If that file cannot be read, a person is asked later. */
function noteSeries(partial: string, path: string): void {
  if (!existsSync(path)) return;
  withFile(partial, {}, (db) => {
    try {
      withFile(path, READ_ONLY, (replaced) => change(db, (tx) => inheritSeries(tx, replaced)));
    } catch (thrown) {
      if (sqliteCode(thrown) === undefined) throw thrown;
    }
  });
}

/** Changes a file that no replica is open on. */
function change(db: Database.Database, work: (tx: Tx) => void): void {
  const cause = { cause: 'restore', runId: null } as const;
  db.transaction(() => runOpen(db, work, { clock: systemClock, cause })).immediate();
}

/** @throws RowsyncError `usage.invalid` where there is no such file. */
export function requireBackup(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return;
  throw usageError(`There is no file ${path}`, 'Name the file that rowsync backup made.');
}

async function copyBackup(backup: string, partial: string): Promise<Pick<CopyReport, 'tableCount' | 'rowCount'>> {
  removeFile(partial);
  requireBackup(backup);
  try {
    const { tableCount, rowCount } = await backUp(backup, partial);
    return { tableCount, rowCount };
  } catch (thrown) {
    throw ofBackup(backup, replicaError(thrown, `Reading ${backup}`));
  }
}

/** What a person does about a file that cannot be restored: the error speaks of it as if it were the replica. */
function ofBackup(backup: string, error: RowsyncError): RowsyncError {
  const { kind, code } = error;
  if (!['backup.damaged', 'replica.damaged', 'replica.foreign'].includes(code)) return error;
  const hint =
    'The replica was left as it is. Restore another backup; rowsync backup --drill says whether the newest one is whole.';
  const message = code === 'replica.foreign' ? `${backup} is not a replica that rowsync made` : error.message;
  return new RowsyncError(kind, code, { message, hint, cause: error });
}

/** New rows, of tables that are still here, and edited ones. */
function countPending(path: string): Pick<RestoreReport, 'pendingCreateCount' | 'pendingEditCount'> {
  const tables = sql`SELECT local_name FROM _rowsync_tables WHERE push <> 'off' AND state <> 'gone'
    AND EXISTS (SELECT 1 FROM pragma_table_info(local_name) WHERE name = '_id')`;
  return withFile(path, READ_ONLY, (db) => {
    const countOf = (name: string): number => queryNumber(db, sql`SELECT count(*) FROM ${ident(name)} WHERE _id < 0`);
    const edited = sql`SELECT count(*) FROM _rowsync_rows WHERE row_id > 0 AND state = 'edited'`;
    return {
      pendingCreateCount: sumOf(queryTexts(db, tables), countOf),
      pendingEditCount: queryNumber(db, edited),
    };
  });
}

/**
 * Moves the replica and SQLite's files beside it, because the log may hold changes that the file does not have yet;
 * null without a replica. A log is moved too if its replica is gone, because SQLite would write it into the next file.
 */
export function moveAside(path: string, stamp: string): string | null {
  const isThere = existsSync(path);
  emptyLog(path);
  const aside = freeName((number) => `${path}.replaced-${stamp}${number}`, [...LOGS, '']);
  for (const ending of [...LOGS, '-shm', '']) if (existsSync(path + ending)) renameSync(path + ending, aside + ending);
  return isThere ? aside : null;
}

/**
 * Brings what only the log has into its file. Two files cannot be renamed at once. A crash in between would leave a
 * replica without the last edits, and the next process would take it for complete. Where that cannot be done (another
 * client reads, the file is damaged, the log is another file's), both are moved as they are.
 */
function emptyLog(path: string): void {
  // SQLite deletes the log of a file that is empty.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  try {
    requireOwnLog(path);
    withFile(path, { fileMustExist: true, timeout: 50 }, (db) => db.pragma('wal_checkpoint(TRUNCATE)'));
  } catch {
    // moved as they are
  }
}

/** A dated name that is free with every ending: two may be made within a second, or after the clock was set back. */
export function freeName(nameOf: (number: string) => string, endings: readonly string[] = ['']): string {
  let name = nameOf('');
  for (let number = 2; endings.some((ending) => existsSync(name + ending)); number += 1) name = nameOf(`-${number}`);
  return name;
}
