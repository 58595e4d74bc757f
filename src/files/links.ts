/**
 * Gives content a second name: a hard link where both places are on one disk, else a copy. Content is never changed,
 * so a link is as good as a copy and costs nothing.
 */
import { constants } from 'node:fs';
import { copyFile, link } from 'node:fs/promises';
import { codeOf } from '../base/errors.ts';

/** What a system answers where two places cannot share a file. */
const UNLINKABLE: ReadonlySet<string> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EACCES',
]);

/** Links a file to a free path; false if the two places cannot share it. */
export async function tryLink(source: string, path: string): Promise<boolean> {
  try {
    await link(source, path);
    return true;
  } catch (thrown) {
    if (UNLINKABLE.has(codeOf(thrown))) return false;
    throw thrown;
  }
}

export async function copyTo(source: string, path: string): Promise<void> {
  await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
}
