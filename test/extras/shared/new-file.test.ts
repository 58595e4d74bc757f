/**
 * Files that must not exist yet: nothing is replaced, and others do not read them.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asRowsyncError } from '../../../src/base/errors.ts';
import { checkNewFile, writeNewFile } from '../../../src/extras/shared/new-file.ts';
import { temporaryFolder } from '../../support/replica.ts';

/** The code and the message of what an act throws; null where it does not. */
function refusalOf(act: () => void): readonly [string, string] | null {
  try {
    act();
    return null;
  } catch (thrown) {
    const { code, message } = asRowsyncError(thrown);
    return [code, message];
  }
}

test('a new file is for its owner alone, unless more is said', () => {
  using folder = temporaryFolder();
  const [own, shared] = [join(folder.path, 'own'), join(folder.path, 'shared')];

  checkNewFile(own);
  writeNewFile(own, 'secret');
  writeNewFile(shared, 'text', 0o644);

  expect(readFileSync(own, 'utf8')).toBe('secret');
  expect([own, shared].map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual(['600', '644']);
});

test('a file that is there stays as it is, and so does what a link leads to', () => {
  using folder = temporaryFolder();
  const [there, target, link] = ['there', 'target', 'link'].map((name) => join(folder.path, name));
  if (there === undefined || target === undefined || link === undefined) throw new Error('three paths');
  writeFileSync(there, 'before');
  symlinkSync(target, link);

  expect(refusalOf(() => checkNewFile(there))).toEqual(['usage.invalid', `${there} is there already`]);
  expect(refusalOf(() => writeNewFile(there, 'after'))).toEqual([
    'usage.invalid',
    `${there} cannot be written: EEXIST`,
  ]);
  expect(refusalOf(() => writeNewFile(link, 'after'))?.[1]).toContain('EEXIST');
  expect(readFileSync(there, 'utf8')).toBe('before');
  expect(existsSync(target)).toBe(false);
});

test('a folder that is missing, or is a file, is said before work is done for it', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'file');
  writeFileSync(file, '');

  expect(refusalOf(() => checkNewFile(join(folder.path, 'no', 'x')))?.[1]).toContain('ENOENT');
  expect(refusalOf(() => checkNewFile(join(file, 'x')))?.[1]).toContain('ENOTDIR');
  expect(refusalOf(() => writeNewFile(join(folder.path, 'no', 'x'), ''))?.[1]).toContain('ENOENT');
});

test.skipIf(process.getuid?.() === 0)('a folder in which nothing may be written is said, too', () => {
  using folder = temporaryFolder();
  const closed = join(folder.path, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o500);

  expect(refusalOf(() => checkNewFile(join(closed, 'x')))?.[1]).toContain('EACCES');
});
