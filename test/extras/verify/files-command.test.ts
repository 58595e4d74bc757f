/**
 * What `rowsync files verify` says: how many files were checked, which are not what they should be, and what could not
 * be asked for.
 */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../../src/base/errors.ts';
import { filesVerifyText } from '../../../src/extras/verify/files-command.ts';
import type { FilesVerifyReport } from '../../../src/extras/verify/files.ts';

const INTACT: FilesVerifyReport = {
  contentCount: 3,
  contentBytes: 30,
  damagedCount: 0,
  missingCount: 0,
  lost: [],
  lostCount: 0,
  askedCount: 5,
  unaskedCount: 0,
  vanishedCount: 0,
  different: [],
  differentCount: 0,
  refusedCount: 0,
  mending: null,
  requestCount: 6,
  durationMs: 100,
  error: null,
};
const END = '3 contents (30 B) read, 5 files asked for at the origin, with 6 requests in 0.1 s\n';

test('where all is intact, only that', () => {
  expect(filesVerifyText(INTACT)).toBe(`All files are intact\n${END}`);
});

test('files that were mended or are gone at the origin are no failure', () => {
  expect(filesVerifyText({ ...INTACT, damagedCount: 2, missingCount: 1, vanishedCount: 1, refusedCount: 1 })).toBe(
    'All files are intact\n' +
      '  2 files lost or damaged here\n  1 file not here before\n  3 files mended\n  1 file newly gone at the origin\n' +
      `  1 file that the origin does not show, so only the content here was checked\n${END}`,
  );
});

test('files that could not be mended are named by their places', () => {
  const text = filesVerifyText({ ...INTACT, damagedCount: 2, lost: ['A.B of row 1, revision 2'], lostCount: 1 });

  expect(text).toBe(
    'Some files are not intact, or could not be checked\n' +
      '  2 files lost or damaged here\n  1 file mended\n' +
      `Not here:\n  A.B of row 1, revision 2\n${END}` +
      '\nfailed: 1 file is not what the origin has, and could not be fetched again\n  what to do: sync_files says why; what the origin no longer has can come from a backup only.\n  code: files.damaged\n',
  );
});

test('of many places twenty are named, safe on a terminal, and sizes that differ are a list of their own', () => {
  const places = Array.from({ length: 100 }, (_, index) => `A\u001b.B of row ${index + 1}`);

  const text = filesVerifyText({ ...INTACT, different: places, differentCount: 150 });

  expect(text).toContain('Different size at the origin:\n  A\\u001b.B of row 1\n');
  expect(text).toContain('  A\\u001b.B of row 20\n  and 130 more files\n3 contents');
  expect(text).toContain('failed: 150 files are not what the origin has');
});

test('what the origin could not be asked for is an error beside the rest', () => {
  const error = new RowsyncError('originDown', 'origin.unreachable', { message: 'no answer', hint: 'Wait.' });

  const text = filesVerifyText({ ...INTACT, unaskedCount: 4, error });

  expect(text).toContain(
    'Some files are not intact, or could not be checked\n  4 files that the origin could not be asked for\n',
  );
  expect(text).toContain('\nfailed: no answer\n  what to do: Wait.\n  code: origin.unreachable\n');
  expect(text).not.toContain('files.damaged');
});
