/**
 * A whole backup: the replica, then the files that it names. For the command and the daemon. Input: a configuration. Output: a file, and a folder
 * beside it where there are any files; the folder has its name before the file has (I15), and is removed after it.
 */
import { chmodSync, chownSync, existsSync, lchownSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { RowsyncError } from '../base/errors.ts';
import type { Config } from '../config/load.ts';
import { carryFromBackup, carryToBackup, filesBeside, type CarryReport } from '../files/carry.ts';
import { backUp, dateOfBackup, datedBackups, restore, type CopyReport, type RestoreReport } from '../replica/backup.ts';
import { readStoreFolder, type Content } from '../replica/files.ts';
import { openReader } from '../replica/reader.ts';

/** A backup; `files` is null if they were left out. */
export type BackupReport = CopyReport & { readonly files: CarryReport | null };

/** Makes a backup in the given file. @throws RowsyncError as `backUp` and `carryToBackup` do. */
export async function backUpAll(
  { replica }: Config,
  path: string,
  options: {
    readonly withFiles: boolean;
    readonly earlier?: readonly string[] | undefined;
    /** Called as it continues. */
    readonly onAdvance?: (() => void) | undefined;
  },
): Promise<BackupReport> {
  const { onAdvance } = options;
  if (!options.withFiles) return backUp<CarryReport>(replica.path, path, undefined, onAdvance);
  const earlier = (options.earlier ?? []).map(filesBeside).filter((folder) => existsSync(folder));
  const sources = [storeFolder(replica), ...earlier.slice(0, 1)];
  let made: string | null = null;
  try {
    const carry = async (contents: readonly Content[]): Promise<CarryReport> => {
      const report = await carryToBackup(contents, { backup: path, sources, onCarried: onAdvance });
      made = report.folder;
      return report;
    };
    return await backUp(replica.path, path, carry, onAdvance);
  } catch (thrown) {
    if (made !== null) rmSync(made, { recursive: true, force: true });
    throw thrown;
  }
}

/** An error if a backup lacks content that the replica names; null if it lacks none. */
export function lostFilesError(files: CarryReport | null): RowsyncError | null {
  const count = files?.lost.length ?? 0;
  if (count === 0) return null;
  return new RowsyncError('replica', 'files.damaged', {
    message: `The backup is made, but lacks ${count} of its files: they are lost or damaged in the file store`,
    hint: 'rowsync files verify fetches them again; then make another backup.',
  });
}

/** Where the named content is; the configuration may have changed since it was stored. */
function storeFolder({ path, files }: Config['replica']): string {
  const reader = openReader(path);
  try {
    return reader.isOlder() ? files : (readStoreFolder(reader) ?? files);
  } finally {
    reader.close();
  }
}

/**
 * Makes a dated backup in the configured folder, and removes all but the newest ones; files of other names stay. A backup without rows, as of a new
 * replica before its first pull, replaces none.
 */
export async function backUpDated(
  config: Config,
  folder: string,
  { nowMs, onAdvance }: { readonly nowMs: number; readonly onAdvance?: (() => void) | undefined },
): Promise<BackupReport> {
  const { database } = config.origin;
  const { path, earlier } = datedBackups(config.replica.path, { folder, database, nowMs });
  const report = await backUpAll(config, path, { withFiles: true, earlier, onAdvance });
  for (const old of report.rowCount === 0 ? [] : earlier.slice(config.backup.keep - 1)) {
    rmSync(old);
    rmSync(filesBeside(old), { recursive: true, force: true });
  }
  removeRemains(path, folder);
  return report;
}

/** When the last dated backup was begun, in milliseconds; 0 for none, null if no folder is configured. */
export function lastBackupMs({ backup, origin, replica }: Config, nowMs: number): number | null {
  if (backup.folder === null) return null;
  const { database } = origin;
  const [last] = datedBackups(replica.path, { folder: backup.folder, database, nowMs }).earlier;
  return last === undefined ? 0 : dateOfBackup(last);
}

/** Folders of files whose backup is gone, or never got its name because of a power cut. */
function removeRemains(backup: string, folder: string): void {
  const stem = basename(backup).slice(0, -'19700101T000000Z.db'.length);
  for (const name of readdirSync(folder)) {
    const rest = name.startsWith(stem) ? name.slice(stem.length) : '';
    if (!/^\d{8}T\d{6}Z\.db\.(files|files\.partial|partial)$/.test(rest)) continue;
    const file = join(folder, name.slice(0, name.indexOf('.db') + '.db'.length));
    if (!existsSync(file)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Puts a backup in the place of the replica, with its files. @throws RowsyncError as `restore` does. */
export async function restoreAll(
  { replica }: Config,
  backup: string,
  stamp: string,
): Promise<RestoreReport<CarryReport>> {
  requireNoLink(replica);
  const place = { backup, folder: replica.files, isShared: replica.shared };
  const report = await restore(backup, { path: replica.path, stamp }, (contents) => carryFromBackup(contents, place));
  if (replica.shared) chmodSync(replica.path, 0o660);
  giveToOwner(replica);
  return report;
}

/** People who share the replica may write to its folder. Restored files get their owner afterwards, so root must not follow their links. */
function requireNoLink({ path, files }: Config['replica']): void {
  if (process.getuid?.() !== 0) return;
  for (const place of [path, `${path}.lock`, files]) {
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() !== true || found.uid === 0) continue;
    throw new RowsyncError('replica', 'replica.path', {
      message: `${place} is a link that another user made, which root does not follow`,
      hint: 'Look where it leads, and remove it, or run the command as the user that rowsync runs as.',
    });
  }
}

/** Files that root restores get the owner of the replica's folder, as whom the daemon runs. */
function giveToOwner({ path, files }: Config['replica']): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  for (const ending of ['', '.lock', '.sent']) if (existsSync(path + ending)) lchownSync(path + ending, uid, gid);
  if (!existsSync(files)) return;
  chownSync(files, uid, gid);
  for (const entry of readdirSync(files, { recursive: true, withFileTypes: true })) {
    lchownSync(join(entry.parentPath, entry.name), uid, gid);
  }
}
