/**
 * The replica file: opening it under a lock (lock.ts), pragmas, and the one way to write: an object that then ends.
 *
 * Every write is one `BEGIN IMMEDIATE` transaction around synchronous code; the network is never awaited inside it.
 * SQLite waits for another client's lock at most 50 ms inside the event loop, then we wait outside of it and try again.
 */
import Database from 'better-sqlite3';
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { createBookkeeping, SCHEMA_VERSION } from './bookkeeping/schema.ts';
import type { Cause, ChangeCause, Connection, Tx } from './connection.ts';
import { realPathOf, detectOlderCopy, requireFile, requireOwnLog, wasReplica } from './older-copy.ts';
import { replicaError, sqliteCode, withReplicaErrors } from './sqlite-errors.ts';
import {
  APPLICATION_ID,
  BUSY_TIMEOUT_MS,
  connectAnew,
  createWithMode,
  PRIVATE_MODE,
  SHARED_MODE,
  takeLock,
  type Connect,
} from './lock.ts';
import { forgetSchema, readSchemaVersion } from './schema-objects.ts';
import { sql, type Sql } from '../base/sql.ts';
import { checkVersion, downgradeHint, upgradeFile, type Upgrade } from './upgrade.ts';
import { checkEditsComplete, damaged, isAsLeft, noteLeft } from './integrity-check.ts';
import { assert } from '../base/assert.ts';
import { HistoryWriter } from './history-writer.ts';
import { storeAllCompareDue } from './bookkeeping/tables.ts';

/** Longest wait for another client's transaction altogether; people leave transactions open for minutes. */
const WRITE_WAIT_MS_MAX = 300_000;
/** Pause between two tries for the lock, before jitter. */
const WRITE_PAUSE_MS = 100;
/** The write-ahead log is cut back to this size after a checkpoint. */
const WAL_BYTES_MAX = 64 * 1024 * 1024;

/** Pages that SQLite keeps in memory; the system keeps the rest of the file in its own, where it has room. */
const CACHE_KIB = 4096;

const END: Readonly<Record<TransactionOptions['end'], Sql>> = { COMMIT: sql`COMMIT`, ROLLBACK: sql`ROLLBACK` };

interface TransactionOptions {
  readonly synchronous: 'NORMAL' | 'FULL';
  readonly end: 'COMMIT' | 'ROLLBACK';
  readonly signal: AbortSignal | undefined;
}

/** Prepared statements that are kept: those of hundreds of two-way tables would fill the memory. */
const STATEMENTS_MAX = 1_000;

interface OpenReplica {
  readonly path: string;
  readonly upgrade: Upgrade | null;
  readonly db: Database.Database;
  /** Null where another process works on the file. */
  readonly lock: Database.Database | null;
  readonly clock: Clock;
  /** Called again and again while a write waits for another client. */
  readonly onWait?: ((waitedMs: number) => void) | undefined;
  /** Which file was at the path when it was opened. */
  readonly file: string | null;
  readonly statements: Map<Sql, Database.Statement>;
  /** `PRAGMA schema_version` as this process, or the one that just closed the file, left it; null if unknown. */
  schemaVersion: unknown;
  hasMetDamage: boolean;
  /** `PRAGMA data_version` when the file was opened. */
  readonly foreignVersion: unknown;
  readonly counters: { busyMs: number; uncapturedCount: number };
}

export class Replica implements Connection {
  readonly path: string;
  /** What was done when the file was opened, because an earlier version had written it; null for nothing. */
  readonly upgrade: Upgrade | null;
  readonly #open: OpenReplica;
  readonly #cause: ChangeCause;

  constructor(open: OpenReplica, cause: ChangeCause) {
    this.path = open.path;
    this.upgrade = open.upgrade;
    this.#open = open;
    this.#cause = cause;
  }

  get root(): object {
    return this.#open;
  }

