/**
 * What work on files did, in words and as exit codes. Pure.
 */
import { RowsyncError } from '../../base/errors.ts';
import type { FilesReport } from '../../files/context.ts';
import type { PruneReport } from '../../files/prune.ts';
import type { FilesVerifyReport } from '../../files/verify.ts';
import { problemsText } from './pull-report.ts';
import { bytesText, countText, durationText, plural, printable } from '../../base/text.ts';

/** Places named where many are lost. */
const PLACES_NAMED_MAX = 20;

/** What ended the work; files that failed by themselves are listed in `sync_files` and end nothing. */
export function filesFailures(report: FilesReport | null): readonly RowsyncError[] {
  return report?.error == null ? [] : [report.error];
}

/** An error for files that failed by themselves, where fetching them is all that was asked for. */
export function filesFailedError({ failedCount }: FilesReport): readonly RowsyncError[] {
  if (failedCount === 0) return [];
  return [
    new RowsyncError('originRefused', 'files.failed', {
      message: `${plural(failedCount, 'file')} could not be fetched`,
      hint: "SELECT * FROM sync_files WHERE state = 'failed' says which, and why.",
    }),
  ];
}

/** Downloads for people; empty if nothing happened. */
export function filesText(report: FilesReport | null): string {
  if (report === null) return '';
  const done = [
    { count: report.downloadedCount, text: `downloaded (${bytesText(report.downloadedBytes)})` },
    { count: report.knownCount, text: 'known already' },
    { count: report.vanishedCount, text: 'gone at the origin and kept here' },
  ];
  const facts = done.filter(({ count }) => count > 0).map(({ count, text }) => `${countText(count)} ${text}`);
  const line = facts.length === 0 ? '' : `files: ${facts.join(', ')} in ${durationText(report.durationMs)}\n`;
  const failed =
    report.failedCount === 0
      ? ''
      : `\n${plural(report.failedCount, 'file')} could not be fetched; later pulls try again\n` +
        "  what to do: SELECT * FROM sync_files WHERE state = 'failed' says which, and why\n";
  const over =
    report.overBoundCount === 0
      ? ''
      : `\n${plural(report.overBoundCount, 'file')} not downloaded: files.maxBytes is reached\n` +
        '  what to do: raise it, or leave files out by type or size under tables\n';
  return line + failed + over + problemsText(filesFailures(report).map((error) => ({ what: 'files', error })));
}

/** What went wrong in a verification of files, for the exit code. */
export function filesVerifyFailures(report: FilesVerifyReport): readonly RowsyncError[] {
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
    { count: report.damagedCount - report.lostCount, text: 'mended' },
    { count: report.vanishedCount, text: 'newly gone at the origin' },
    { count: report.refusedCount, text: 'that the origin does not show any more' },
  ];
  const facts = counts
    .filter(({ count }) => count > 0)
    .map(({ count, text }) => `  ${plural(count, 'file')} ${text}\n`);
  const named = (title: string, places: readonly string[], count: number): string => {
    if (count === 0) return '';
    const shown = places.slice(0, PLACES_NAMED_MAX).map((place) => `  ${printable(place)}\n`);
    const rest = count - shown.length;
    return `\n${title}:\n${shown.join('')}${rest > 0 ? `  and ${plural(rest, 'more file')}\n` : ''}`;
  };
  return (
    `${countText(report.contentCount)} contents (${bytesText(report.contentBytes)}) read, ${plural(report.askedCount, 'file')} asked for at the origin: ` +
    `${failures.length === 0 ? 'all files are intact' : 'not all files are intact, or could be checked'}\n` +
    facts.join('') +
    `${plural(report.requestCount, 'request')} in ${durationText(report.durationMs)}\n` +
    named('Not here any more', report.lost, report.lostCount) +
    named('Of another size at the origin', report.different, report.differentCount) +
    problemsText(failures.map((error) => ({ what: 'failed', error })))
  );
}

export function pruneText({ contentCount, bytes }: PruneReport, isDryRun: boolean): string {
  if (contentCount === 0) return 'Nothing to remove: every content belongs to a row of sync_files\n';
  const what = `${countText(contentCount)} contents (${bytesText(bytes)}) that no row of sync_files refers to`;
  return isDryRun ? `Would remove ${what}\n` : `Removed ${what}\n`;
}
