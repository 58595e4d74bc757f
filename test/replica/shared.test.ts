/**
 * A replica that other users of the machine may use: the modes of its files.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { temporaryFolder } from '../support/replica.ts';

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
