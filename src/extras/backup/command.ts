/**
 * `rowsync backup` and `rowsync restore`: copy the replica with its files while it is in use, and put such a copy back.
 */
import type { Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT, exitCodeOf, usageError } from '../../base/errors.ts';
import { resolve } from 'node:path';
import { backUpAll, countAwaited, countLostForGood, earlierBackups, readLack, restoreAll } from './backup.ts';
import { drillText, storeDrill } from './drill-result.ts';
import { drillBackup } from './drill.ts';
import { requireBackup, type CopyReport } from './replica-copy.ts';
import type { CarryReport } from '../shared/stored-content.ts';
import type { Config } from '../../config/load.ts';
import { existsSync, rmSync } from 'node:fs';
import { queryNumber } from '../../replica/query.ts';
import { openReader } from '../../replica/reader.ts';
import { loadNamedConfig, printResult } from '../../cli/runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { become, ownerOf } from '../../cli/runtime/process-owner.ts';
import { mayMake } from './owner-access.ts';
import { backUpByChild, mayReadBackup, PIPE, restoreByChild, restoreReceived, sendBackup } from './piped-backup.ts';
import { sql } from '../../base/sql.ts';
import { bytesText, countText, plural, shellWord } from '../../base/text.ts';

const BACKUP_HELP = `
The copy is of one moment, and is checked before it gets its name. A daemon may be at work meanwhile. The attached files that it
names go into FILE.files beside it: as hard links on one disk, which cost nothing, else as copies. Keep the two together.
schedule.backup and backup.folder in the configuration make the daemon do it.

--drill proves that a backup can be used, the newest in backup.folder or the given one: SQLite reads it whole, its rows are counted against
its own record and the history since, and files are hashed. Nothing is written but the result.

Examples:
  rowsync backup /backups/replica-2026-06-01.db
  rowsync backup --drill`;

const RESTORE_HELP = `
The present replica is moved aside, not deleted. Stop the daemon first. No ETag of the backup is trusted: the next pull reads
every page again, and brings what has changed since. New rows that the backup still wants to create, and that have no value in a
match column, wait for a person: they may have been created since. Tables with other edits of the backup are held (guard.olderCopy) until
you confirm these. Attached files come back from FILE.files; those that are not there are fetched by the next pull.

Example:
  sudo systemctl stop rowsync@main
  sudo rowsync restore /backups/replica-2026-06-01.db && sudo rowsync pull
  sudo systemctl start rowsync@main`;

export function addBackupCommands(program: Command, runner: Runner): void {
  program
    .command('backup')
    .argument('[file]', 'a file that does not exist yet; with --drill one that does')
    .description('copy the replica and its files, checked, while in use')
    .option('--drill', 'prove that the newest backup can be used, instead of making one')
    .option('--without-files', 'leave out attached files, which the origin still has')
    .addHelpText('after', BACKUP_HELP)
    .action(runner(drillOrBackUp));
  program
    .command('restore')
    .argument('<file>', 'what rowsync backup made')
    .description('put a backup in the place of the replica')
    .addHelpText('after', RESTORE_HELP)
    .action(runner(restoreAndPrint));
}

type BackupFlags = Flags<never, 'withoutFiles' | 'moment' | 'drill'>;

async function drillOrBackUp(
  invocation: Invocation,
  file: string | undefined,
  { drill, ...options }: BackupFlags,
): Promise<number> {
  if (drill === true) return drillAndPrint(invocation, file);
  if (file !== undefined) return backUpAndPrint(invocation, file, options);
  throw usageError('No file is named', 'rowsync backup FILE makes one; rowsync backup --drill proves the newest one.');
}

/** Drills a backup. The result of the newest one is kept, as the daemon does. */
async function drillAndPrint(invocation: Invocation, file: string | undefined): Promise<number> {
  const { session } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: false, keepsRoot: true });
  const nowMs = session.clock.nowMs();
  const path = file === undefined ? earlierBackups(config, nowMs)?.[0] : resolve(session.folder, file);
  if (path === undefined)
    throw usageError('There is no backup of this replica in backup.folder', 'Name the file that rowsync backup made.');
  requireBackup(path);
  const owner = ownerOf(config.replica.path);
  if (owner !== null && !mayReadBackup(owner, path))
    throw usageError(`The user that owns the replica may not read ${path}`, 'Copy it to where that user may read it.');
  if (owner !== null) become(owner);
  using main = existsSync(config.replica.path) ? openReader(config.replica.path) : null;
  const drill = await drillBackup(path, { main, nowMs });
  if (file === undefined) storeDrill(config, drill);
  const exitCode = drill.problem === null ? EXIT.done : EXIT.failed;
  await printResult(invocation, { exitCode, ...drill }, [drillText(drill)]);
  return exitCode;
}

