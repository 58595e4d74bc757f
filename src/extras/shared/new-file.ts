/**
 * Writes a file that people read before they send it, for its owner alone.
 */
import { writeFileSync } from 'node:fs';
import { RowsyncError } from '../../base/errors.ts';

/** Writes a new file. @throws RowsyncError `usage.invalid` where it is there already, or cannot be written. */
export function writeNewFile(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    const message = `${path} cannot be written: ${cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason is given'}`;
    throw new RowsyncError('usage', 'usage.invalid', { message, hint: 'Name a file that does not exist yet.', cause });
  }
}
