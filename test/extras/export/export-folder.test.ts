/** The folder that an export writes to. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { openExportFolder } from '../../../src/extras/export/export-folder.ts';
import { temporaryFolder } from '../../support/replica.ts';

test.each([
  ['/proc/nothing/here', 'ENOENT'],
  ['/dev/null/here', 'EEXIST'],
  ['file', 'EEXIST'],
])('a folder to export to that cannot be made is named: %s', (name, code) => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'file'), '');
  const path = resolve(folder.path, name);

  expect(() => openExportFolder(path)).toThrow(`Exporting to ${path}: ${code}`);
  const hint = `Name another folder, or make ${path} one that this user (${process.geteuid?.()}) may write to.`;
  expect(() => openExportFolder(path)).toThrow(expect.objectContaining({ code: 'files.store', hint }));
});
