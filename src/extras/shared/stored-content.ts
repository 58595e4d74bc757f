/**
 * Content of the file store beyond bringing it here: which files have it, all of it, and whether it is whole. Carries
 * it to the files of a backup, and from them. The target folder gets its name last (I15).
 */
import { existsSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, usageError } from '../../base/errors.ts';
import { systemFiles } from '../../base/file-system.ts';
import { sql } from '../../base/sql.ts';
import { copyContent, type CopyTally, type OnCarried } from '../../files/copy-content.ts';
import { fileError, hashOfFile, openStore, type FileStore } from '../../files/store.ts';
import type { CellFile, StoredContent } from '../../reconcile/files.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryAll, withFlags } from '../../replica/query.ts';

/** A file whose content is here. */
export interface FileHere extends StoredContent, CellFile {
  readonly id: number;
  readonly tableId: number;
  readonly columnId: number;
  readonly rowId: number;
  readonly tableName: string;
  readonly columnName: string;
  /** Whether its cell shows it. */
  readonly isLatest: boolean;
  readonly isVanished: boolean;
}

/** Files whose content is here, by table, row, column and falling revision; of the given tables, or of all for null. */
export function readFilesHere(from: Connection, tableIds: readonly number[] | null): readonly FileHere[] {
  const text = sql`SELECT f.id, f.table_id AS tableId, f.column_id AS columnId, f.row_id AS rowId,
            coalesce(t.local_name, f.table_name) AS tableName, coalesce(c.local_name, f.column_name) AS columnName,
            f.name, f.revision, f.guid, f.sha256, f.bytes, coalesce(k.guid = f.guid, 0) AS isLatest, f.vanished_at IS NOT NULL AS isVanished
          FROM _rowsync_files f
          LEFT JOIN _rowsync_tables t ON t.id = f.table_id
          LEFT JOIN _rowsync_columns c ON c.table_id = f.table_id AND c.id = f.column_id AND c.state = 'live'
          LEFT JOIN _rowsync_file_cells k ON k.table_id = f.table_id AND k.column_id = f.column_id AND k.row_id = f.row_id
          WHERE f.state = 'here' AND (? IS NULL OR f.table_id IN (SELECT value FROM json_each(?)))
          ORDER BY f.table_id, f.row_id, f.column_id, f.revision DESC, f.id`;
  const ids = tableIds === null ? null : JSON.stringify(tableIds);
  return queryAll(from, text, [ids, ids]).map(
    (row) => withFlags(row, 'isLatest', 'isVanished') as FileHere, // as selected
  );
}

/** Where a file belongs; `revision` is null for a cell whose files could not be listed. */
export interface AwaitedFile extends Pick<FileHere, 'tableName' | 'columnName' | 'rowId'> {
  readonly revision: number | null;
}

/**
 * Files that should be here and are not, with cells that could not be listed, as `rowsync status` counts them: wanted,
 * and not gone at the origin. Those of `lostIds` count in any case until they are here. `triedOnly` leaves out those
 * that were never asked for, `latestOnly` those that no cell shows.
 */
export function readFilesAwaited(
  from: Connection,
  {
    tableIds = null,
    lostIds = [],
    triedOnly = false,
    latestOnly = false,
  }: {
    readonly tableIds?: readonly number[] | null;
    readonly lostIds?: readonly number[];
    readonly triedOnly?: boolean;
    readonly latestOnly?: boolean;
  } = {},
): readonly AwaitedFile[] {
  const text = sql`SELECT f.table_name AS tableName, f.column_name AS columnName, f.row_id AS rowId, f.revision
          FROM (SELECT id, table_id, column_id, table_name, column_name, row_id, revision, guid, reason, state IN ('missing', 'failed')
                  AND vanished_at IS NULL AS isAwaited
                FROM _rowsync_files WHERE state <> 'here'
                UNION ALL SELECT NULL, k.table_id, k.column_id, t.local_name, c.local_name, k.row_id, NULL, NULL, k.problem, 1
                FROM _rowsync_file_cells k JOIN _rowsync_tables t ON t.id = k.table_id
                JOIN _rowsync_columns c ON c.table_id = k.table_id AND c.id = k.column_id AND c.state = 'live'
                WHERE k.problem IS NOT NULL) f
          WHERE f.id IN (SELECT value FROM json_each(@lost))
             OR (f.isAwaited AND (NOT @triedOnly OR f.reason IS NOT NULL)
               AND (NOT @latestOnly OR f.guid IS NULL OR EXISTS (SELECT 1 FROM _rowsync_file_cells k
                 WHERE k.table_id = f.table_id AND k.column_id = f.column_id AND k.row_id = f.row_id AND k.guid = f.guid))
               AND (@ids IS NULL OR f.table_id IN (SELECT value FROM json_each(@ids)))
               AND EXISTS (SELECT 1 FROM _rowsync_tables t JOIN _rowsync_columns c ON c.table_id = t.id
                 WHERE t.id = f.table_id AND t.state <> 'gone' AND c.id = f.column_id AND c.state = 'live'))
          ORDER BY f.table_id, f.row_id, f.column_id, f.revision`;
  const ids = tableIds === null ? null : JSON.stringify(tableIds);
  const values = { ids, lost: JSON.stringify(lostIds), triedOnly: triedOnly ? 1 : 0, latestOnly: latestOnly ? 1 : 0 };
  return queryAll(from, text, [values]) as AwaitedFile[]; // as selected
}

