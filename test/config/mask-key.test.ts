/**
 * The key of masks: a secret file that is made when it is first needed.
 */
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { findMaskKey, maskKey, keyFileProblem, type KeyFileFacts } from '../../src/config/mask-key.ts';
import { temporaryFolder } from '../support/replica.ts';

test('is made for its owner alone, and stays what it is', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db.mask-key');

  expect(findMaskKey(path)).toBeNull();
  const key = maskKey(path);

  expect(key.length).toBeGreaterThanOrEqual(43);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect([maskKey(path), findMaskKey(path), readFileSync(path, 'utf8').trim()]).toEqual([key, key, key]);
});

test.each([
  { what: 'others may read', write: (path: string) => (writeFileSync(path, 'x'.repeat(40)), chmodSync(path, 0o644)) },
  { what: 'is empty', write: (path: string) => writeFileSync(path, '', { mode: 0o600 }) },
  { what: 'is short', write: (path: string) => writeFileSync(path, 'secret', { mode: 0o600 }) },
])('refuses a file that $what, without a message of what is in it', ({ write }) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'key');
  write(path);

  expect(() => maskKey(path)).toThrow(expect.objectContaining({ code: 'config.secret' }) as Error);
  expect(() => maskKey(path)).not.toThrow(/xxx|secret\b.*secret/);
  expect(findMaskKey(path)).toBeNull();
});

test.each([
  ['/nowhere/at/all/key', 'config.secret', 'cannot be made (ENOENT)'],
  ['/etc/passwd/key', 'config.secret', 'cannot be made (ENOTDIR)'],
  ['link', 'config.maskKey', 'cannot be looked at (ELOOP)'],
])('says so where %s cannot be made or looked at', (name, code, words) => {
  using folder = temporaryFolder();
  symlinkSync('link', join(folder.path, 'link'));
  const path = resolve(folder.path, name);

  expect(() => maskKey(path)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(words) as string }) as Error,
  );
  expect(findMaskKey(path)).toBeNull();
});

const US = 990;

const OTHER = 1001;

const GOOD: KeyFileFacts = { uid: US, mode: 0o100600, linkUid: null, folderMode: 0o40700 };

test.each<[string, Partial<KeyFileFacts>, string | null]>([
  ['a file of ours', {}, null],
  ['a file of ours in a shared folder', { folderMode: 0o42770 }, null],
  ['a file of root, as containers get their secrets', { uid: 0, mode: 0o100444, folderMode: 0o40755 }, null],
  ['a link that root made', { linkUid: 0 }, null],
  ['a file of another user', { uid: OTHER }, 'belongs to the user 1001'],
  ['a link that another user made', { linkUid: OTHER }, 'is a link that the user 1001 made'],
  ['a file that the group may write', { mode: 0o100660 }, 'can be written by others (mode 660)'],
  ['a file that everybody may write', { mode: 0o100602 }, 'can be written by others (mode 602)'],
  [
    'a file of root that everybody reads, in a shared folder',
    { uid: 0, mode: 0o100444, folderMode: 0o42770 },
    'can be read by others, in a folder where others may write',
  ],
])('%s', (_what, facts, problem) => {
  expect(keyFileProblem({ ...GOOD, ...facts }, US)).toBe(problem);
});
