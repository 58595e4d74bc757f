/**
 * Bookkeeping of every release becomes that of today.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { SCHEMA_VERSION } from '../../src/replica/bookkeeping/schema.ts';
import { openReplica } from '../../src/replica/database.ts';
import { MIGRATIONS } from '../../src/replica/migrations.ts';
import { makeReleased } from '../support/released.ts';
import { temporaryFolder } from '../support/replica.ts';

test('every release with another version than this one has its changes', () => {
  expect(Object.keys(MIGRATIONS).map(Number)).toEqual([5]);
  expect(SCHEMA_VERSION).toBe(15);
});

test('a replica of the first release gets the schema of a new one, whatever views others have', () => {
  using folder = temporaryFolder();
  const [path, fresh] = [join(folder.path, 'replica.db'), join(folder.path, 'fresh.db')];
  makeReleased(path);
  const db = new Database(path);
  db.exec('CREATE VIEW broken AS SELECT x FROM nowhere');
  db.close();

  for (const each of [path, fresh]) openReplica(each, { clock: systemClock }).close();

  expect(schemaOf(path)).toEqual(schemaOf(fresh));
});

test('descriptions that the first release kept, one for each format, are forgotten', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  const db = new Database(path);
  db.exec(`INSERT INTO _rowsync_descriptors SELECT scope || '.xml', etag, descriptor FROM _rowsync_descriptors`);
  expect(db.prepare('SELECT count(*) > 2 FROM _rowsync_descriptors').pluck().get()).toBe(1);

  openReplica(path, { clock: systemClock }).close();

  expect(db.prepare('SELECT scope FROM _rowsync_descriptors').all()).toEqual([]);
  db.close();
});

test('a row whose answer got lost is on its way, like any other that was sent', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);

  openReplica(path, { clock: systemClock }).close();

  const db = new Database(path, { readonly: true });
  expect(db.prepare('SELECT row_id, state FROM _rowsync_rows').raw().all()).toContainEqual([2, 'sending']);
  expect(db.prepare(`SELECT 1 FROM _rowsync_rows WHERE state = 'unknown'`).get()).toBeUndefined();
  db.close();
});

/**
 * Every table of ours with its columns, and every other object as text; without what a table of the user brings along,
 * and columns that nothing reads.
 */
function schemaOf(path: string): unknown {
  const db = new Database(path, { readonly: true });
  try {
    return {
      version: db.pragma('user_version', { simple: true }),
      integrity: db.pragma('integrity_check', { simple: true }),
      columns: db
        .prepare(
          `SELECT t.name, c.name AS "column", c.type, c."notnull", c.dflt_value, c.pk FROM sqlite_schema t, pragma_table_info(t.name) c
           WHERE t.type = 'table' AND t.name GLOB '_rowsync_*' AND t.name NOT GLOB '_rowsync_base_*'
             AND (t.name, c.name) NOT IN (VALUES ('_rowsync_conflicts', 'wish'), ('_rowsync_identity', 'changed_at')) ORDER BY 1, 2`,
        )
        .all(),
      others: db
        .prepare(
          `SELECT name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL AND name NOT IN ('sync_changes', 'broken')
             AND name NOT GLOB '_rowsync_capture_*' AND name NOT GLOB '_rowsync_guard_*' ORDER BY name`,
        )
        .all(),
    };
  } finally {
    db.close();
  }
}
