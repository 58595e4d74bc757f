/**
 * Replicas whose bookkeeping is of version 8 or a little later.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { SCHEMA_VERSION } from '../../src/replica/bookkeeping.ts';
import { openReplica } from '../../src/replica/database.ts';
import { temporaryFolder } from '../support/replica.ts';

test.each([8, 9, 10, 11, 12])('a replica of version %i is brought up to this one', (version) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  const before = new Database(path);
  // Views read from what later versions added.
  for (const view of ['sync_status', 'sync_columns']) before.exec(`DROP VIEW ${view}; CREATE VIEW ${view} AS SELECT 1`);
  before.exec('ALTER TABLE _rowsync_tables DROP COLUMN left_out; ALTER TABLE _rowsync_columns DROP COLUMN mask');
  if (version < 12) before.exec('ALTER TABLE _rowsync_tables DROP COLUMN rows_filter');
  if (version < 11) {
    before.exec(`DROP VIEW sync_runs; ALTER TABLE _rowsync_runs DROP COLUMN per_table; DROP TABLE _rowsync_quarters;
      CREATE VIEW sync_runs AS SELECT id, kind FROM _rowsync_runs`);
  }
  if (version < 10) before.exec('ALTER TABLE _rowsync_tables DROP COLUMN compared_at');
  if (version < 9) before.exec('ALTER TABLE _rowsync_tables DROP COLUMN ignored_measures');
  before.pragma(`user_version = ${version}`);
  before.close();

  openReplica(path, { clock: systemClock }).close();

  const after = new Database(path, { readonly: true });
  expect(after.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION);
  expect(after.prepare('SELECT ignored_measures, compared_at FROM _rowsync_tables').all()).toEqual([]);
  expect(after.prepare('SELECT rows_filter FROM sync_status').all()).toEqual([]);
  expect(after.prepare('SELECT per_table FROM sync_runs').all()).toEqual([]);
  expect(after.prepare('SELECT fare FROM _rowsync_quarters').all()).toEqual([]);
  after.close();
});
