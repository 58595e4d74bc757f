/**
 * What a pull did, in words and exit codes.
 */
import { expect, test } from 'vitest';
import { exitCodeOf, RowsyncError } from '../../../src/base/errors.ts';
import {
  failuresOf,
  filesText,
  problemsText,
  pullText,
  reportProblemsText,
} from '../../../src/cli/report/pull-report.ts';
import type { FilesReport } from '../../../src/files/context.ts';
import type { TablePullReport } from '../../../src/pull/report.ts';
import { failure, pullReport, tableReport } from '../../support/pull-reports.ts';

const down = failure('originDown', 'origin.timeout');
const refused = failure('originRefused', 'origin.refused');
const guard = failure('needsPerson', 'guard.deletes');

test.each([
  { failures: [], exitCode: 0 },
  { failures: [down], exitCode: 75 },
  { failures: [down, down], exitCode: 75 },
  { failures: [down, refused], exitCode: 1 },
  { failures: [refused], exitCode: 1 },
  { failures: [guard], exitCode: 3 },
  { failures: [guard, down], exitCode: 3 },
  { failures: [refused, guard], exitCode: 3 },
  { failures: [failure('replica', 'replica.inUse')], exitCode: 75 },
  { failures: [failure('usage', 'usage.invalid')], exitCode: 2 },
  { failures: [failure('config', 'config.invalid')], exitCode: 1 },
  { failures: [failure('config', 'config.invalid'), refused], exitCode: 1 },
  { failures: [failure('auth', 'origin.forbidden')], exitCode: 1 },
])('several failures end in one exit code ($exitCode)', ({ failures, exitCode }) => {
  expect(exitCodeOf(failures)).toBe(exitCode);
});

test('every failure of a pull counts: of the whole, of a table, and what is held', () => {
  const failures = failuresOf(
    pullReport([tableReport('A', { error: refused }), tableReport('B', { held: guard }), tableReport('C')], down),
  );

  expect(failures).toEqual([down, refused, guard]);
});

test('a pull says how many rows left the filter of a table', () => {
  const text = pullText(pullReport([tableReport('A', { filteredCount: 3 }), tableReport('B')]), 80);

  expect(text).toContain('│ A     │ 1,000 │');
  expect(text).toContain('\nA: 3 rows left its filter (rows)\n1 table without changes\n');
});

test('a pull lists the tables that changed, and the sums', () => {
  const text = pullText(
    pullReport([tableReport('A', { insertedCount: 5, updatedCount: 3, pagesReadCount: 1 }), tableReport('B')]),
    80,
  );

  expect(text).toBe(
    [
      '┌───────┬───────┬─────┬─────────┬─────────┬────────────┬───────────┐',
      '│ table │  rows │ new │ changed │ deleted │ pages read │ unchanged │',
      '├───────┼───────┼─────┼─────────┼─────────┼────────────┼───────────┤',
      '│ A     │ 1,000 │   5 │       3 │       0 │          1 │         2 │',
      '└───────┴───────┴─────┴─────────┴─────────┴────────────┴───────────┘',
      '1 table without changes',
      '2 tables, 2,000 rows: 5 new, 3 changed, 0 deleted',
      '12 requests, 9 answered "not modified", 2.0 KiB received in 2.3 s',
      '',
    ].join('\n'),
  );
});

test('a pull says what went wrong and what to do', () => {
  const text = pullText(pullReport([tableReport('A', { error: refused }), tableReport('B', { held: guard })]), null);

  expect(text).toContain('\nA: failed: origin.refused happened\n  what to do: do this\n  code: origin.refused\n');
  expect(text).toContain('\nB: held: guard.deletes happened\n');
});

test('a message that begins with the name of its table does not say it twice', () => {
  const held = new RowsyncError('needsPerson', 'guard.deletes', { message: 'Note: many rows', hint: 'look' });

  const text = pullText(pullReport([tableReport('Note', { held }), tableReport('Other', { error: held })]), null);

  expect(text).toContain('\nNote: held: many rows\n');
  expect(text).toContain('\nOther: failed: Note: many rows\n');
});

