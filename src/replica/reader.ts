/**
 * The replica for people who only look: `status`, `sql` and `check`. Read-only, without the lock, beside a running pull.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'better-sqlite3';
import { RowsyncError } from '../base/errors.ts';
import { checkOwner } from './database.ts';
import { replicaError } from './failures.ts';
import { sql } from './sql.ts';

/** A row of `sync_status`; stamps are UTC text. */
export interface TableStatus {
  readonly table: string;
  /** loading (first sweep not finished) · steady · gone (no longer described) · held (waits for a person) · failed. */
  readonly state: string;
  readonly rowCount: number;
  readonly pageCount: number;
  readonly lastSweepAt: string | null;
  /** Every row of the table was proven at this time or later. */
  readonly freshSince: string | null;
  readonly unreadableCount: number;
  readonly problem: string | null;
  readonly hint: string | null;
}

/** A row of `sync_runs`. */
export interface RunRecord {
  readonly id: number;
  readonly kind: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly outcome: string;
  readonly requestCount: number;
  readonly notModifiedCount: number;
  readonly insertedCount: number;
  readonly updatedCount: number;
  readonly deletedCount: number;
  readonly errorMessage: string | null;
}

/** Whose data the replica holds; null before the first pull. */
export interface ReplicaIdentity {
  readonly url: string;
  readonly database: string;
  readonly userEmail: string;
  readonly role: string;
  readonly timeZone: string;
}

/** The answer to a query: column names, and rows as they come; integers beyond 2^53 are bigint, BLOBs are buffers. */
export interface QueryAnswer {
  readonly columns: readonly string[];
  readonly rows: IterableIterator<readonly unknown[]>;
}

/** An open read-only view of the replica. */
export class ReplicaReader {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** Every table, by name. */
  status(): readonly TableStatus[] {
    return this.#db
      .prepare(
        sql`SELECT "table", state, rows AS rowCount, pages AS pageCount, last_sweep AS lastSweepAt, fresh_since AS freshSince,
              unreadable AS unreadableCount, problem, hint FROM sync_status ORDER BY "table" COLLATE NOCASE`,
      )
      .all() as TableStatus[]; // columns and types are ours (bookkeeping.ts)
  }

  /** The newest runs first. */
  runs(limit: number): readonly RunRecord[] {
    return this.#db
      .prepare(
        sql`SELECT id, kind, started_at AS startedAt, finished_at AS finishedAt, outcome, requests AS requestCount,
              not_modified AS notModifiedCount, inserted AS insertedCount, updated AS updatedCount,
              deleted AS deletedCount, error_message AS errorMessage
            FROM sync_runs ORDER BY id DESC LIMIT ?`,
      )
      .all(limit) as RunRecord[]; // columns and types are ours (bookkeeping.ts)
  }

  /** Who the last pull was made as. */
  identity(): ReplicaIdentity | null {
    const row = this.#db
      .prepare(sql`SELECT url, database, user_email AS userEmail, role, time_zone AS timeZone FROM _rowsync_identity`)
      .get();
    return (row as ReplicaIdentity | undefined) ?? null; // columns and types are ours (bookkeeping.ts)
  }

  /** What `schema prune` would drop: tables and columns that the origin no longer describes, as `table` or `table.column`. */
  prunable(): readonly string[] {
    return this.#db
      .prepare(
        sql`SELECT local_name FROM _rowsync_tables WHERE state = 'gone'
            UNION ALL
            SELECT t.local_name || '.' || c.local_name FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id
            WHERE c.state <> 'live' AND t.state <> 'gone'`,
      )
      .pluck()
      .all() as string[]; // names are text (bookkeeping.ts)
  }

  /**
   * Runs one statement that only reads.
   * @throws RowsyncError `replica.query` with SQLite's words when it is wrong, or would write, or is more than one.
   */
  query(text: string): QueryAnswer {
    let statement: Database.Statement;
    try {
      statement = this.#db.prepare(text);
    } catch (thrown) {
      throw queryError(thrown);
    }
    if (!statement.reader || !statement.readonly) {
      throw new RowsyncError('usage', 'replica.query', {
        message: 'The statement returns no rows or would write',
        hint: 'rowsync sql only reads. Change rows at the origin; the next sync brings them here.',
      });
    }
    const columns = statement.columns().map(({ name }) => name);
    return { columns, rows: readAll(statement) };
  }

  close(): void {
    this.#db.close();
  }
}

function* readAll(statement: Database.Statement): IterableIterator<readonly unknown[]> {
  try {
    for (const row of statement.safeIntegers().raw().iterate()) {
      yield (row as unknown[]).map((value) => plainInteger(value)); // raw() gives arrays
    }
  } catch (thrown) {
    throw queryError(thrown);
  }
}

function plainInteger(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  const double = Number(value);
  return Number.isSafeInteger(double) ? double : value;
}

function queryError(thrown: unknown): RowsyncError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new RowsyncError('usage', 'replica.query', {
    message: `SQLite does not accept the query: ${reason}`,
    hint: 'Names with spaces stand in double quotes. `rowsync sql "SELECT * FROM sync_columns"` lists tables and columns.',
    cause: thrown,
  });
}

/**
 * Opens the replica for reading.
 * @throws RowsyncError `replica.path` when there is none yet, `replica.foreign`, `replica.newer`, `replica.damaged`.
 */
export function openReader(path: string): ReplicaReader {
  const absolute = resolve(path);
  if (!existsSync(absolute)) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `There is no replica at ${absolute} yet`,
      hint: 'Make it with `rowsync pull`.',
    });
  }
  let db: Database.Database | undefined;
  try {
    db = new Database(absolute, { readonly: true, timeout: 1_000 });
    checkOwner(db, absolute);
    db.pragma('trusted_schema = OFF');
    return new ReplicaReader(db);
  } catch (thrown) {
    db?.close();
    throw replicaError(thrown, `Reading the replica ${absolute}`);
  }
}
