/**
 * Making room for a new replica. What was edited in the old one goes into a file first, then the old one is moved aside with all it holds. Input: the
 * path, and the writer of the script. Output: two files. Invariant (I2): the old file is not moved before the script is on the disk.
 */
import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { RowsyncError } from '../../base/errors.ts';
import { moveAside } from './replica-copy.ts';
import { freeName, PARTIAL, takeName } from '../../replica/copy-file.ts';
import { takeLock } from '../../replica/database.ts';
import { replicaError } from '../../replica/failures.ts';

/** Where things are after the old replica was moved aside. */
export interface Aside {
  readonly asidePath: string;
  /** Null where there was nothing to write. */
  readonly scriptPath: string | null;
}

/**
 * Moves a replica aside once `writeScript` has written its lines. @throws RowsyncError `replica.inUse`, `replica.path` if there is none, and errors
 * of `writeScript`; then nothing is moved.
 */
export function moveAsideWithScript(
  target: string,
  stamp: string,
  writeScript: (path: string, write: (line: string) => void) => void,
): Aside {
  const path = resolve(target);
  if (!existsSync(path)) {
    throw new RowsyncError('replica', 'replica.path', {
      message: `There is no replica at ${path}`,
      hint: 'Make it with `rowsync pull`.',
    });
  }
  const lock = takeLock(path, 0o600);
  const scriptPath = freeName((number) => `${path}.edits-${stamp}${number}.sql`);
  const partial = scriptPath + PARTIAL;
  try {
    rmSync(partial, { force: true });
    const file = openSync(partial, 'wx', 0o600);
    let lineCount = 0;
    try {
      writeScript(path, (line) => {
        lineCount += 1;
        writeSync(file, `${line}\n`);
      });
    } finally {
      closeSync(file);
    }
    if (lineCount === 0) rmSync(partial);
    else takeName(partial, scriptPath);
    const asidePath = moveAside(path, stamp) ?? path;
    return { asidePath, scriptPath: lineCount === 0 ? null : scriptPath };
  } catch (thrown) {
    rmSync(partial, { force: true });
    throw replicaError(thrown, `Making room for a new replica at ${path}`);
  } finally {
    lock.close();
  }
}
