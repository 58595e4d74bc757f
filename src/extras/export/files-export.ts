/**
 * Writes files out under their names: `<folder>/Table/key/Column/name`, and revisions that a cell does not show as
 * `name (revision N).ext` beside it. They are hard links where the folder is on the same disk, else copies; what is in
 * the folder already stays.
 *
 * Names come from the origin and are made safe by shared/file-names.ts. Nothing is written through a link. Every
 * folder below the given one is checked to be a folder, and a file gets its name by a rename.
 */
import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, RowsyncError } from '../../base/errors.ts';
import { openExportFolder } from './export-folder.ts';
import { FolderNames, nameWithRemark, safeName } from '../shared/file-names.ts';
import { readFilesAwaited, readFilesHere, type FileHere } from '../shared/stored-content.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryRows, queryText } from '../../replica/query.ts';
import { ident, sql } from '../../base/sql.ts';
import { FileStore, hashOfFile, tryLink, copyTo, fileError } from '../../files/store.ts';
import { chooseTables } from '../../replica/bookkeeping/tables.ts';

/** What an export did. Counts are files. */
export interface ExportReport {
  readonly linkedCount: number;
  readonly copiedCount: number;
  /** That was there already. */
  readonly unchangedCount: number;
  readonly bytes: number;
  /** Whose content is not in the store although it should be, or is not what its name says. */
  readonly lostCount: number;
  /** That the origin has and that are not here yet. */
  readonly awaitedCount: number;
}

export interface ExportOptions {
  readonly store: string;
  readonly folder: string;
  /** Whether the group may read what is made. */
  readonly isShared?: boolean | undefined;
  /** Only the revisions that cells show. */
  readonly latestOnly: boolean;
  /** Names as at the origin or in the replica; empty for all. */
  readonly tables: readonly string[];
}

/** Names of folders show people and files. */
const PRIVATE = { file: 0o600, folder: 0o700 };
const SHARED = { file: 0o640, folder: 0o750 };

type ExportCounts = { -readonly [Count in keyof ExportReport]: number };

/** Exports files. @throws RowsyncError `usage.invalid` for an unknown table, `files.store`, `replica.full`. */
export async function exportFiles(
  from: Connection,
  options: ExportOptions,
  signal?: AbortSignal,
): Promise<ExportReport> {
  const tableIds = options.tables.length === 0 ? null : chooseTables(from, options.tables).map(({ id }) => id);
  const store = new FileStore(options.store);
  const tally: ExportCounts = {
    linkedCount: 0,
    copiedCount: 0,
    unchangedCount: 0,
    bytes: 0,
    lostCount: 0,
    awaitedCount: readFilesAwaited(from, { tableIds, latestOnly: options.latestOnly }).length,
  };
  const modes = options.isShared === true ? SHARED : PRIVATE;
  openExportFolder(options.folder, modes.folder);
  const top = new Folder(options.folder, modes.folder);
  for (const file of readFilesHere(from, tableIds)) {
    if (options.latestOnly && !file.isLatest) continue;
    if (signal?.aborted === true) throw stopped();
    const source = store.pathOf(file.sha256);
    const content = await lstatOrNull(source);
    // Where a row of the replica says that the store is, there is something else.
    if (content?.isFile() !== true || content.size !== file.bytes) tally.lostCount += 1;
    else await place({ source, content, sha256: file.sha256, mode: modes.file }, await pathFor(top, from, file), tally);
  }
  return tally;
}

function stopped(): RowsyncError {
  return new RowsyncError('originDown', 'origin.stopped', {
    message: 'Exporting files: abandoned because rowsync was asked to stop',
    hint: 'Run the command again; what is there already stays.',
  });
}

/** A folder of the export. Files come by table, row and column, so the names below one folder are given in one go. */
class Folder {
  readonly path: string;
  readonly names = new FolderNames();
  readonly #mode: number;
  #last: { readonly id: number; readonly folder: Folder } | null = null;

