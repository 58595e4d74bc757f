/**
 * `rowsync files export`: attached files under their names, by table, row and column. It may run beside the daemon.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exitCodeOf, RowsyncError } from '../../base/errors.ts';
import { bytesText, countText, plural, printable } from '../../base/text.ts';
import { problemsText } from '../../cli/report/pull-report.ts';
import { loadNamedConfig, printResult } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { openReader } from '../../replica/reader.ts';
import { exportFiles, type ExportReport } from './files-export.ts';

const EXAMPLES = `
Examples:
  rowsync files export /srv/pictures --latest Employee`;

export function addFilesExportCommand(program: Command, runner: Runner): void {
  program.commands
    .find((command) => command.name() === 'files')
    ?.command('export <folder> [table...]')
    .description('write files as FOLDER/Table/key/Column/name, linked where possible')
    .option('--latest', 'only the revisions that cells show')
    .addHelpText('after', EXAMPLES)
    .action(runner(exportAndPrint));
}

async function exportAndPrint(
  invocation: Invocation,
  into: string,
  tables: readonly string[],
  { latest: latestOnly = false }: { readonly latest?: boolean },
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const { session } = invocation;
  using reader = openReader(config.replica.path);
  const folder = resolve(session.folder, into);
  const { files: store, shared: isShared } = config.replica;
  const report = await exportFiles(reader, { tables, latestOnly, folder, store, isShared }, session.stopSignal());
  const errors = exportFailures(report);
  const exitCode = exitCodeOf(errors);
  await printResult(invocation, { exitCode, folder, ...report, errors }, exportText(report, folder));
  return exitCode;
}

function exportFailures({ lostCount, awaitedCount }: ExportReport): readonly RowsyncError[] {
  const lost = new RowsyncError('replica', 'files.damaged', {
    message: `${plural(lostCount, 'file')} could not be exported: the content is not in the file store, or is damaged there`,
    hint: 'rowsync files verify fetches it again.',
  });
  const awaited = new RowsyncError('replica', 'files.failed', {
    message: `${plural(awaitedCount, 'file')} of the origin could not be exported: the content was not fetched yet`,
    hint: 'rowsync files pull fetches it; sync_files says what was in the way. Then export again.',
  });
  return [...(lostCount === 0 ? [] : [lost]), ...(awaitedCount === 0 ? [] : [awaited])];
}

function exportText(report: ExportReport, folder: string): string {
  const { linkedCount, copiedCount, unchangedCount, bytes } = report;
  const counts = `${countText(linkedCount)} linked, ${countText(copiedCount)} copied (${bytesText(bytes)}), ${countText(unchangedCount)} there already`;
  const problems = problemsText(exportFailures(report).map((error) => ({ what: 'failed', error })));
  return `${printable(folder)}: ${counts}\n${problems}`;
}
