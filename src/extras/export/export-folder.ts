/**
 * Makes the folder that an export was given, and makes sure that it can be written to.
 */
import { accessSync, closeSync, constants, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf, RowsyncError } from '../../base/errors.ts';
import { makeFolders } from '../../base/file-system.ts';

/** Makes the folder of an export, to outlive a power cut. @throws RowsyncError `files.store` if it is read-only. */
export function openExportFolder(folder: string, mode?: number): void {
  try {
    const first = makeFolders(folder, mode);
    if (first !== undefined) syncNames(first, folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new RowsyncError('replica', 'files.store', {
      message: `Exporting to ${folder}: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: `Name another folder, or make ${folder} one that this user (${process.geteuid?.() ?? 'you'}) may write to.`,
      cause,
    });
  }
}

/** Makes new folders durable, from the last up to the first. A folder that this user may not read cannot be synced. */
function syncNames(first: string, last: string): void {
  try {
    const above = openSync(dirname(last), 'r');
    fsyncSync(above);
    closeSync(above);
  } catch (thrown) {
    if (codeOf(thrown) !== 'EACCES') throw thrown;
  }
  if (last !== first) syncNames(first, dirname(last));
}
