/**
 * Every known revision of an attached file, and where its content is. A row refers to content only once that is stored
 * completely and durably (I15). Revisions that the origin no longer has are marked, never deleted.
 */
import { literal, sql } from '../../base/sql.ts';
import { FILE_CELLS, type FileColumn, isDue, storeCell } from './file-cells.ts';
import type { FilesNotHere } from '../../reconcile/account/facts.ts';
import type { CellFile, StoredContent, FoundFile } from '../../reconcile/files.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAll, queryFirst, queryNumber, queryNumbers, queryText, queryTexts, withFlags } from '../query.ts';

/** Where content is kept (one row): the folder of the last run, so that the view can name whole paths. */
const FILE_STORE = sql`
  CREATE TABLE _rowsync_file_store (
    lock INTEGER PRIMARY KEY CHECK (lock = 1), folder TEXT NOT NULL
  ) STRICT`;

/**
 * Every revision that the origin has ever listed, one row for each cell and guid.
 *
 *    table_name, column_name   local names, for after the table or column is gone
 *    name, type, author        from the origin; type, bytes, author and created_at are null until they are known
 *    sha256                    of the content, null while it is not here
 *    state     missing (not here yet) · here · failed (see reason) · skipped (by the rule in reason)
 *    vanished_at               when the origin no longer had it; content stays
 *    failures, retry_at        as for cells
 */
const FILES = sql`
  CREATE TABLE _rowsync_files (
    id INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, row_id INTEGER NOT NULL,
    table_name TEXT NOT NULL, column_name TEXT NOT NULL,
    revision INTEGER NOT NULL, guid TEXT NOT NULL, name TEXT NOT NULL, type TEXT, bytes INTEGER,
    author TEXT, created_at TEXT, sha256 TEXT,
    state TEXT NOT NULL DEFAULT 'missing' CHECK (state IN ('missing', 'here', 'failed', 'skipped')),
    reason TEXT, vanished_at TEXT, failures INTEGER NOT NULL DEFAULT 0, retry_at TEXT,
    UNIQUE (table_id, column_id, row_id, guid),
    CHECK ((state = 'here') = (sha256 IS NOT NULL))
  ) STRICT`;

const FILES_BY_GUID = sql`CREATE INDEX _rowsync_files_by_guid ON _rowsync_files (guid)`;

const FILES_BY_CONTENT = sql`CREATE INDEX _rowsync_files_by_content ON _rowsync_files (sha256) WHERE sha256 IS NOT NULL`;

const FILES_NOT_HERE = sql`CREATE INDEX _rowsync_files_not_here ON _rowsync_files (table_id, column_id, row_id) WHERE state <> 'here'`;

/** One row per revision, and one per cell whose revisions could not be listed. */
export const FILES_VIEW = sql`
  CREATE VIEW sync_files AS
  SELECT coalesce(t.local_name, f.table_name) AS "table", f.row_id, coalesce(c.local_name, f.column_name) AS "column",
         f.revision, f.name, f.type, f.bytes, f.sha256, f.guid, f.author, f.created_at AS created, f.state, f.reason,
         f.vanished_at AS vanished,
         (SELECT s.folder || '/' || substr(f.sha256, 1, 2) || '/' || f.sha256
          FROM _rowsync_file_store s) AS path
  FROM _rowsync_files f
  LEFT JOIN _rowsync_tables t ON t.id = f.table_id
  LEFT JOIN _rowsync_columns c ON c.table_id = f.table_id AND c.id = f.column_id AND c.state = 'live'
  UNION ALL
  SELECT t.local_name, k.row_id, c.local_name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'failed', k.problem, NULL, NULL
  FROM _rowsync_file_cells k JOIN _rowsync_tables t ON t.id = k.table_id
  JOIN _rowsync_columns c ON c.table_id = k.table_id AND c.id = k.column_id AND c.state = 'live'
  WHERE k.problem IS NOT NULL`;

/** A revision that the origin has and whose content is not here. */
export interface FileNotHere extends CellFile {
  readonly id: number;
  readonly rowId: number;
  readonly type: string | null;
  readonly bytes: number | null;
  /** Whether its cell shows it. */
  readonly isLatest: boolean;
  readonly state: 'missing' | 'failed' | 'skipped';
  readonly reason: string | null;
  readonly failureCount: number;
}