  /** The same open file, with the cause of all that is written through it. It is read when a transaction begins. */
  because(cause: ChangeCause): Replica {
    return new Replica(this.#open, cause);
  }

  /** Makes sure that the open file is still at the path: writes would be lost. @throws RowsyncError `replica.path`. */
  requireInPlace(): void {
    if (fileAt(this.path) === this.#open.file) return;
    throw new RowsyncError('replica', 'replica.path', {
      message: `${this.path} was moved, deleted or exchanged while rowsync worked on it`,
      hint: 'Put the file back; or stop rowsync and pull anew, without what was written since the last pull.',
    });
  }

  prepare(text: Sql): Database.Statement {
    const { db, statements } = this.#open;
    let statement = statements.get(text);
    if (statement !== undefined) return statement;
    statement = db.prepare(text);
    if (/^\s*(?:CREATE|DROP)\b/.test(text)) return statement; // runs once
    if (statements.size >= STATEMENTS_MAX) statements.clear();
    statements.set(text, statement);
    return statement;
  }

  /** A number that differs whenever another client has changed the file since it was last read. */
  foreignVersion(): number {
    const text = sql`PRAGMA data_version`;
    return Number(this.prepare(text).pluck().get());
  }

  /** Sums since the replica was opened: how long writes waited for other clients, and edits that no trigger saw. */
  counters(): { readonly busyMs: number; readonly uncapturedCount: number } {
    return { ...this.#open.counters };
  }

  /** Runs `change`, which is synchronous, in a transaction. @throws RowsyncError `replica.busy`, `replica.full`, …. */
  write<T>(what: string, change: (tx: Tx) => T, signal?: AbortSignal): Promise<T> {
    return this.#transact(what, change, { synchronous: 'NORMAL', end: 'COMMIT', signal });
  }

  /** Like `write`, but on the disk before it returns: for records that must precede a changing request (I11). */
  writeDurably<T>(what: string, change: (tx: Tx) => T, signal?: AbortSignal): Promise<T> {
    return this.#transact(what, change, { synchronous: 'FULL', end: 'COMMIT', signal });
  }

  /** Runs `change` in a transaction, returns its result, and takes everything back. */
  rehearse<T>(what: string, change: (tx: Tx) => T): Promise<T> {
    return this.#transact(what, change, { synchronous: 'NORMAL', end: 'ROLLBACK', signal: undefined });
  }

  /** From the lock to the end of the transaction nothing is awaited: several callers share the one connection. */
  async #transact<T>(what: string, change: (tx: Tx) => T, options: TransactionOptions): Promise<T> {
    this.requireInPlace();
    const startedMs = this.#open.clock.monotonicMs();
    // Ends after WRITE_WAIT_MS_MAX.
    while (!this.#begin(what, options, startedMs)) {
      const beforeMs = this.#open.clock.monotonicMs();
      this.#open.onWait?.(beforeMs - startedMs);
      await this.#open.clock.sleep(WRITE_PAUSE_MS * (0.5 + this.#open.clock.random()), options.signal);
      this.#open.counters.busyMs += this.#open.clock.monotonicMs() - beforeMs;
    }
    try {
      // OR IGNORE: another client may have left the flag behind; then it is ours now, and gone with this transaction.
      this.prepare(sql`INSERT OR IGNORE INTO _rowsync_writer (flag) VALUES (1)`).run();
      // Edits may have gone unmarked while no process of ours saw it, or while another client's trigger or unique index
      // was there, even if it is gone by now. Not in a file that nobody has written to since one of ours closed it.
      if (readSchemaVersion(this) !== this.#open.schemaVersion) storeAllCompareDue(this);
      const result = runOpen(this, change, {
        clock: this.#open.clock,
        cause: { ...this.#cause },
        countUncaptured: (count) => void (this.#open.counters.uncapturedCount += count),
        isKept: options.end === 'COMMIT',
      });
      this.prepare(sql`DELETE FROM _rowsync_writer`).run();
      const schemaVersion = readSchemaVersion(this);
      this.prepare(END[options.end]).run();
      if (options.end === 'COMMIT') this.#open.schemaVersion = schemaVersion;
      else forgetSchema(this);
      return result;
    } catch (thrown) {
      // SQLite ends the transaction itself on some errors, a full disk among them.
      if (this.#open.db.inTransaction) this.#open.db.exec('ROLLBACK');
      forgetSchema(this);
      const error = replicaError(thrown, `${what} in ${this.path}`);
      this.#open.hasMetDamage ||= error.code === 'replica.damaged';
      throw error;
    } finally {
      if (options.synchronous === 'FULL') this.#open.db.exec('PRAGMA synchronous = NORMAL');
    }
  }

  /** Opens a transaction; false where another client holds the lock, and there is time to wait for it. */
  #begin(what: string, { synchronous, signal }: TransactionOptions, startedMs: number): boolean {
    try {
      if (synchronous === 'FULL') this.#open.db.exec('PRAGMA synchronous = FULL');
      this.prepare(sql`BEGIN IMMEDIATE`).run();
      return true;
    } catch (thrown) {
      if (synchronous === 'FULL') this.#open.db.exec('PRAGMA synchronous = NORMAL');
      const error = replicaError(thrown, `${what} in ${this.path}`);
      const waitedMs = this.#open.clock.monotonicMs() - startedMs;
      if (error.code !== 'replica.busy' || waitedMs > WRITE_WAIT_MS_MAX || signal?.aborted === true) throw error;
      return false;
    }
  }

  /** Closes the file and lets go of the lock. */
  close(): void {
    const { db, lock, hasMetDamage } = this.#open;
    const writtenMs = lock === null || hasMetDamage ? null : this.#settle();
    db.close();
    if (lock === null) return;
    if (writtenMs !== undefined) noteLeft(this.path, lock.name, writtenMs);
    lock.close();
  }

  /** Empties the log. When the file was last written; undefined if another program did, whose edits may lack a mark. */
  #settle(): number | undefined {
    try {
      this.prepare(sql`PRAGMA wal_checkpoint(PASSIVE)`).get();
      const { mtimeMs } = statSync(this.path);
      const { schemaVersion, foreignVersion } = this.#open;
      const isOurs = readSchemaVersion(this) === schemaVersion && this.foreignVersion() === foreignVersion;
      return isOurs ? mtimeMs : undefined;
    } catch {
      return undefined; // the file was moved, or cannot be read any more
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Opens the replica for writing, or makes it. @throws RowsyncError `replica.path`, `replica.inUse`, …. */
export function openReplica(
  path: string,
  deps: Pick<OpenReplica, 'clock' | 'onWait'> & { shared?: boolean; connect?: Connect },
): Replica {
  const { connect = connectAnew, clock, onWait } = deps;
  const absolute = resolve(path);
  const mode = deps.shared === true ? SHARED_MODE : PRIVATE_MODE;
  requireFile(absolute);
  const lock = takeLock(absolute, mode, connect);
  try {
    const wasThere = existsSync(absolute);
    const isLeft = (): boolean => isAsLeft(realPathOf(absolute), lock.name, clock.nowMs());
    const wasLeft = isLeft();
    createWithMode(absolute, mode);
    requireOwnLog(absolute);
    const isNew = isNewFile(absolute, connect);
    if (isNew && wasThere && wasReplica(absolute)) throw damaged(absolute, 'it is empty, although it was a replica');
    const db = connect(absolute, { timeout: BUSY_TIMEOUT_MS });
    try {
      proveWritable(db);
      if (!isNew) checkEditsComplete(db, absolute, { isLeft: wasLeft });
      const upgrade = prepareFile(db, absolute, isNew);
      detectOlderCopy(db, { path: absolute, isNew, clock });
      const found = db.pragma('schema_version', { simple: true });
      // Asked again: edits that came meanwhile may have hidden behind changes of the schema.
      const schemaVersion = wasLeft && upgrade === null && isLeft() ? found : null;
      return openedReplica({ path: absolute, db, lock, clock, upgrade, onWait, schemaVersion });
    } catch (thrown) {
      db.close();
      throw thrown;
    }
  } catch (thrown) {
    lock.close();
    const error = replicaError(thrown, `Opening the replica ${absolute}`);
    // Nothing of a SQLite file is left to see, but a file of another client would have no count beside it.
    const isNoDatabase = error.code === 'replica.foreign' && sqliteCode(error.cause) === 'SQLITE_NOTADB';
    const failure =
      isNoDatabase && wasReplica(absolute) ? damaged(absolute, 'its header is not that of a database') : error;
    if (failure.code === 'replica.damaged') noteLeft(absolute, lock.name, null);
    throw failure;
  }
}

/** Opens a replica beside the process at work, for rehearsals. @throws RowsyncError `replica.older`, …. */
export function openForRehearsal(path: string, { clock, onWait }: Pick<OpenReplica, 'clock' | 'onWait'>): Rehearsal {
  const absolute = resolve(path);
  return withReplicaErrors(`Opening the replica ${absolute}`, () => {
    const db = new Database(absolute, { timeout: BUSY_TIMEOUT_MS, fileMustExist: true });
    try {
      checkEditsComplete(db, absolute);
      checkOwner(db, absolute);
      checkVersion(db, absolute);
      const none = { lock: null, upgrade: null, schemaVersion: null };
      return openedReplica({ ...none, path: absolute, db, clock, onWait });
    } catch (thrown) {
      db.close();
      throw thrown;
    }
  });
}

function openedReplica(
  parts: Omit<OpenReplica, 'file' | 'statements' | 'hasMetDamage' | 'foreignVersion' | 'counters'>,
): Replica {
  const open = {
    ...parts,
    file: fileAt(parts.path),
    statements: new Map(),
    hasMetDamage: false,
    foreignVersion: parts.db.pragma('data_version', { simple: true }),
    counters: { busyMs: 0, uncapturedCount: 0 },
  };
  return new Replica(open, { cause: 'pull', runId: null });
}

/** What may be done beside the process that works on the replica. */
export type Rehearsal = Pick<Replica, 'prepare' | 'rehearse' | 'close'> & Disposable;

/** Which file a path leads to, by device and inode; null where there is none. */
function fileAt(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** Whether a file is empty. Read-only: closing a writable one writes its log. @throws RowsyncError as `checkOwner`. */
function isNewFile(path: string, connect: Connect, readonly = true): boolean {
  const db = connect(path, { readonly, timeout: BUSY_TIMEOUT_MS });
  try {
    const marks = ['schema_version', 'application_id', 'user_version'].map((name) => db.pragma(name, { simple: true }));
    if (marks.every((mark) => mark === 0)) return true;
    checkOwner(db, path);
    return false;
  } catch (thrown) {
    // A writer crashed, and its change must be undone before anybody can read: SQLite does that when it may write.
    if (readonly && sqliteCode(thrown) === 'SQLITE_READONLY_ROLLBACK') return isNewFile(path, connect, false);
    throw thrown;
  } finally {
    db.close();
  }
}

/** SQLite opens a file that it may not write, and fails at the first write; so one is tried and undone. */
function proveWritable(db: Database.Database): void {
  try {
    db.exec('BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK');
  } catch (thrown) {
    // Another client is writing, so the file can be written.
    if (sqliteCode(thrown)?.startsWith('SQLITE_BUSY') !== true) throw thrown;
  }
}

/** Sets and checks the pragmas, and brings the bookkeeping up to date. */
function prepareFile(db: Database.Database, path: string, isNew: boolean): Upgrade | null {
  applyPragmas(db, [
    ['journal_mode', 'wal'],
    ['synchronous', 1], // a page lost in a power cut is lost together with its ETag, and is simply read again
    ['foreign_keys', 0], // a key that another client added must not take rows of one table along with those of another
    ['trusted_schema', 0],
    ['cell_size_check', 1],
    ['journal_size_limit', WAL_BYTES_MAX],
    ['cache_size', -CACHE_KIB],
  ]);
  if (!isNew) return upgradeFile(db, path);
  db.transaction(() => {
    createBookkeeping(db);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  }).immediate();
  return null;
}

/** @throws RowsyncError `replica.foreign` or `replica.newer`. */
export function checkOwner(db: Database.Database, path: string): void {
  if (db.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
    throw new RowsyncError('replica', 'replica.foreign', {
      message: `${path} is a SQLite file that rowsync did not make`,
      hint: 'Nothing was changed. Point replica.path to a new file, or move this one away.',
    });
  }
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > SCHEMA_VERSION) {
    throw new RowsyncError('replica', 'replica.newer', {
      message: `${path} has version ${version}; this rowsync knows versions up to ${SCHEMA_VERSION}`,
      hint: downgradeHint(path, version),
    });
  }
}

/** Sets pragmas and reads each one back, since SQLite ignores what it does not know or cannot do. */
function applyPragmas(db: Database.Database, pragmas: readonly (readonly [string, string | number])[]): void {
  for (const [name, value] of pragmas) {
    db.pragma(`${name} = ${value}`);
    const found = db.pragma(name, { simple: true });
    if (found !== value) {
      throw new RowsyncError('replica', 'replica.failed', {
        message: `SQLite did not accept ${name} = ${value} (it is ${String(found)})`,
        hint: 'Network file systems do not support what a replica needs; use a local disk.',
      });
    }
  }
}

interface Shared {
  readonly connection: Connection;
  readonly history: HistoryWriter;
  readonly countUncaptured: (count: number) => void;
  isOpen: boolean;
}

class Transaction implements Tx {
  readonly cause: ChangeCause;
  readonly #shared: Shared;

  constructor(shared: Shared, cause: ChangeCause) {
    this.#shared = shared;
    this.cause = cause;
  }

  get root(): object {
    return this.#shared.connection.root ?? this.#shared.connection;
  }

  get history(): HistoryWriter {
    this.#requireOpen();
    return this.#shared.history;
  }

  prepare(text: Sql): Database.Statement {
    this.#requireOpen();
    return this.#shared.connection.prepare(text);
  }

  because(cause: Cause): Tx {
    return new Transaction(this.#shared, { ...this.cause, cause });
  }

  countUncaptured(count: number): void {
    this.#requireOpen();
    this.#shared.countUncaptured(count);
  }

  #requireOpen(): void {
    assert(this.#shared.isOpen, 'a transaction is not used after its end');
  }
}

/** Runs code with an object for the transaction that the caller has begun, and writes the history before it returns. */
export function runOpen<T>(
  connection: Connection,
  change: (tx: Tx) => T,
  options: {
    readonly clock: Clock;
    readonly cause: ChangeCause;
    readonly countUncaptured?: (count: number) => void;
    /** Whether what is written is kept; a history of what is taken back is not written. */
    readonly isKept?: boolean;
  },
): T {
  const { clock, cause, countUncaptured = () => undefined, isKept = true } = options;
  const history = new HistoryWriter(connection, clock);
  const shared: Shared = { connection, history, countUncaptured, isOpen: true };
  try {
    const result = change(new Transaction(shared, cause));
    if (isKept) history.flush();
    return result;
  } finally {
    shared.isOpen = false;
  }
}