  constructor(path: string, mode: number) {
    this.path = path;
    this.#mode = mode;
  }

  /** The folder below it of a table, a row or a column. */
  async below(id: number, nameOf: () => string): Promise<Folder> {
    if (this.#last?.id === id) return this.#last.folder;
    const folder = new Folder(join(this.path, this.names.take(nameOf())), this.#mode);
    await makeFolder(folder.path, this.#mode);
    this.#last = { id, folder };
    return folder;
  }
}

async function pathFor(top: Folder, from: Connection, file: FileHere): Promise<string> {
  const { tableId, rowId, columnId, revision } = file;
  const table = await top.below(tableId, () => safeName(file.tableName, `table ${tableId}`));
  const fallback = `row ${rowId}`;
  const row = await table.below(rowId, () => safeName(readKeyText(from, tableId, rowId) ?? fallback, fallback));
  const cell = await row.below(columnId, () => safeName(file.columnName, `column ${columnId}`));
  const name = safeName(file.name, 'file');
  return join(cell.path, cell.names.take(file.isLatest ? name : nameWithRemark(name, `revision ${revision}`)));
}

/** Makes a folder below the named one, or finds it; a link to a folder does not count. */
async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw fileError(thrown, `Making the folder ${path}`);
  }
  const found = await lstat(path);
  if (found.isDirectory()) return;
  throw new RowsyncError('replica', 'files.store', {
    message: `${path} is not a folder`,
    hint: 'Move it away, or export to another folder.',
  });
}

/** Brings content to a path: leaves it where it is the same, links it where that is possible, else copies it. */
async function place(
  { source, content, sha256, mode }: { source: string; content: Stats; sha256: string; mode: number },
  path: string,
  tally: ExportCounts,
): Promise<void> {
  try {
    if (await isThere(path, content, sha256)) {
      tally.unchangedCount += 1;
      return;
    }
    const between = `${path.slice(0, path.lastIndexOf('/'))}/.rowsync-export`;
    await rm(between, { force: true });
    const isLinked = await linkOrCopy(source, between, mode);
    // A link shares the content of the store; of a copy it is compared, as for a backup.
    if (!isLinked && (await hashOfFile(between)) !== sha256) {
      await rm(between);
      tally.lostCount += 1;
      return;
    }
    await rename(between, path);
    tally.bytes += content.size;
    if (isLinked) tally.linkedCount += 1;
    else tally.copiedCount += 1;
  } catch (thrown) {
    throw fileError(thrown, `Exporting to ${path}`);
  }
}

async function isThere(path: string, content: Stats, sha256: string): Promise<boolean> {
  const present = await lstatOrNull(path);
  if (present?.isFile() !== true || present.size !== content.size) return false;
  return (content.ino === present.ino && content.dev === present.dev) || (await hashOfFile(path)) === sha256;
}

async function linkOrCopy(source: string, path: string, mode: number): Promise<boolean> {
  if (await tryLink(source, path)) return true;
  await copyTo(source, path);
  // A copy belongs to the reader; a link shares the content of the store, which must not be changed.
  await chmod(path, mode);
  return false;
}

async function lstatOrNull(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return null;
    throw fileError(thrown, `Reading ${path}`);
  }
}

/** The text of a row's key, for people; null where the table has no key column or the row is gone. */
function readKeyText(from: Connection, tableId: number, rowId: number): string | null {
  const text = sql`SELECT t.local_name, c.local_name FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id
          WHERE c.table_id = ? AND c.kind = 'Key' AND c.state = 'live' ORDER BY c.position LIMIT 1`;
  const [table, column] = (queryRows(from, text, [tableId])[0] ?? []).map((name) => ident(String(name)));
  if (table === undefined || column === undefined) return null;
  return queryText(from, sql`SELECT CAST(${column} AS TEXT) FROM ${table} WHERE _id = ?`, [rowId]);
}
