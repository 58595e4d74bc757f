/** Reading a replica without the right to write beside it. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { openReplica } from '../../src/replica/database.ts';
import { openReader } from '../../src/replica/reader.ts';
import { temporaryFolder } from '../support/replica.ts';

/** What another user than root is told who opens a replica to read. */
function readingAsNobody(path: string): unknown {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return openReader(path).close();
  } catch (thrown) {
    return thrown;
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test('a reader who may not write to the folder is told another way to read', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  chmodSync(path, 0o444);
  chmodSync(folder.path, 0o555);

  const error = readingAsNobody(path);
  chmodSync(folder.path, 0o700);

  expect(error).toBeInstanceOf(RowsyncError);
  expect(error).toMatchObject({ code: 'replica.path', hint: expect.stringContaining('read a backup') as string });
});
