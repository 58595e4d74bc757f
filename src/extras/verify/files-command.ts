/**
 * `rowsync files verify`: proves that every attached file is whole, and fetches again what is not.
 */
import type { Command } from 'commander';
import { exitCodeOf, RowsyncError } from '../../base/errors.ts';
import { bytesText, durationText, plural, printable } from '../../base/text.ts';
import { problemsText } from '../../cli/report/pull-report.ts';
import { loadNamedConfig, printResult, withResources } from '../../cli/runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { openReader } from '../../replica/reader.ts';
import { verifyFiles, type FilesVerifyReport } from './files.ts';

/** Places named where many are lost. */
const PLACES_NAMED_MAX = 20;

export function addFilesVerifyCommand(program: Command, runner: Runner): void {
  program.commands
    .find((command) => command.name() === 'files')
    ?.command('verify [table...]')
    .description('prove that every file is whole, and mend those that are not')
    .action(runner(verifyAndPrint));
}

async function verifyAndPrint(invocation: Invocation, tables: readonly string[]): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  openReader(config.replica.path).close();
  const report = await withResources(invocation, config, ({ files }) => verifyFiles(files, { tables }));
  const exitCode = exitCodeOf(filesVerifyFailures(report));
  await printResult(invocation, { exitCode, ...report }, filesVerifyText(report));
  return exitCode;
}

/** What went wrong in a verification of files, for the exit code. */
function filesVerifyFailures(report: FilesVerifyReport): readonly RowsyncError[] {
  const badCount = report.lostCount + report.differentCount;
  const damaged = new RowsyncError('replica', 'files.damaged', {
    message: `${plural(badCount, 'file')} ${badCount === 1 ? 'is' : 'are'} not what the origin has, and could not be fetched again`,
    hint: 'sync_files says why; what the origin no longer has can come from a backup only.',
  });
  return [...(report.error === null ? [] : [report.error]), ...(badCount === 0 ? [] : [damaged])];
}

export function filesVerifyText(report: FilesVerifyReport): string {
  const failures = filesVerifyFailures(report);
  const counts = [
    { count: report.damagedCount, text: 'lost or damaged here' },
    { count: report.missingCount, text: 'not here before' },
    { count: report.damagedCount + report.missingCount - report.lostCount, text: 'mended' },
    { count: report.vanishedCount, text: 'newly gone at the origin' },
    { count: report.refusedCount, text: 'that the origin does not show, so only the content here was checked' },
    { count: report.unaskedCount, text: 'that the origin could not be asked for' },
  ];
  const facts = counts
    .filter(({ count }) => count > 0)
    .map(({ count, text }) => `  ${plural(count, 'file')} ${text}\n`);
  const named = (title: string, places: readonly string[], count: number): string => {
    if (count === 0) return '';
    const shown = places.slice(0, PLACES_NAMED_MAX).map((place) => `  ${printable(place)}\n`);
    const rest = count - shown.length;
    return `${title}:\n${shown.join('')}${rest > 0 ? `  and ${plural(rest, 'more file')}\n` : ''}`;
  };
  return (
    `${failures.length === 0 ? 'All files are intact' : 'Some files are not intact, or could not be checked'}\n` +
    facts.join('') +
    named('Not here', report.lost, report.lostCount) +
    named('Different size at the origin', report.different, report.differentCount) +
    `${plural(report.contentCount, 'content')} (${bytesText(report.contentBytes)}) read, ${plural(report.askedCount, 'file')} asked for at the origin, ` +
    `with ${plural(report.requestCount, 'request')} in ${durationText(report.durationMs)}\n` +
    problemsText(failures.map((error) => ({ what: 'failed', error })))
  );
}
