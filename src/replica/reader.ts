/**
 * Read-only access to the replica for everything that does not write: commands, the page, agents, sinks, metrics. It
 * takes no lock, and works beside a running pull.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'better-sqlite3';
import { RowsyncError, usageError } from '../base/errors.ts';
import { sql, type Sql } from '../base/sql.ts';
import type { StatusFacts } from '../reconcile/account/facts.ts';
import type { Identity } from '../reconcile/guards.ts';
import { guessText } from '../reconcile/option-bindings.ts';
import { CONFLICT_LINE, type ConflictLine } from './bookkeeping/conflicts.ts';
import { SCHEMA_VERSION } from './bookkeeping/schema.ts';
import type { Connection } from './connection.ts';
import { readPutBack, requireFile } from './older-copy.ts';
import { checkOwner } from './database.ts';
import { errorFromReading, replicaError, sqliteCode } from './sqlite-errors.ts';
import { queryAny, queryTexts, withFlags } from './query.ts';

/** No limit, as SQLite has it. */
const ALL = -1;

/** A row of `sync_status`. `state` is also `restored` in a file that was put back and not opened for writing since. */
export interface TableStatus extends StatusFacts {
  readonly rowCount: number;
  readonly pageCount: number;
  readonly lastSweepAt: string | null;
  /** Why the table is read as one run of pages (reconcile/windows.ts); null where windows are in use. */
  readonly oneWindow: string | null;
  /** Whether only the rows of a filter come here (`rows`). */
  readonly isFiltered: boolean;
  /** mirror · waiting (to be two-way after the next sweep) · two-way. */
  readonly mode: string;
  /** Columns whose values are masked. */
  readonly maskedCount: number;
  /** Edited rows that are still to be pushed. */
  readonly pendingCount: number;
  /** Rows that wait for a person or a timer, those in conflict among them. */
  readonly parkedCount: number;
  /** When the oldest of all these was edited; null where there are none. */
  readonly oldestChangeAt: string | null;
  readonly problem: string | null;
  readonly hint: string | null;
}

export interface RunRecord {
  readonly id: number;
  readonly kind: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly outcome: string;
  readonly tableCount: number;
  readonly requestCount: number;
  readonly notModifiedCount: number;
  readonly receivedBytes: number;
  readonly insertedCount: number;
  readonly updatedCount: number;
  readonly deletedCount: number;
  readonly errorMessage: string | null;
}

export interface FailureLine {
  /** Null for a row that could not be read. */
  readonly id: number | null;
  readonly table: string;
  readonly rowId: number;
  /** read · insert, update, delete (refused) · inDoubt. */
  readonly kind: string;
  readonly column: string | null;
  readonly reason: string;
  readonly since: string;
  readonly status: number | null;
  readonly code: number | null;
  /** JSON of the cells as they were sent. */
  readonly sent: string | null;
  readonly retryAt: string | null;
}

/** Whose data the replica holds; null before the first pull. */
export type ReplicaIdentity = Pick<Identity, 'url' | 'database' | 'role' | 'timeZone'> & { readonly userEmail: string };

/** The answer to a query: column names, and rows as they come; integers beyond 2^53 are bigint, BLOBs are buffers. */
export interface QueryAnswer {
  readonly columns: readonly string[];
  readonly rows: IterableIterator<readonly unknown[]>;
}

/** An open read-only view of the replica. @throws RowsyncError `replica.damaged` and the like, from every method. */
export class ReplicaReader implements Connection {
  readonly #db: Database.Database;
  readonly path: string;

  constructor(db: Database.Database, path: string) {
    this.#db = db;
    this.path = path;
  }

  prepare(text: Sql): Database.Statement {
    return this.#db.prepare(text);
  }

  /** Reads rows of our own tables. */
  all(text: Sql, ...values: readonly unknown[]): unknown[] {
    try {
      return this.#db.prepare(text).all(...values);
    } catch (thrown) {
      throw this.isOlder() ? olderError(thrown, this.path) : readerError(errorFromReading(thrown, this.path));
    }
  }

