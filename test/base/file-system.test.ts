/** The machine's files, as attached files are read and written. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { systemFiles } from '../../src/base/file-system.ts';
import { temporaryFolder } from '../support/replica.ts';

test('a file is made where nothing stands, and never through a link', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'new');
  symlinkSync(join(folder.path, 'elsewhere'), join(folder.path, 'link'));

  const file = await systemFiles.create(path, 0o600);
  await file.write(Buffer.from('hel'));
  await file.write(Buffer.from('lo'));
  await file.sync();
  await file.close();

  expect(readFileSync(path, 'utf8')).toBe('hello');
  await expect(systemFiles.create(path, 0o600)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(systemFiles.create(join(folder.path, 'link'), 0o600)).rejects.toMatchObject({ code: 'EEXIST' });
});

test('what is read ends where the file ends', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'one'), 'hello');

  const file = await systemFiles.open(join(folder.path, 'one'));
  const pieces = [await file.read(0, 3), await file.read(3, 9), await file.read(5, 1)];
  await file.close();

  expect([file.isFile, file.bytes]).toEqual([true, 5]);
  expect(pieces.map((piece) => Buffer.from(piece).toString())).toEqual(['hel', 'lo', '']);
});

test('a folder tells which of those above it are new, and goes with all that is in it', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'a', 'b');

  expect(await systemFiles.makeFolder(path, 0o700)).toBe(join(folder.path, 'a'));
  expect(await systemFiles.makeFolder(path, 0o700)).toBeUndefined();
  await systemFiles.sync(path);
  expect(systemFiles.lookAt(path).isFile).toBe(false);
  await systemFiles.remove(join(folder.path, 'a'));
  await systemFiles.remove(join(folder.path, 'a'));
  expect(() => systemFiles.lookAt(path)).toThrow('ENOENT');
});

test.each([
  ['/proc/nothing/here', 'ENOENT'], // Node's own way to make folders never ends here
  ['/dev/null/here', 'EEXIST'],
  ['file', 'EEXIST'],
])('a folder that cannot be made is an error: %s', async (name, code) => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'file'), '');
  const path = resolve(folder.path, name);

  await expect(systemFiles.makeFolder(path, 0o700)).rejects.toMatchObject({ code });
});