/** Files of a column that are not here and due, by id above `after`, at most `count`; a later `now` finds more. */
export function readFilesNotHere(
  from: Connection,
  { tableId, columnId }: FileColumn,
  query: { readonly after: number; readonly count: number; readonly now: string },
): readonly FileNotHere[] {
  const text = sql`SELECT f.id, f.row_id AS rowId, f.revision, f.guid, f.name, f.type, f.bytes, f.state, f.reason,
            f.failures AS failureCount, coalesce(k.guid = f.guid, 0) AS isLatest
          FROM _rowsync_files f
          LEFT JOIN _rowsync_file_cells k USING (table_id, column_id, row_id)
          WHERE f.table_id = @tableId AND f.column_id = @columnId AND f.state <> 'here' AND f.vanished_at IS NULL
            AND (f.retry_at IS NULL OR ${isDue(sql`f.retry_at`)}) AND f.id > @after
          ORDER BY f.id LIMIT @count`;
  return queryAll(from, text, [{ ...query, tableId, columnId }]).map(
    (row) => withFlags(row, 'isLatest') as FileNotHere, // as selected
  );
}

/** Files of a column that are not here, due and not skipped; the bytes are of those whose size is known. */
interface NotHereCounts {
  readonly fileCount: number;
  readonly bytes: number;
  readonly unsizedCount: number;
}

export function countFilesNotHere(from: Connection, { tableId, columnId }: FileColumn, now: string): NotHereCounts {
  const text = sql`SELECT count(*) AS fileCount, coalesce(sum(bytes), 0) AS bytes, count(*) - count(bytes) AS unsizedCount FROM _rowsync_files
          WHERE table_id = @tableId AND column_id = @columnId AND state IN ('missing', 'failed') AND vanished_at IS NULL
            AND (retry_at IS NULL OR ${isDue(sql`retry_at`)})`;
  return from.prepare(text).get({ now, tableId, columnId }) as NotHereCounts; // an aggregate always has one row
}

/** Failed attempts after which a person is told about a file. */
const TRIES_MIN = 3;

/** Files not here that the origin has, and cells whose revisions could not be listed, by name of the table here. */
export function readFilesByTable(from: Connection): ReadonlyMap<string, FilesNotHere> {
  const text = sql`SELECT t.local_name AS "table", count(*) FILTER (WHERE f.failures >= ${TRIES_MIN}) AS failedCount,
            count(*) FILTER (WHERE f.failures < ${TRIES_MIN}) AS waitingCount, max(f.failures),
            '_id ' || f.row_id || coalesce(', ' || f.name, '') || ': ' || f.reason AS worst
          FROM (SELECT table_id, column_id, row_id, name, failures, reason FROM _rowsync_files
                WHERE state IN ('missing', 'failed') AND vanished_at IS NULL
                UNION ALL SELECT table_id, column_id, row_id, NULL, failures, problem FROM _rowsync_file_cells WHERE problem IS NOT NULL) f
          JOIN _rowsync_tables t ON t.id = f.table_id AND t.state <> 'gone'
          JOIN _rowsync_columns c ON c.table_id = f.table_id AND c.id = f.column_id AND c.state = 'live'
          GROUP BY t.id`;
  const rows = queryAll(from, text) as (FilesNotHere & { table: string })[];
  return new Map(
    rows.map(({ table, failedCount, waitingCount, worst }) => [table, { failedCount, waitingCount, worst }]),
  );
}

/** The content that a guid names, if it is here: a guid names one revision permanently. */
export function readContentOfGuid(from: Connection, guid: string): StoredContent | null {
  const text = sql`SELECT sha256, bytes FROM _rowsync_files WHERE guid = ? AND state = 'here' LIMIT 1`;
  return queryFirst(from, text, [guid]) as StoredContent | null;
}

/** The origin's metadata of a file. */
export type FileFacts = Pick<FoundFile, 'type' | 'bytes' | 'author' | 'createdAt'>;

/** Adds the metadata of a file that is still missing. */
export function storeFileFacts(tx: Tx, id: number, facts: FileFacts): void {
  tx.prepare(
    sql`UPDATE _rowsync_files SET type = coalesce(type, @type), bytes = coalesce(bytes, @bytes),
          author = coalesce(author, @author), created_at = coalesce(created_at, @createdAt) WHERE id = @id`,
  ).run({ id, ...facts });
}

export function storeFileHere(tx: Tx, id: number, content: StoredContent): void {
  tx.prepare(
    sql`UPDATE _rowsync_files SET state = 'here', sha256 = ?, bytes = ?, reason = NULL, failures = 0, retry_at = NULL WHERE id = ?`,
  ).run(content.sha256, content.bytes, id);
}

export type UploadedFile = StoredContent & CellFile & { readonly type: string };

/** Stores a revision that rowsync uploaded and whose content is here; `value` is what its cell says now. */
export function storeUploadedFile(
  tx: Tx,
  column: FileColumn,
  { rowId, value, file }: { readonly rowId: number; readonly value: string; readonly file: UploadedFile },
  at: string,
): void {
  const { guid } = file;
  const present = [{ ...file, author: null, createdAt: null }];
  storeCell(tx, column, { rowId, value, mode: 'latest', form: 'value', etag: null, guid, present, vanished: [] }, at);
  const text = sql`SELECT id FROM _rowsync_files WHERE table_id = ? AND column_id = ? AND row_id = ? AND guid = ?`;
  const id = queryNumber(tx, text, [column.tableId, column.columnId, rowId, guid]);
  storeFileHere(tx, id, file);
}