test('what many tables have in common is said once', () => {
  const names = Array.from({ length: 12 }, (_, index) => `T${index}`);

  const text = problemsText(names.map((name) => ({ what: 'failed', table: name, error: down })));

  expect(text.match(/what to do/g)).toHaveLength(1);
  expect(text).toContain('T0, T1, T2, T3, T4, T5, T6, T7 and 4 more: failed');
});

test('tables that were not finished because of a stop are named once, and not called failed', () => {
  const stopped = (name: string): TablePullReport =>
    tableReport(name, {
      error: new RowsyncError('originDown', 'origin.stopped', {
        message: `select of ${name}: abandoned`,
        hint: 'again',
      }),
    });

  const text = pullText(pullReport([stopped('A'), stopped('B')]), null);

  expect(text).toContain('\nA, B: not finished, because rowsync was asked to stop\n  what to do: again\n');
  expect(text).not.toContain('failed');
});

test('a pull that never got to a table says only why', () => {
  expect(pullText(pullReport([], down), null)).toBe(
    'failed: origin.timeout happened\n  what to do: do this\n  code: origin.timeout\n',
  );
});

test('names and messages from the origin cannot act on the terminal', () => {
  const hostile = new RowsyncError('originRefused', 'origin.refused', { message: 'a\u001B[2Jb', hint: 'h' });

  const text = pullText(
    pullReport([tableReport('\u001B]0;x\u0007', { error: hostile, insertedCount: 1, unreadableCount: 1 })]),
    null,
  );

  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

test('what a table has wrong is one line, also of the kind that lists problems of a configuration', () => {
  const message = 'tables.A.sort names columns that do not exist: x\n  code: forged';
  const config = new RowsyncError('config', 'config.invalid', { message, hint: 'h' });

  const text = pullText(pullReport([tableReport('A', { error: config })]), null);

  expect(text).toContain(String.raw`do not exist: x\n  code: forged`);
});

test('tables that need one word each are not told together', () => {
  const held = (name: string): RowsyncError =>
    new RowsyncError('needsPerson', 'guard.pushRows', {
      message: `${name}: 150 rows would be changed`,
      hint: `rowsync push ${name} --confirm lets them through.`,
    });

  const text = problemsText(['A', 'B'].map((name) => ({ what: 'held', table: name, error: held(name) })));

  expect(text).toContain('rowsync push A --confirm');
  expect(text).toContain('rowsync push B --confirm');
});

test('a push that waits for a pull to bring renamed columns is stopped, and has not failed', () => {
  const shape = failure('originRefused', 'push.shape');

  expect(reportProblemsText(pullReport([tableReport('Note', { error: shape })]))).toContain(
    'Note: stopped: push.shape happened\n',
  );
});

const filesReport = (changes: Partial<FilesReport> = {}): FilesReport => ({
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
  expect(filesText(filesReport({ listedCount: 5, requestCount: 5 }))).toBe('');
});

test('downloads are said with what came, what did not, and why they ended', () => {
  const error = new RowsyncError('replica', 'replica.full', {
    message: 'Writing a file: ENOSPC',
    hint: 'Free some space.',
  });
  const text = filesText(
    filesReport({
      downloadedCount: 1_200,
      downloadedBytes: 2_048,
      knownCount: 3,
      failedCount: 1,
      overBoundCount: 2,
      vanishedCount: 4,
      error,
    }),
  );

  expect(text).toBe(
    'files: 1,200 downloaded (2.0 KiB), 3 known already, 4 gone at the origin and kept here in 1.5 s\n' +
      "\n1 file could not be fetched; later pulls try again\n  what to do: SELECT * FROM sync_files WHERE state = 'failed' says which, and why\n" +
      '\n2 files not downloaded: files.maxBytes is reached\n  what to do: raise it, or leave files out by type or size under tables\n' +
      '\nfiles: Writing a file: ENOSPC\n  what to do: Free some space.\n  code: replica.full\n',
  );
});
