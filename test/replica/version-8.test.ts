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

test.each([8, 9, 10, 11, 12, 13])('a replica of version %i is brought up to this one', (version) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  const before = new Database(path);
  before.exec('DROP TABLE _rowsync_schema_changes; DROP TABLE _rowsync_described');
  // Views read from what later versions added.
  for (const view of ['sync_status', 'sync_columns']) before.exec(`DROP VIEW ${view}; CREATE VIEW ${view} AS SELECT 1`);
  before.exec(
    'ALTER TABLE _rowsync_history_tables DROP COLUMN pruning_held; ALTER TABLE _rowsync_tables DROP COLUMN page_rows; ALTER TABLE _rowsync_tables DROP COLUMN row_colors',
  );
  before.exec('ALTER TABLE _rowsync_conflicts DROP COLUMN seen');
  if (version < 13)
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

test('entries of version 13 become text that any client reads, and keep their numbers and digits', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  const before = new Database(path);
  before.exec(`DROP VIEW sync_status; CREATE VIEW sync_status AS SELECT 1; ALTER TABLE _rowsync_tables DROP COLUMN page_rows; ALTER TABLE _rowsync_tables DROP COLUMN row_colors;
    ALTER TABLE _rowsync_conflicts DROP COLUMN seen; DROP TABLE _rowsync_schema_changes; DROP TABLE _rowsync_described; ALTER TABLE _rowsync_history_tables DROP COLUMN pruning_held; DROP TABLE _rowsync_history;
    CREATE TABLE _rowsync_history (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER, row_id INTEGER, kind TEXT NOT NULL, at INTEGER NOT NULL,
      not_before INTEGER, not_after INTEGER, origin_at INTEGER, origin_by TEXT, cause TEXT NOT NULL, run_id INTEGER,
      was_id INTEGER, cells BLOB) STRICT;
    CREATE INDEX _rowsync_history_by_row ON _rowsync_history (row_id, table_id);
    CREATE VIEW broken AS SELECT x FROM nowhere`);
  const cells =
    '[[1,null,"d\u00e9j\u00e0 \\"vu\\""],[2,1.0,12345678901234567890],[3,-0.0,9e999],[4,{"blob":"00ff"},true]]';
  const add = before.prepare(`INSERT INTO _rowsync_history (seq, table_id, row_id, kind, at, cause, cells)
    VALUES (?, 1, 1, 'insert', 0, 'pull', jsonb(?))`);
  for (const [seq, text] of [
    [7, cells],
    [9, null],
    [12, '[]'],
  ] as const)
    add.run(seq, text);
  before.exec('DELETE FROM _rowsync_history WHERE seq = 12');
  before.pragma('user_version = 13');
  before.close();

  openReplica(path, { clock: systemClock }).close();

  const after = new Database(path);
  expect(after.prepare('SELECT seq, cells FROM _rowsync_history').raw().all()).toEqual([
    [7, cells],
    [9, null],
  ]);
  expect(after.prepare('SELECT id, "column", before FROM sync_history_cells').all()).toHaveLength(4);
  expect(after.pragma('integrity_check', { simple: true })).toBe('ok');
  // No number is given twice: a reader continues behind the last one that it had.
  expect(
    after
      .prepare(`INSERT INTO _rowsync_history (kind, at, cause) VALUES ('begin', 0, 'pull') RETURNING seq`)
      .pluck()
      .get(),
  ).toBe(13);
  after.close();
});