async function backUpAndPrint(invocation: Invocation, file: string, options: BackupFlags): Promise<number> {
  const { session } = invocation;
  const withFiles = options.withoutFiles !== true;
  const config = await loadNamedConfig(invocation, { needsCredentials: false, keepsRoot: true });
  const target = resolve(session.folder, file);
  const owner = ownerOf(config.replica.path);
  const isPiped = file === PIPE;
  const isOwners = owner === null || isPiped || mayMake(owner, target);
  if (options.moment === true && (isPiped || !isOwners)) {
    throw usageError(
      'A backup of a moment is made by the user that owns the replica, in a file',
      'Run it as that user, into a folder where it may write.',
    );
  }
  if (owner !== null && isOwners) become(owner);
  if (isPiped) return sendBackup(session, config, withFiles);
  const report = isOwners
    ? await backUpAll(config, target, { withFiles })
    : await backUpByChild(invocation, config, { target, withFiles });
  if (typeof report === 'number') return report;
  if (options.moment === true) await requireMomentOf(invocation, config, report);
  const { path, bytes, tableCount, rowCount, files } = report;
  const { awaited, failure } = readLack(report);
  const exitCode = exitCodeOf(failure === null ? [] : [failure]);
  const lines = [
    `${path}: ${plural(tableCount, 'table')}, ${plural(rowCount, 'row')}, ${bytesText(bytes)}`,
    files === null ? 'without attached files' : filesText(files),
    ...(awaited.waitingCount === 0
      ? []
      : [
          `not here yet, so not in the backup: ${plural(awaited.waitingCount, 'file')}; rowsync files pull fetches them`,
        ]),
    ...(failure === null ? [] : [`failed: ${failure.message}`, `  what to do: ${failure.hint}`]),
  ];
  await printResult(invocation, { exitCode, ...report, filesNotHere: awaited, error: failure }, lines);
  return exitCode;
}

/** Removes a backup that is of no moment, as where a row came while it was made. @throws RowsyncError `fresh.moved`. */
async function requireMomentOf(invocation: Invocation, config: Config, { path, files }: CopyReport): Promise<void> {
  const [hold] = invocation.extras.flatMap((extra) => extra.hold ?? []);
  using reader = openReader(path);
  try {
    await hold?.(invocation, config, { reader, reads: () => [], options: { moment: true } });
  } catch (thrown) {
    for (const made of [path, files?.folder ?? []].flat()) rmSync(made, { recursive: true, force: true });
    throw thrown;
  }
}

function filesText({ folder, linkedCount, copiedCount, presentCount, bytes }: CarryReport): string {
  const present = presentCount === 0 ? '' : `, ${countText(presentCount)} there already`;
  const counts = `${countText(linkedCount)} linked, ${countText(copiedCount)} copied (${bytesText(bytes)})${present}`;
  return folder === null ? 'no attached files' : `${folder}: ${counts}`;
}

async function restoreAndPrint(invocation: Invocation, file: string): Promise<number> {
  const { session } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: false, keepsRoot: true });
  const stamp = stampFromMs(session.clock.nowMs()).replaceAll(/[-:]/g, '');
  const backup = resolve(session.folder, file);
  const owner = ownerOf(config.replica.path);
  const isPiped = file === PIPE;
  if (owner !== null && !isPiped && !mayReadBackup(owner, backup)) return restoreByChild(invocation, config, backup);
  if (owner !== null) become(owner);
  const unpushedCount = countUnpushed(config.replica.path);
  const report = await (isPiped ? restoreReceived(session, config, stamp) : restoreAll(config, backup, stamp));
  const { path, tableCount, rowCount, asidePath, pendingCreateCount, pendingEditCount, files } = report;
  const awaited = countAwaited(path);
  const awaitedCount = awaited.failedCount + awaited.waitingCount;
  const lostCount = countLostForGood(path);
  const lines = [
    `${path}: ${plural(tableCount, 'table')}, ${plural(rowCount, 'row')}`,
    ...(files === null ? [] : [filesText(files)]),
    ...(awaitedCount === 0
      ? []
      : [`not in the backup: ${plural(awaitedCount, 'file')}; rowsync pull fetches what is missing`]),
    ...(lostCount === 0
      ? []
      : [
          `lost: ${plural(lostCount, 'file')} that the origin no longer has; only another backup may have ${lostCount === 1 ? 'it' : 'them'}`,
        ]),
    ...(asidePath === null ? [] : [`the old replica is now ${asidePath}`]),
    ...(unpushedCount === 0
      ? []
      : [
          `${plural(unpushedCount, 'edited row')} of the old replica had not reached the origin; what the backup lacks is only there:`,
          `  sqlite3 -readonly ${shellWord(asidePath ?? path)} 'SELECT * FROM sync_changes'`,
        ]),
    ...(pendingCreateCount === 0
      ? []
      : [
          `${plural(pendingCreateCount, 'new row')} had not been pushed when the backup was made, and may have been since.`,
          'Those that nothing identifies wait; after the next pull, rowsync failures lists them: look at the origin, then retry or discard them.',
        ]),
    ...(pendingEditCount === 0
      ? []
      : [
          `${plural(pendingEditCount, 'edited row')} of the backup had not been pushed when it was made. Such edits may be outdated, and wait:`,
          'rowsync plan lists them; rowsync push --confirm sends them, and rowsync discard TABLE --all puts the rows back.',
        ]),
    'run rowsync pull: it reads every page again',
  ];
  await printResult(invocation, { ...report, unpushedCount }, lines);
  return EXIT.done;
}

/** Edited rows that the origin does not have; 0 also if the replica cannot be read, which is why people restore. */
function countUnpushed(path: string): number {
  try {
    using reader = openReader(path);
    return queryNumber(reader, sql`SELECT count(*) FROM _rowsync_rows`);
  } catch {
    return 0;
  }
}
