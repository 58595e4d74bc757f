/**
 * Cells of attachment columns as they were last examined. A cell is examined again when its value in the user table
 * differs, so neither a crash nor another program can hide one (I13).
 */
import { ident, sql, type Sql } from '../../base/sql.ts';
import type { FoundFile } from '../../reconcile/files.ts';
import type { Connection, Tx } from '../connection.ts';
import { queryAll } from '../query.ts';
import { baseName, hasBase, readStanding } from '../user-tables.ts';
import { readColumns } from './columns.ts';
import { findTable } from './tables.ts';

/**
 * Columns and tables go by the origin's ids.
 *
 *    value           the value of the cell
 *    mode            latest or all: which revisions were looked for
 *    guid            the latest revision, null where there is none
 *    etag            of the list, after its URL, if the list had to be requested
 *    form            value (name;revision;guid) · list (anything else: the list must be requested each time)
 *    problem         why the revisions could not be listed, null after a success
 *    failures        how often in a row; retry_at is when it is worth another try
 */
export const FILE_CELLS = sql`
  CREATE TABLE _rowsync_file_cells (
    table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, row_id INTEGER NOT NULL,
    value TEXT, mode TEXT NOT NULL CHECK (mode IN ('latest', 'all')), guid TEXT, etag TEXT,
    form TEXT NOT NULL CHECK (form IN ('value', 'list')),
    problem TEXT, failures INTEGER NOT NULL DEFAULT 0, retry_at TEXT,
    PRIMARY KEY (table_id, column_id, row_id)
  ) STRICT, WITHOUT ROWID`;

/** Whether `retryAt` has come at `@now`. No file waits longer than a day, unless the clock was set back. */
export function isDue(retryAt: Sql): Sql {
  return sql`(${retryAt} <= @now OR ${retryAt} > strftime('%Y-%m-%dT%H:%M:%SZ', @now, '+1 day'))`;
}

export interface FileColumn {
  readonly tableId: number;
  /** Origin's id. */
  readonly columnId: number;
  /** In the replica. */
  readonly tableName: string;
  readonly columnName: string;
  /** The table that holds the origin's last word: the base of a two-way table, else the user table. */
  readonly sourceName: string;
  /** At the origin. */
  readonly address: {
    readonly table: { readonly name: string; readonly alias: string };
    readonly column: { readonly name: string; readonly alias: string };
  };
  /** As the origin describes it. */
  readonly options: readonly string[];
}

/** The attachment columns of a table that the origin describes, in order. */
export function readFileColumns(from: Connection, tableId: number): readonly FileColumn[] {
  const table = findTable(from, tableId);
  if (table === null || table.state === 'gone') return [];
  const { name, alias, localName: tableName } = table;
  const live = readColumns(from, tableId).filter(({ state, type }) => state === 'live' && type === 'Attachment');
  const names = live.map(({ localName }) => localName);
  const standing = new Set(readStanding(from, tableName, names));
  const sourceName = hasBase(from, tableId) ? baseName(tableId) : tableName;
  return live
    .filter(({ localName }) => standing.has(localName))
    .map((column) => ({
      tableId,
      columnId: column.id,
      tableName,
      columnName: column.localName,
      sourceName,
      address: { table: { name, alias }, column: { name: column.name, alias: column.alias } },
      options: column.options === '' ? [] : column.options.split(', '),
    }));
}

export interface CellToLookAt {
  readonly rowId: number;
  readonly value: string | null;
  /** Of the last list, with its URL (`keptEtag`), if it was one of the same mode. */
  readonly etag: string | null;
  /** How often in a row its revisions could not be listed. */
  readonly failureCount: number;
}

/** Cells above `after` that changed, need more revisions, are always requested, or are due again; at most `count`. */
export function readCellsToLookAt(
  from: Connection,
  column: FileColumn,
  query: { readonly mode: 'latest' | 'all'; readonly after: number; readonly count: number; readonly now: string },
): readonly CellToLookAt[] {
  const cell = sql`u.${ident(column.columnName)}`;
  const text = sql`SELECT u._id AS rowId, ${cell} AS value, CASE WHEN k.mode = @mode THEN k.etag END AS etag,
            coalesce(k.failures, 0) AS failureCount
          FROM ${ident(column.sourceName)} u
          LEFT JOIN _rowsync_file_cells k ON k.table_id = @tableId AND k.column_id = @columnId AND k.row_id = u._id
          WHERE u._id > @after AND CASE
            WHEN ${cell} IS NOT k.value THEN 1
            WHEN k.problem IS NOT NULL THEN ${isDue(sql`k.retry_at`)}
            WHEN ${cell} IS NULL THEN 0
            ELSE k.form = 'list' OR (@mode = 'all' AND k.mode = 'latest') END
          ORDER BY u._id LIMIT @count`;
  return queryAll(from, text, [{ ...query, tableId: column.tableId, columnId: column.columnId }]) as CellToLookAt[];
}

