/**
 * Makes a backup of the replica and the files that it names, for the command and the daemon. The folder of files gets
 * its name before the backup has its own (I15). When an old backup is deleted, its file goes first, then its folder.
 */
import { accessSync, chmodSync, constants, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { must } from '../../base/assert.ts';
import { RowsyncError } from '../../base/errors.ts';
import type { LogEvent } from '../../base/log-events.ts';
import type { LogFacts } from '../../base/log.ts';
import { literal, sql } from '../../base/sql.ts';
import { plural } from '../../base/text.ts';
import { fail, ok, type CheckResult } from '../shared/linked-extra.ts';
import type { Config } from '../../config/load.ts';
import type { FoundComplaint } from '../../reconcile/account/facts.ts';
import type { ExtraWork } from '../../daemon/work-kinds.ts';
import {
  carryFromBackup,
  carryToBackup,
  filesBeside,
  readFilesAwaited,
  type CarryReport,
} from '../shared/stored-content.ts';
import {
  backUp,
  dateOfBackup,
  datedBackups,
  READ_ONLY,
  restore,
  type CopyReport,
  type RestoreReport,
} from './replica-copy.ts';
import { withFile } from '../../replica/copy-file.ts';
import { CONTENT_LOST } from '../../replica/bookkeeping/files.ts';
import { queryNumber } from '../../replica/query.ts';
import type { StoredContent } from '../../reconcile/files.ts';

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
): Promise<CopyReport> {
  const { onAdvance } = options;
  if (!options.withFiles) return backUp(replica.path, path, undefined, onAdvance);
  const earlier = (options.earlier ?? []).map(filesBeside).filter((folder) => existsSync(folder));
  const sources = [replica.files, ...earlier.slice(0, 1)];
  let made: string | null = null;
  try {
    const carry = async (contents: readonly StoredContent[]): Promise<CarryReport> => {
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

/** Files that the replica of a backup should have and has not, so that the backup lacks them too. */
export interface FilesAwaited {
  /** Lost or damaged, or asked for in vain. */
  readonly failedCount: number;
  /** That no pull has asked for yet. */
  readonly waitingCount: number;
}

export function countAwaited(backup: string): FilesAwaited {
  return withFile(backup, READ_ONLY, (db) => {
    const failedCount = readFilesAwaited(db, { triedOnly: true }).length;
    return { failedCount, waitingCount: readFilesAwaited(db).length - failedCount };
  });
}

/** Files whose content is lost and that the origin no longer has, so that no pull brings them. */
export function countLostForGood(replica: string): number {
  const text = sql`SELECT count(*) FROM _rowsync_files WHERE state <> 'here' AND vanished_at IS NOT NULL
          AND reason = ${literal(CONTENT_LOST)}`;
  return withFile(replica, READ_ONLY, (db) => queryNumber(db, text));
}

/** What a backup that was just made lacks of its files, and an error if not all of it is still to be fetched. */
export function readLack({ path, files }: Pick<CopyReport, 'path' | 'files'>): {
  readonly awaited: FilesAwaited;
  readonly failure: RowsyncError | null;
} {
  const awaited = files === null ? { failedCount: 0, waitingCount: 0 } : countAwaited(path);
  return { awaited, failure: lostFilesError(files, awaited.failedCount) };
}

/** An error if a backup lacks content that the replica names, or `failedCount` files that it should have; else null. */
function lostFilesError(files: CarryReport | null, failedCount: number): RowsyncError | null {
  const count = (files?.lost.length ?? 0) + failedCount;
  if (count === 0) return null;
  return new RowsyncError('replica', 'files.damaged', {
    message: `The backup is made, but lacks ${count} of its files: they are lost or damaged in the file store, or could not be fetched`,
    hint: 'rowsync files verify fetches them again, or says what it needs where all of the file store is gone; then make another backup.',
  });
}

/** Makes a dated backup in the folder, and removes all but the newest ones; one without rows replaces none. */
export async function backUpDated(
  config: Config,
  folder: string,
  { nowMs, onAdvance }: { readonly nowMs: number; readonly onAdvance?: (() => void) | undefined },
): Promise<CopyReport> {
  const { database } = config.origin;
  const { path, earlier } = datedBackups(config.replica.path, { folder, database, nowMs });
  const report = await backUpAll(config, path, { withFiles: true, earlier, onAdvance });
  for (const old of report.rowCount === 0 ? [] : earlier.slice((config.extras.backup?.keep ?? Infinity) - 1)) {
    rmSync(old);
    rmSync(filesBeside(old), { recursive: true, force: true });
  }
  removeRemains(path, folder);
  return report;
}

/** When the last dated backup was begun, in milliseconds; 0 for none, null if no folder is configured. */
export function lastBackupMs(config: Config, nowMs: number): number | null {
  const earlier = earlierBackups(config, nowMs);
  if (earlier === null) return null;
  const [last] = earlier;
  return last === undefined ? 0 : dateOfBackup(last);
}

/** The dated backups in the configured folder, the newest first; null without a folder. */
export function earlierBackups({ extras, origin, replica }: Config, nowMs: number): readonly string[] | null {
  const folder = extras.backup?.folder ?? null;
  return folder === null ? null : datedBackups(replica.path, { folder, database: origin.database, nowMs }).earlier;
}

/** Whether the daemon can put its backups where they are to go; nothing where none are scheduled. */
export function checkBackupFolder({ extras, schedule }: Config): readonly CheckResult[] {
  const folder = extras.backup?.folder ?? null;
  if (folder === null || (schedule.added['backup'] ?? false) === false) return [];
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    if (statSync(folder).isDirectory()) return [ok('backup', `${folder} can be written`)];
  } catch {
    // Said below.
  }
  const hint = 'Make the folder, and let the user of the daemon write there.';
  return [fail('backup', `backup.folder: no folder ${folder} that can be written, so no backup is made`, hint)];
}

export const backUpOnSchedule: ExtraWork = async ({ config, nowMs, onAdvance }) => {
  const folder = must(config.extras.backup?.folder, 'a schedule for backups has a folder for them');
  const report = await backUpDated(config, folder, { nowMs, onAdvance });
  const { path, rowCount, tableCount, files } = report;
  const fileCount = (files?.linkedCount ?? 0) + (files?.copiedCount ?? 0);
  const { awaited, failure } = readLack(report);
  return { own: failure, facts: { path, rowCount, tableCount, fileCount, waitingCount: awaited.waitingCount } };
};

/** Counts the files that the last scheduled backup lacks because they were not fetched yet. */
export function watchBackups() {
  let last: LogFacts = {};
  return {
    takeEvent: (event: LogEvent, facts: LogFacts): void => {
      if (event === 'work.finished' && facts.work === 'backup' && facts.path !== undefined) last = facts;
    },
    complaints: (): readonly FoundComplaint[] => {
      const count = Number(last.waitingCount ?? 0);
      const code = 'backup.lacksFiles';
      const message = `The last backup (${String(last.path)}) lacks ${plural(count, 'file')} that ${count === 1 ? 'was' : 'were'} not here yet`;
      const hint = 'rowsync files pull fetches them, as the daemon does on schedule; the next backup has them then.';
      return count === 0 ? [] : [{ about: code, subject: null, code, message, hint, since: null }];
    },
  };
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
export async function restoreAll({ replica, origin }: Config, backup: string, stamp: string): Promise<RestoreReport> {
  const place = { backup, folder: replica.files, isShared: replica.shared };
  const target = { path: replica.path, stamp, database: origin.database };
  const report = await restore(backup, target, (contents) => carryFromBackup(contents, place));
  if (replica.shared) chmodSync(replica.path, 0o660);
  return report;
}
