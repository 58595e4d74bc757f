/**
 * `rowsync backup` and `rowsync restore`: one file with everything, made while everybody works, and the way back.
 */
import type { Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { backUp, restore } from '../../replica/backup.ts';
import { resolve } from 'node:path';
import { loadNamedConfig, printJson, type Invocation, type Runner } from '../invocation.ts';
import { bytesText, plural, printable } from '../text.ts';

const BACKUP_HELP = `
The copy is of one moment, and is checked before it gets its name. A daemon may be at work meanwhile.
schedule.backup and backup.folder in the configuration make the daemon do it.

Example:
  rowsync backup /backups/replica-2026-06-01.db`;

const RESTORE_HELP = `
The replica that is there is moved aside, not deleted. Stop the daemon first. Afterwards no ETag is trusted: the next pull reads
every page again, and brings what has changed since. New rows that the backup still wants to create, and that have no value in a
match column, wait for a person: they may have been created since.

Example:
  systemctl stop rowsync@main
  rowsync restore /backups/replica-2026-06-01.db && rowsync pull`;

/** Adds both commands. */
export function addBackupCommands(program: Command, runner: Runner): void {
  program
    .command('backup')
    .argument('<file>', 'a file that does not exist yet')
    .description('copy the replica into one file, checked, while it is in use')
    .addHelpText('after', BACKUP_HELP)
    .action((file: string, _options: unknown, command: Command) =>
      runner(command, (invocation) => backUpAndPrint(invocation, file)),
    );
  program
    .command('restore')
    .argument('<file>', 'what rowsync backup made')
    .description('put a backup in the place of the replica')
    .addHelpText('after', RESTORE_HELP)
    .action((file: string, _options: unknown, command: Command) =>
      runner(command, (invocation) => restoreAndPrint(invocation, file)),
    );
}

async function backUpAndPrint(invocation: Invocation, file: string): Promise<number> {
  const { session } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const report = await backUp(config.replica.path, resolve(session.folder, file));
  const { path, bytes, tableCount, rowCount } = report;
  const text = `${printable(path)}: ${plural(tableCount, 'table')}, ${plural(rowCount, 'row')}, ${bytesText(bytes)}\n`;
  await (invocation.isJson ? printJson(invocation, report) : session.stdout.write(text));
  return EXIT.done;
}

async function restoreAndPrint(invocation: Invocation, file: string): Promise<number> {
  const { session } = invocation;
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const stamp = stampFromMs(session.clock.nowMs()).replaceAll(/[-:]/g, '');
  const report = await restore(resolve(session.folder, file), config.replica.path, stamp);
  const { path, tableCount, rowCount, asidePath, pendingCreateCount } = report;
  const lines = [
    `${path}: ${plural(tableCount, 'table')}, ${plural(rowCount, 'row')}`,
    ...(asidePath === null ? [] : [`the former replica is ${asidePath}`]),
    ...(pendingCreateCount === 0
      ? []
      : [
          `${plural(pendingCreateCount, 'new row')} had not been pushed when the backup was made, and may have been since.`,
          'Those that nothing identifies wait (rowsync failures): look at the origin, then retry or discard them.',
        ]),
    'run rowsync pull: it reads every page again',
  ];
  const text = lines.map((line) => `${printable(line)}\n`).join('');
  await (invocation.isJson ? printJson(invocation, report) : session.stdout.write(text));
  return EXIT.done;
}