  /** Whether an earlier version wrote the file; opening it for writing brings it up to this one. */
  isOlder(): boolean {
    return Number(this.#db.pragma('user_version', { simple: true })) < SCHEMA_VERSION;
  }

  status(): readonly TableStatus[] {
    const waits = sql`SELECT "table", count(*) FILTER (WHERE kind = 'inDoubt') AS inDoubt,
        count(*) FILTER (WHERE kind <> 'inDoubt' AND status IS NULL) AS unsendable
      FROM sync_failures WHERE kind <> 'read' GROUP BY "table"`;
    const tables = this.all(
      sql`SELECT "table", state, rows AS rowCount, pages AS pageCount, last_sweep AS lastSweepAt, fresh_since AS freshSince,
            followed_at AS followedAt, one_window AS oneWindow,
            rows_filter IS NOT NULL AS isFiltered, page_rows AS pageRows, unreadable AS unreadableCount, mode, masked AS maskedCount,
            pending AS pendingCount, parked AS parkedCount, refused AS refusedCount, coalesce(inDoubt, 0) AS inDoubtCount,
            coalesce(unsendable, 0) AS unsendableCount, conflicts AS conflictCount, oldest_change AS oldestChangeAt, problem, hint
          FROM sync_status LEFT JOIN (${waits}) USING ("table") ORDER BY "table" COLLATE NOCASE`,
    );
    const isUnopened = readPutBack(this, '1970-01-01T00:00:00Z')?.isUnopened === true;
    return tables.map((row) => {
      const table = withFlags(row, 'isFiltered') as TableStatus; // columns and types are ours
      return isUnopened && table.state === 'steady' ? { ...table, state: 'restored' } : table;
    });
  }

  runs(limit: number): readonly RunRecord[] {
    return this.all(
      sql`SELECT id, kind, started_at AS startedAt, finished_at AS finishedAt, outcome, tables AS tableCount, requests AS requestCount,
            not_modified AS notModifiedCount, received_bytes AS receivedBytes, inserted AS insertedCount, updated AS updatedCount,
            deleted AS deletedCount, error_message AS errorMessage
          FROM sync_runs ORDER BY id DESC LIMIT ?`,
      limit,
    ) as RunRecord[]; // columns and types are ours
  }

  /** The conflicts that wait for a person, or all of them, oldest first; at most `limit`. */
  conflicts({ all, limit = ALL }: { readonly all: boolean; readonly limit?: number }): readonly ConflictLine[] {
    return this.all(
      sql`SELECT ${CONFLICT_LINE}
          FROM sync_conflicts WHERE state = 'open' OR ? ORDER BY id LIMIT ?`,
      all ? 1 : 0,
      limit,
    ) as ConflictLine[]; // columns and types are ours
  }

  /** Rows that could not be read or were refused, in the order in which they came up; at most `limit`. */
  failures({ limit = ALL }: { readonly limit?: number } = {}): readonly FailureLine[] {
    return this.all(
      sql`SELECT id, "table", row_id AS rowId, kind, "column", reason, since, status, code, sent, retry_at AS retryAt
          FROM sync_failures ORDER BY id, "table", row_id LIMIT ?`,
      limit,
    ) as FailureLine[]; // columns and types are ours
  }

  /** Who the last pull was made as. */
  identity(): ReplicaIdentity | null {
    const [row] = this.all(
      sql`SELECT url, database, user_email AS userEmail, role, time_zone AS timeZone FROM _rowsync_identity`,
    );
    return (row as ReplicaIdentity | undefined) ?? null; // columns and types are ours
  }

  /** Runs one statement that only reads, with parameters. @throws RowsyncError `replica.query` if it is no such one. */
  query(text: string, values: Readonly<Record<string, string | null>> = {}): QueryAnswer {
    let statement: Database.Statement;
    try {
      statement = this.#db.prepare(text);
    } catch (thrown) {
      throw queryError(thrown, this.path, (kind, name) => this.#guess(kind, name, text));
    }
    if (!statement.reader || !statement.readonly) {
      throw usageError(
        'The statement returns no rows or would write',
        'A query here only reads. Rows of tables with push: true are edited with any other SQLite client, such as sqlite3, or on the page of a row.',
        'replica.query',
      );
    }
    const columns = statement.columns().map(({ name }) => name);
    return { columns, rows: readAll(statement, this.path, values) };
  }

  /** Tables that have only some of their rows, since their first pull has not ended. */
  loadingTables(): readonly string[] {
    return queryTexts(this, sql`SELECT local_name FROM _rowsync_tables WHERE state = 'loading'`);
  }

  /** What a name that is not there may mean, behind it in a sentence. */
  #guess(kind: 'table' | 'column', name: string, text: string): string {
    const names = this.#namesLike(kind, text);
    // Where the column is there, it is the alias that is wrong.
    if (names.includes(name)) return '';
    const noted = sql`SELECT 1 FROM _rowsync_tables WHERE local_name = ? COLLATE NOCASE`;
    if (kind === 'table' && queryAny(this, noted, [name])) return ' (it is not in this file: rowsync status says why)';
    const renames = sql`SELECT now FROM _rowsync_schema_changes WHERE kind = ? AND former = ? COLLATE NOCASE ORDER BY seq DESC LIMIT 1`;
    const [now] = this.isOlder() ? [] : queryTexts(this, renames, [`${kind}Renamed`, name]);
    return now !== undefined && names.includes(now) ? ` (the origin renamed it to ${now})` : guessText(name, names);
  }

  /** Tables and views that people ask, or columns of those that a query names. */
  #namesLike(missing: 'table' | 'column', text: string): readonly string[] {
    const tables = sql`SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') AND substr(name, 1, 1) <> '_'`;
    const names = this.#db.prepare(tables).pluck().all() as string[]; // names are text
    if (missing === 'table') return names;
    const columns = this.#db.prepare(sql`SELECT name FROM pragma_table_info(?)`).pluck();
    const words = text.toLowerCase().matchAll(/"([^"]*)"|[\p{L}\p{N}_]+/gu);
    const named = new Set(Array.from(words, ([word, quoted]) => quoted ?? word));
    return names.filter((name) => named.has(name.toLowerCase())).flatMap((name) => columns.all(name) as string[]); // as above
  }

  /** Tables that a statement reads, also by views and indexes. @throws RowsyncError `replica.query`. */
  tablesOf(text: string): readonly string[] {
    try {
      const steps = this.#db.prepare(`EXPLAIN ${text}`).all() as { opcode: string; p2: number; p3: number }[]; // its columns
      const opens = (opcode: string): boolean => opcode === 'OpenRead' || opcode === 'ReopenIdx';
      const roots = steps.filter(({ opcode, p3 }) => opens(opcode) && p3 === 0).map(({ p2 }) => p2);
      const names = sql`SELECT DISTINCT tbl_name FROM main.sqlite_schema WHERE rootpage IN (SELECT value FROM json_each(?))`;
      return this.#db.prepare(names).pluck().all(JSON.stringify(roots)) as string[]; // names are text
    } catch (thrown) {
      // The statement is an EXPLAIN already, which reads no rows.
      if (thrown instanceof Error && /^near "explain":/i.test(thrown.message)) return [];
      throw queryError(thrown, this.path, (kind, name) => this.#guess(kind, name, text));
    }
  }

  /** Makes the views of people again for this connection, so that they read what it shows in place of tables. */
  showViewsAgain(): void {
    const texts = sql`SELECT sql FROM main.sqlite_schema WHERE type = 'view' AND name NOT GLOB 'sync_*'`;
    for (const text of this.#db.prepare(texts).pluck().all() as string[])
      this.#db.prepare(text.replace(/^CREATE VIEW/, 'CREATE TEMP VIEW')).run();
  }

  close(): void {
    this.#db.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** What an earlier version did not have cannot be read yet; anything else is told as it is. */
function olderError(thrown: unknown, path: string): RowsyncError {
  if (sqliteCode(thrown) !== 'SQLITE_ERROR') return readerError(errorFromReading(thrown, path));
  return new RowsyncError('replica', 'replica.older', {
    message: `${path} was written by an earlier version of rowsync, which did not keep what was asked for`,
    hint: 'Run rowsync pull once: it brings the file up to date, and keeps it as it was beside it.',
    cause: thrown,
  });
}

function* readAll(statement: Database.Statement, path: string, values: object): IterableIterator<readonly unknown[]> {
  try {
    for (const row of statement.safeIntegers().raw().iterate(values)) {
      yield (row as unknown[]).map((value) => plainInteger(value)); // raw() gives arrays
    }
  } catch (thrown) {
    throw queryError(thrown, path);
  }
}

function plainInteger(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  const double = Number(value);
  return Number.isSafeInteger(double) ? double : value;
}

/** Failures of the file, which no other query would avoid. */
const OF_THE_FILE = /^SQLITE_(CORRUPT|NOTADB|IOERR|CANTOPEN|BUSY|FULL)/;

/** What to do about an error of SQLite, by a part of its words. */
const HINTS: readonly (readonly [part: RegExp, hint: string])[] = [
  [/contains more than one statement/, 'One statement is allowed: run each on its own.'],
  [/contains no statements/, 'Write a question, such as SELECT * FROM sync_columns.'],
  [/should this be a string literal/, 'Put texts in single quotes, and names in double quotes.'],
  [/no such function/, 'SELECT DISTINCT name FROM pragma_function_list lists the functions.'],
  [
    /syntax error/,
    'Look at the word right before it, too. Put names that have spaces or are words of SQL, such as "Order", in double quotes.',
  ],
  [
    /no such (table|column)/,
    'Put names that have spaces or are words of SQL, such as "Order", in double quotes. SELECT * FROM sync_columns lists tables and columns.',
  ],
];

function queryError(
  thrown: unknown,
  path: string,
  guessOf: (kind: 'table' | 'column', name: string) => string = () => '',
): RowsyncError {
  if (OF_THE_FILE.test(sqliteCode(thrown) ?? '')) return readerError(errorFromReading(thrown, path));
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const [, kind, found = ''] = /^no such (table|column): (.+)$/s.exec(reason) ?? [];
  // As the query writes it: behind an alias, in quotes, which SQLite has advice for.
  const name = found.split(' - should this be')[0]?.split('.').at(-1)?.replaceAll('"', '') ?? '';
  const guess = kind === 'table' || kind === 'column' ? guessOf(kind, name) : '';
  return new RowsyncError('usage', 'replica.query', {
    message: `SQLite does not accept the query: ${reason}${guess}`,
    hint: HINTS.find(([part]) => part.test(reason))?.[1] ?? 'SELECT * FROM sync_columns lists tables and columns.',
    cause: thrown,
  });
}

/** @throws RowsyncError `replica.path` without a replica. */
export function requireReplica(path: string): void {
  if (!existsSync(path)) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `There is no replica at ${path} yet`,
      hint: 'Make it with `rowsync pull`.',
    });
  }
  requireFile(path);
}

/** Opens the replica for reading. @throws RowsyncError `replica.path` without one, `replica.damaged`, …. */
export function openReader(path: string): ReplicaReader {
  const absolute = resolve(path);
  requireReplica(absolute);
  let db: Database.Database | undefined;
  try {
    db = new Database(absolute, { readonly: true, timeout: 1_000 });
    checkOwner(db, absolute);
    db.pragma('trusted_schema = OFF');
    return new ReplicaReader(db, absolute);
  } catch (thrown) {
    db?.close();
    throw readerError(replicaError(thrown, `Reading the replica ${absolute}`));
  }
}

/** Beside a writer, SQLite lets readers write to the replica's folder; who may only read gets another way. */
function readerError(error: RowsyncError): RowsyncError {
  if (error.code !== 'replica.path') return error;
  const hint =
    'To read beside rowsync, SQLite writes into the folder of the replica. Without that right, read a backup (backup.folder, rowsync export), or, while ' +
    'nothing writes, open file:replica.db?immutable=1 in another SQLite client.';
  return new RowsyncError(error.kind, error.code, { message: error.message, hint, cause: error.cause });
}
