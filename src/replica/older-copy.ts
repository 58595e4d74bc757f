/**
 * Notices that an older copy of the replica was put in its place, by hand or by `rowsync restore`. What such a copy
 * wants to send may have been sent since it was made, and changed again.
 *
 * Batches are counted in the file as they are recorded, and those that create rows also as they are settled. The count
 * is beside the file in `<replica>.sent` before a batch leaves. A file that has counted less, or has the count of
 * another file beside it, is an older copy. No ETag is trusted, two-way tables are compared with base, and edits wait
 * (capture/find-edits.ts). Losing `.sent` costs just that.
 *
 * A copy beside the log of the replica that it replaces is not opened at all: SQLite would write that log over it.
 */
import { closeSync, existsSync, fchmodSync, openSync, realpathSync, rmSync, statSync, writeSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { stampFromMs, type Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { readBytesAt, readShortText } from '../base/file-system.ts';
import type { PutBack } from '../reconcile/account/facts.ts';
import type { Connection, Tx } from './connection.ts';
import { takeName } from './copy-file.ts';
import { sql } from '../base/sql.ts';
import { queryFirst, queryText } from './query.ts';

/** One row: which file it is, and how many batches it has recorded, with those that create rows and are settled. */
export const SENT = sql`
  CREATE TABLE _rowsync_sent (
    lock INTEGER PRIMARY KEY CHECK (lock = 1), file_id TEXT NOT NULL, batch_count INTEGER NOT NULL
  ) STRICT`;

/** The same as a value. */
interface Count {
  readonly fileId: string;
  readonly batchCount: number;
}

/** Looks whether the replica is the file that sent last, and trusts less of it where it is not. */
export function detectOlderCopy(
  db: Database.Database,
  file: { readonly path: string; readonly isNew: boolean; readonly clock: Clock },
): void {
  const inside = readInside(db);
  const beside = readBeside(file.path);
  const isFirst = inside === null ? file.isNew || beside === null : isUnfilled(db, beside); // new, or cut off as it was made
  if (inside !== null && sentLast(inside, beside)) {
    // Where a crash came between the two, the batch never left. The replica may have been opened up to its group since.
    const isSameCount = beside?.batchCount === inside.batchCount;
    if (!isSameCount || modeOf(besideOf(file.path)) !== modeOf(file.path)) writeBeside(file.path, inside);
    return;
  }
  const count = { fileId: makeId(file.clock), batchCount: inside?.batchCount ?? 0 };
  // After a power cut, a file that is empty, or does not know its id, would differ from the one beside it.
  db.pragma('synchronous = FULL');
  db.transaction(() => {
    db.prepare(
      sql`INSERT INTO _rowsync_sent (lock, file_id, batch_count) VALUES (1, @fileId, @batchCount)
          ON CONFLICT (lock) DO UPDATE SET file_id = excluded.file_id`,
    ).run({ ...count, batchCount: BigInt(count.batchCount) });
    if (!isFirst) distrust(db, { nowMs: file.clock.nowMs(), isOrdered: beside?.fileId === RESTORED });
  }).immediate();
  db.pragma('synchronous = NORMAL');
  writeBeside(file.path, count);
}

/** Whether a file is the one that sent last, as far as anything tells. */
function sentLast(inside: Count, beside: Count | null): boolean {
  return beside?.fileId === inside.fileId && beside.batchCount <= inside.batchCount;
}

/** Whether a file has no table yet, nor a count beside it: it was cut off between its own count and that one. */
function isUnfilled(from: Connection, beside: Count | null): boolean {
  return beside === null && from.prepare(sql`SELECT 1 FROM _rowsync_tables LIMIT 1`).get() === undefined;
}

/** Whether a file is an older copy that was not opened for writing since; for readers, also of a damaged file. */
export function isUnopenedCopy(from: Connection, path: string): boolean {
  try {
    const inside = readInside(from);
    const beside = readBeside(path);
    return inside === null ? beside !== null : !sentLast(inside, beside) && !isUnfilled(from, beside);
  } catch {
    return true; // nothing vouches for it
  }
}

/** Whether there was a replica under this path, regardless of the present file. */
export function wasReplica(path: string): boolean {
  return readBeside(path) !== null;
}

/** Where the file format (1.3) says whether a file is written with a log beside it: 2 where it is, 1 where not. */
const FORMAT_AT = 18;

/** Refuses a file without a log of its own that has one beside it. @throws RowsyncError `replica.log`. */
export function requireOwnLog(path: string): void {
  const log = `${realPathOf(path)}-wal`;
  const logBytes = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (logBytes === 0 || readBytesAt(path, FORMAT_AT, 1)[0] !== 1) return;
  throw new RowsyncError('replica', 'replica.log', {
    message: `${path} was put in the place of another file, whose log is still beside it: SQLite would write ${log} over it`,
    hint: `Move ${log} away, and what ends in -shm; nothing was changed. rowsync restore FILE puts a backup in place without that.`,
  });
}

/** Counts a batch; in the transaction that records it, or settles its new rows, which is to be durable. */
export function countBatch(tx: Tx): void {
  tx.prepare(sql`UPDATE _rowsync_sent SET batch_count = batch_count + 1`).run();
}

/** Writes the count beside the file: before a recorded batch leaves, or after one is settled. */
export function publishCount(replica: Connection & { readonly path: string }): void {
  const count = readInside(replica);
  if (count !== null) writeBeside(replica.path, count);
}

const RESTORED = 'restored';

/** Makes the next file that is opened under this path count as a copy that was put back, as a person ordered. */
export function disownFile(path: string): void {
  writeBeside(path, { fileId: RESTORED, batchCount: 0 });
}

/** Until when a file knew the origin: the end of its last run. */
const KNOWN_UNTIL = sql`SELECT max(coalesce(finished_at, started_at)) FROM _rowsync_runs`;

/** Lets a path count as one where no replica was. A file that is put back there counts as an older copy. */
export function forgetFile(path: string): void {
  rmSync(besideOf(path), { force: true });
}

/** Marks that the history continues from an older state. No earlier file has had numbers from the time in µs on. */
const MARK_RESTORED = sql`
  INSERT INTO _rowsync_history (seq, kind, at, not_before, not_after, cause, cells)
  SELECT max(coalesce(max(seq), 0) + 1, @number), 'restored', @at, @at, @at, 'restore',
         json_object('knownUntil', (${KNOWN_UNTIL}), 'isOrdered', @isOrdered)
  FROM _rowsync_history`;

/** The last time since a stamp that an older copy was put back, unless a person did and every table was read anew. */
export function readPutBack(from: Connection & { readonly path: string }, since: string): PutBack | null {
  if (readBeside(from.path)?.fileId === RESTORED) {
    const restoredAt = stampFromMs(statSync(besideOf(from.path)).mtimeMs);
    return { since: restoredAt, knownUntil: queryText(from, KNOWN_UNTIL), isUnopened: true };
  }
  // Only the few entries that are about no row are looked at.
  const text = sql`SELECT strftime('%Y-%m-%dT%H:%M:%SZ', at, 'unixepoch') AS since, cells ->> 'knownUntil' AS knownUntil
    FROM _rowsync_history h WHERE row_id IS NULL AND kind = 'restored' AND at >= unixepoch(?)
      AND (cells ->> 'isOrdered' IS NOT 1
        OR EXISTS (SELECT 1 FROM _rowsync_tables t
          WHERE t.state <> 'gone' AND t.end_proven = 0 AND coalesce(unixepoch(t.swept_at), 0) <= h.at))
    ORDER BY seq DESC LIMIT 1`;
  const found = from.prepare(text).get(since) as Omit<PutBack, 'isUnopened'> | undefined; // as selected
  return found === undefined ? null : { ...found, isUnopened: false };
}

/** The next pull asks for everything anew; what is edited now waits for a person (`holdOf` in push/push-table.ts). */
function distrust(db: Database.Database, { nowMs, isOrdered }: Readonly<{ nowMs: number; isOrdered: boolean }>): void {
  db.prepare(MARK_RESTORED).run({
    isOrdered: isOrdered ? 1n : 0n,
    number: BigInt(Math.floor(nowMs)) * 1000n,
    at: BigInt(Math.floor(nowMs / 1000)),
  });
  db.exec(sql`UPDATE _rowsync_pages SET etag = NULL`);
  db.exec(sql`DELETE FROM _rowsync_descriptors`);
  // What a person let through, or decided, when the copy was made was used up since.
  db.exec(sql`UPDATE _rowsync_tables SET sweep_open = 0, end_proven = 0, pull_consent = NULL, push_consent = NULL`);
  db.exec(
    sql`UPDATE _rowsync_conflicts SET requested = 0, problem = 'this decision is from an older copy that was put back; decide once more'
        WHERE requested = 1`,
  );
  db.exec(
    sql`UPDATE _rowsync_tables SET compare_due = 1, (older_copy, doubt_creates_from) =
          (SELECT 'creates', last_id FROM _rowsync_local_ids WHERE table_id = _rowsync_tables.id) WHERE push <> 'off'`,
  );
}

function makeId(clock: Clock): string {
  return Array.from({ length: 16 }, () => Math.floor(clock.random() * 16).toString(16)).join('');
}

function readInside(from: Connection): Count | null {
  return queryFirst(from, sql`SELECT file_id AS fileId, batch_count AS batchCount FROM _rowsync_sent`) as Count | null;
}

/** More than a count takes. */
const COUNT_BYTES_MAX = 1_000;

/** Null if it is missing or unreadable. */
function readBeside(path: string): Count | null {
  let text: string;
  try {
    text = readShortText(besideOf(path), COUNT_BYTES_MAX);
  } catch {
    return null; // missing, or not for us: either way nothing vouches for the file
  }
  const [, fileId = '', batches = ''] = /^([0-9a-z]+) (\d{1,15})\n$/.exec(text) ?? [];
  return fileId === '' ? null : { fileId, batchCount: Number(batches) };
}

/** Replaced as a whole and on the disk when this returns; as readable as the replica is. */
function writeBeside(path: string, { fileId, batchCount }: Count): void {
  const target = besideOf(path);
  const partial = `${target}.partial`;
  const mode = modeOf(path) ?? 0o600;
  // Left by a crash, or a link that someone put there: nothing is written through it.
  rmSync(partial, { force: true });
  const file = openSync(partial, 'wx', mode);
  try {
    fchmodSync(file, mode); // the process may mask bits of new files
    writeSync(file, `${fileId} ${batchCount}\n`);
  } finally {
    closeSync(file);
  }
  takeName(partial, target);
}

/** What its owner and group may do with a file; null if there is none. */
function modeOf(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : found.mode & 0o660;
}

function besideOf(path: string): string {
  return `${realPathOf(path)}.sent`;
}

/** Refuses what is no file: opening a pipe would wait for ever. @throws RowsyncError `replica.path`. */
export function requireFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  throw new RowsyncError('replica', 'replica.path', {
    message: `${path} is not a file`,
    hint: 'Find out who put it there, and move it away; or change replica.path.',
  });
}

/** The real path of a file, without links: all its users share the files beside it. A path of none stays as it is. */
export function realPathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