/** Has a cell examined again whatever its value; what is known of its revisions stays. */
export function forgetLook(tx: Tx, column: FileColumn, rowId: number): void {
  // No cell has this value: it is neither a file nor empty.
  tx.prepare(
    sql`UPDATE _rowsync_file_cells SET value = '?', etag = NULL WHERE table_id = ? AND column_id = ? AND row_id = ?`,
  ).run(column.tableId, column.columnId, rowId);
}

export function readCellFiles(
  from: Connection,
  column: FileColumn,
  rowId: number,
): readonly { readonly guid: string; readonly revision: number }[] {
  const text = sql`SELECT guid, revision FROM _rowsync_files WHERE table_id = ? AND column_id = ? AND row_id = ?`;
  return queryAll(from, text, [column.tableId, column.columnId, rowId]) as { guid: string; revision: number }[];
}

export interface ListedCell {
  readonly rowId: number;
  readonly value: string | null;
  readonly mode: 'latest' | 'all';
  readonly form: 'value' | 'list';
  readonly etag: string | null;
  /** The revision that the cell shows; null for none. */
  readonly guid: string | null;
  readonly present: readonly FoundFile[];
  readonly vanished: readonly string[];
}

/** Stores what was found of a cell; metadata that is no longer sent stays. Returns how many revisions vanished now. */
export function storeCell(tx: Tx, column: FileColumn, cell: ListedCell, at: string): number {
  const { tableId, columnId, tableName, columnName } = column;
  const place = { tableId, columnId, rowId: cell.rowId };
  const store = tx.prepare(
    sql`INSERT INTO _rowsync_files (table_id, column_id, row_id, table_name, column_name, revision, guid, name, type, bytes,
          author, created_at)
        VALUES (@tableId, @columnId, @rowId, @tableName, @columnName, @revision, @guid, @name, @type, @bytes, @author, @createdAt)
        ON CONFLICT (table_id, column_id, row_id, guid) DO UPDATE SET revision = excluded.revision, name = excluded.name,
          type = coalesce(excluded.type, type), bytes = CASE state WHEN 'here' THEN bytes ELSE coalesce(excluded.bytes, bytes) END,
          author = coalesce(excluded.author, author), created_at = coalesce(excluded.created_at, created_at),
          vanished_at = NULL`,
  );
  for (const file of cell.present) store.run({ ...place, tableName, columnName, ...file });
  const mark = tx.prepare(
    sql`UPDATE _rowsync_files SET vanished_at = @at WHERE table_id = @tableId AND column_id = @columnId AND row_id = @rowId
          AND guid = @guid AND vanished_at IS NULL`,
  );
  const goneCount = cell.vanished.reduce((count, guid) => count + mark.run({ ...place, guid, at }).changes, 0);
  tx.prepare(
    sql`INSERT INTO _rowsync_file_cells (table_id, column_id, row_id, value, mode, guid, etag, form)
        VALUES (@tableId, @columnId, @rowId, @value, @mode, @guid, @etag, @form)
        ON CONFLICT (table_id, column_id, row_id) DO UPDATE SET value = excluded.value, mode = excluded.mode,
          guid = excluded.guid, etag = excluded.etag, form = excluded.form, problem = NULL, failures = 0, retry_at = NULL`,
  ).run({ ...cell, ...place });
  return goneCount;
}

/** Stores why the revisions of a cell could not be listed, on top of what `storeCell` stored of it. */
export function storeCellProblem(
  tx: Tx,
  column: FileColumn,
  rowId: number,
  failure: { readonly problem: string; readonly failureCount: number; readonly retryAt: string },
): void {
  tx.prepare(
    sql`UPDATE _rowsync_file_cells SET problem = @problem, failures = @failureCount, retry_at = @retryAt, etag = NULL
        WHERE table_id = @tableId AND column_id = @columnId AND row_id = @rowId`,
  ).run({ tableId: column.tableId, columnId: column.columnId, rowId, ...failure });
}

/** Whether rows with files were deleted from the user table since it was last examined. */
export function hasLostRows(from: Connection, column: FileColumn): boolean {
  return from.prepare(lostRows(column)).get(column) !== undefined;
}

/** Marks files of deleted rows, and forgets their cells: a row that returns is examined again. Returns how many. */
export function markLostRows(tx: Tx, column: FileColumn, at: string): number {
  const isLost = sql`table_id = @tableId AND column_id = @columnId AND row_id IN (${lostRows(column)})`;
  const mark = sql`UPDATE _rowsync_files SET vanished_at = @at WHERE vanished_at IS NULL AND ${isLost}`;
  const { changes } = tx.prepare(mark).run({ ...column, at });
  tx.prepare(sql`DELETE FROM _rowsync_file_cells WHERE ${isLost}`).run(column);
  return changes;
}

function lostRows(column: FileColumn): Sql {
  return sql`SELECT lost.row_id FROM _rowsync_file_cells lost WHERE lost.table_id = @tableId AND lost.column_id = @columnId
    AND NOT EXISTS (SELECT 1 FROM ${ident(column.sourceName)} u WHERE u._id = lost.row_id)`;
}
