/**
 * The steps that every copy of a replica goes through before it counts. Its rows are counted, SQLite reads it whole,
 * and it gets its name once it is on the disk. An error leaves no file.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { RowsyncError } from '../base/errors.ts';
import { ident, sql } from '../base/sql.ts';
import { queryNumber, queryTexts } from './query.ts';

/** What a copy is called until it is checked. */
export const PARTIAL = '.partial';

/** Opens a SQLite file for some work, and closes it again. */
export function withFile<T>(path: string, options: Database.Options, work: (db: Database.Database) => T): T {
  const db = new Database(path, options);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Makes an empty file that only its owner may read, for SQLite to fill; what an earlier try left there goes. */
export function makePrivate(path: string): void {
  removeFile(path);
  closeSync(openSync(path, 'wx', 0o600));
}

/** Rows of every table that holds some of the origin's, by name. */
export function countRows(db: Database.Database): ReadonlyMap<string, number> {
  const text = sql`SELECT local_name FROM _rowsync_tables WHERE local_name COLLATE NOCASE IN (SELECT name FROM sqlite_schema WHERE type = 'table')`;
  return new Map(queryTexts(db, text).map((name) => [name, queryNumber(db, sql`SELECT count(*) FROM ${ident(name)}`)]));
}

/** Reads a copy whole and compares its rows with what was counted. @throws RowsyncError `backup.damaged`. */
export function checkCopy(path: string, expected: ReadonlyMap<string, number>): void {
  withFile(path, { fileMustExist: true }, (db) => {
    // One file, without a log beside it; opening it as a replica turns that on again.
    db.pragma('journal_mode = DELETE');
    const verdict = db.pragma('integrity_check(1)', { simple: true });
    const found = countRows(db);
    const wrong = [...expected].filter(([name, count]) => found.get(name) !== count).map(([name]) => name);
    if (verdict === 'ok' && wrong.length === 0) return;
    throw new RowsyncError('replica', 'backup.damaged', {
      message: `The copy differs from what was copied: ${verdict === 'ok' ? `another number of rows in ${wrong.join(', ')}` : String(verdict)}`,
      hint: 'Nothing was kept. Check the disk; if the replica itself is damaged, rowsync rebuild makes it anew.',
    });
  });
}

/** Gives a file its name once it is on the disk; without a sync of the folder, a power cut takes the name back. */
export function takeName(from: string, to: string): void {
  syncToDisk(from);
  renameSync(from, to);
  syncToDisk(dirname(to));
}

/** Makes a file, or the names in a folder, outlive a power cut. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Removes a SQLite file with all that SQLite keeps beside it. */
export function removeFile(path: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(path + ending, { force: true });
}
