/**
 * What work on files did, in words. Pure.
 */
import type { FilesReport } from '../../files/context.ts';
import { failuresOf, problemsText } from './pull-report.ts';
import { bytesText, countText, durationText, plural } from '../../base/text.ts';

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
  return line + failed + over + problemsText(failuresOf(report).map((error) => ({ what: 'files', error })));
}
