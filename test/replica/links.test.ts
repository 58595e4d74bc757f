/**
 * A replica under several names: symbolic links lead to one file, which has one lock and one count of what was sent.
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { temporaryFolder } from '../support/replica.ts';

test('a replica is in use under each of the names that lead to it, and is the same file', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const other = join(folder.path, 'other');
  const link = join(other, 'link.db');
  mkdirSync(other);
  const replica = openReplica(path, { clock: systemClock });
  symlinkSync(path, link);

  expect(() => openReplica(link, { clock: systemClock })).toThrow(
    `Another rowsync process works on ${link} (process ${process.pid})`,
  );

  replica.close();
  const before = readFileSync(`${path}.sent`, 'utf8');
  openReplica(link, { clock: systemClock }).close();
  expect(readFileSync(`${path}.sent`, 'utf8')).toBe(before);
  expect(readdirSync(other)).toEqual(['link.db']);
});
