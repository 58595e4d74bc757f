/** What work on files did, in words. */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { filesText } from '../../../src/cli/report/files-report.ts';
import type { FilesReport } from '../../../src/files/context.ts';

const report = (changes: Partial<FilesReport> = {}): FilesReport => ({
  downloadedCount: 0,
  downloadedBytes: 0,
  knownCount: 0,
  failedCount: 0,
  overBoundCount: 0,
  vanishedCount: 0,
  listedCount: 0,
  requestCount: 0,
  durationMs: 1_500,
  error: null,
  ...changes,
});

test('nothing is said where nothing happened', () => {
  expect(filesText(null)).toBe('');
  expect(filesText(report({ listedCount: 5, requestCount: 5 }))).toBe('');
});

test('one line says what came, and what is gone at the origin', () => {
  const text = filesText(report({ downloadedCount: 1_200, downloadedBytes: 2_048, knownCount: 1, vanishedCount: 2 }));

  expect(text).toBe(
    'files: 1,200 downloaded (2.0 KiB), 1 known already, 2 gone at the origin and kept here in 1.5 s\n',
  );
});

test('what failed, and what the bound left out, come with what to do', () => {
  const text = filesText(report({ failedCount: 1, overBoundCount: 3 }));

  expect(text).toContain(
    '\n1 file could not be fetched; later pulls try again\n  what to do: SELECT * FROM sync_files',
  );
  expect(text).toContain('\n3 files not downloaded: files.maxBytes is reached\n  what to do: ');
});

test('an error that ended the work is said once', () => {
  const error = new RowsyncError('replica', 'files.failed', { message: 'the disk is full', hint: 'free some' });

  expect(filesText(report({ error }))).toContain('the disk is full\n  what to do: free some\n');
});
