/**
 * Writes a file that must not exist yet, for its owner alone unless it says more.
 */
import { accessSync, constants, existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { RowsyncError, usageError } from '../../base/errors.ts';

/** Checks, before work is done for it, that a file can be made. @throws RowsyncError `usage.invalid`. */
export function checkNewFile(path: string): void {
  if (existsSync(path)) throw usageError(`${path} is there already`, 'Name a file that does not exist.');
  try {
    accessSync(`${dirname(path)}/`, constants.W_OK);
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

/** Writes a new file. @throws RowsyncError `usage.invalid` where it is there already, or cannot be written. */
export function writeNewFile(path: string, text: string, mode = 0o600): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode });
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

function notWritten(path: string, cause: unknown): RowsyncError {
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason is given';
  const hint = 'Name a file that does not exist yet, in a folder that you may write to.';
  return new RowsyncError('usage', 'usage.invalid', { message: `${path} cannot be written: ${reason}`, hint, cause });
}