export function storeFileSkipped(tx: Tx, id: number, rule: string): void {
  tx.prepare(
    sql`UPDATE _rowsync_files SET state = 'skipped', reason = ?, failures = 0, retry_at = NULL WHERE id = ? AND state <> 'here'`,
  ).run(rule, id);
}

/** Stores why a file could not be fetched, and when it is worth another try. */
export function storeFileFailed(
  tx: Tx,
  id: number,
  failure: { readonly reason: string; readonly failureCount: number; readonly retryAt: string },
): void {
  tx.prepare(
    sql`UPDATE _rowsync_files SET state = 'failed', reason = @reason, failures = @failureCount, retry_at = @retryAt
        WHERE id = @id AND state <> 'here'`,
  ).run({ id, ...failure });
}

/** Lets everything that failed be tried at once. */
export function forgetRetryTimes(tx: Tx): void {
  tx.prepare(sql`UPDATE _rowsync_files SET retry_at = NULL WHERE retry_at IS NOT NULL`).run();
  tx.prepare(sql`UPDATE _rowsync_file_cells SET retry_at = '' WHERE retry_at IS NOT NULL`).run();
}

/** The folder of the store in which content was kept last; null before the first file. */
export function readStoreFolder(from: Connection): string | null {
  return queryText(from, sql`SELECT folder FROM _rowsync_file_store`);
}

export function storeStoreFolder(tx: Tx, folder: string): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_file_store (lock, folder) VALUES (1, ?) ON CONFLICT (lock) DO UPDATE SET folder = excluded.folder`,
  ).run(folder);
}

/** All content that files refer to, each once, in order of its hash; of the given tables, or of all for null. */
export function readContents(from: Connection, tableIds: readonly number[] | null): readonly StoredContent[] {
  const text = sql`SELECT sha256, max(bytes) AS bytes FROM _rowsync_files
          WHERE sha256 IS NOT NULL AND (@ids IS NULL OR table_id IN (SELECT value FROM json_each(@ids)))
          GROUP BY sha256 ORDER BY sha256`;
  return queryAll(from, text, [{ ids: tableIds === null ? null : JSON.stringify(tableIds) }]) as StoredContent[];
}

/** Bytes of all content that rows refer to. */
export function readStoredBytes(from: Connection): number {
  const text = sql`SELECT coalesce(sum(bytes), 0) FROM (
      SELECT max(bytes) AS bytes FROM _rowsync_files WHERE sha256 IS NOT NULL GROUP BY sha256)`;
  return queryNumber(from, text);
}

/** The reason of a file whose content is not here any more. */
export const CONTENT_LOST = 'the content here was lost or damaged';

/** Stores that content is lost or damaged: its files are missing again. Returns their ids. */
export function storeContentLost(tx: Tx, sha256: string): readonly number[] {
  const text = sql`UPDATE _rowsync_files SET state = 'missing', sha256 = NULL, reason = ${literal(CONTENT_LOST)}
      WHERE sha256 = ? RETURNING id`;
  return queryNumbers(tx, text, [sha256]);
}

/** Forgets the files of tables and columns that a person dropped here; their content stays until it is pruned. */
export function forgetDroppedFiles(tx: Tx): void {
  for (const table of [sql`_rowsync_files`, sql`_rowsync_file_cells`]) {
    tx.prepare(
      sql`DELETE FROM ${table} WHERE (table_id, column_id) NOT IN (SELECT table_id, id FROM _rowsync_columns)`,
    ).run();
  }
}

/** Forgets the files of a column; returns their content, which other files may have as well. */
export function forgetFilesOfColumn(tx: Tx, tableId: number, columnId: number): readonly string[] {
  const text = sql`SELECT DISTINCT sha256 FROM _rowsync_files WHERE table_id = ? AND column_id = ? AND sha256 IS NOT NULL`;
  const hashes = queryTexts(tx, text, [tableId, columnId]);
  for (const table of [sql`_rowsync_files`, sql`_rowsync_file_cells`]) {
    tx.prepare(sql`DELETE FROM ${table} WHERE table_id = ? AND column_id = ?`).run(tableId, columnId);
  }
  return hashes;
}

export const FILE_TABLES = [FILE_STORE, FILE_CELLS, FILES, FILES_BY_GUID, FILES_BY_CONTENT, FILES_NOT_HERE];

/** Marks a file that the origin does not have any more; returns whether it was not known before. */
export function storeFileVanished(tx: Tx, id: number, at: string): boolean {
  const text = sql`UPDATE _rowsync_files SET vanished_at = ? WHERE id = ? AND vanished_at IS NULL`;
  return tx.prepare(text).run(at, id).changes > 0;
}
