/**
 * The lock of a replica and the modes of its files: one file under several names has one lock, and its group may use it
 * where that is wanted.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
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

test.each([
  ['from the start', false],
  ['once it is there already', true],
])('its group may use it where that is wanted, %s', (_when, isThere) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  if (isThere) openReplica(path, { clock: systemClock }).close();

  const replica = openReplica(path, { clock: systemClock, shared: true });
  const modes = readdirSync(folder.path).map((name) => statSync(join(folder.path, name)).mode & 0o777);
  replica.close();

  expect(modes.length).toBeGreaterThan(2);
  expect(new Set(modes)).toEqual(new Set([0o660]));
});