/** All content of a store. @throws RowsyncError `files.store`. */
export async function* listContent(store: FileStore): AsyncGenerator<StoredContent> {
  for (const folder of await foldersIn(store.folder)) {
    for (const name of await readdir(join(store.folder, folder))) {
      const path = join(store.folder, folder, name);
      if (path === store.pathOf(name)) yield { sha256: name, bytes: (await stat(path)).size };
    }
  }
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && /^[0-9a-f]{2}$/.test(entry.name))
      .map(({ name }) => name)
      .toSorted();
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return [];
    throw fileError(thrown, `Reading ${folder}`);
  }
}

/** Reads content and compares it with its name and size. @throws RowsyncError `files.store`. */
export async function inspectContent(
  store: FileStore,
  { sha256, bytes }: StoredContent,
): Promise<'whole' | 'damaged' | 'missing'> {
  const path = store.pathOf(sha256);
  try {
    if ((await stat(path)).size !== bytes) return 'damaged';
    return (await hashOfFile(path)) === sha256 ? 'whole' : 'damaged';
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === 'ENOENT') return 'missing';
    // A disk that cannot read a block any more has lost the file; anything but a file is not ours.
    if (code === 'EIO' || code === 'EISDIR') return 'damaged';
    throw fileError(thrown, `Reading ${path}`);
  }
}

/** What was brought. Counts are contents. */
export interface CarryReport extends CopyTally {
  /** Null where there was nothing to bring. */
  readonly folder: string | null;
  /** That was there already. */
  readonly presentCount: number;
}

const NOTHING = { linkedCount: 0, copiedCount: 0, presentCount: 0, bytes: 0, lost: [] };

export function filesBeside(backup: string): string {
  return `${backup}.files`;
}

/** Makes the files of a backup. @throws RowsyncError `backup.exists`, `files.store`, `replica.full`. */
export async function carryToBackup(
  contents: readonly StoredContent[],
  place: { readonly backup: string; readonly sources: readonly string[]; readonly onCarried?: OnCarried | undefined },
): Promise<CarryReport> {
  const folder = filesBeside(place.backup);
  if (existsSync(folder)) {
    throw usageError(
      `${folder} exists already, without the backup that it would belong to`,
      'Name another file, or remove the folder; a backup never replaces anything.',
      'backup.exists',
    );
  }
  if (contents.length === 0) return { ...NOTHING, folder: null };
  const partial = `${folder}.partial`;
  try {
    await rm(partial, { recursive: true, force: true });
    const store = await openStore(partial);
    const { sources, onCarried } = place;
    const report = await copyContent(contents, { store, sources, compares: false, onCarried });
    await store.close();
    await systemFiles.sync(partial);
    await rename(partial, folder);
    await systemFiles.sync(dirname(folder));
    return { ...report, folder, presentCount: 0 };
  } catch (thrown) {
    await rm(partial, { recursive: true, force: true });
    throw fileError(thrown, `Backing up files to ${folder}`);
  }
}

/** Brings files of a backup into the store of a locked replica. @throws RowsyncError `files.store`, `replica.full`. */
export async function carryFromBackup(
  contents: readonly StoredContent[],
  place: { readonly backup: string; readonly folder: string; readonly isShared: boolean },
): Promise<CarryReport> {
  const { folder } = place;
  if (contents.length === 0) return { ...NOTHING, folder };
  const store = await openStore(folder, place.isShared);
  const missing: StoredContent[] = [];
  for (const content of contents) if ((await inspectContent(store, content)) !== 'whole') missing.push(content);
  const report = await copyContent(missing, { store, sources: [filesBeside(place.backup)], compares: true });
  return { ...report, folder, presentCount: contents.length - missing.length };
}
