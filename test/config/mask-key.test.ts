/**
 * The key of masks: a secret file that is made when it is first needed.
 */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { findMaskKey, maskKey } from '../../src/config/mask-key.ts';
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

test('says so where it cannot be made', () => {
  expect(() => maskKey('/nowhere/at/all/key')).toThrow(/cannot be made \(ENOENT\)/);
});
