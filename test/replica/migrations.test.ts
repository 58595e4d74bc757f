/**
 * Bookkeeping of every version since the first release becomes that of today.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { SCHEMA_VERSION } from '../../src/replica/bookkeeping/schema.ts';
import { openReplica } from '../../src/replica/database.ts';
import { MIGRATIONS } from '../../src/replica/migrations.ts';
import { makeReleased, RELEASED_VERSION } from '../support/released.ts';
import { temporaryFolder } from '../support/replica.ts';

const VERSIONS = Array.from({ length: SCHEMA_VERSION - RELEASED_VERSION }, (_, index) => RELEASED_VERSION + index);

/** Writes the replica of the first release, as a later version had brought it up to itself; its views are gone. */
function makeVersion(path: string, version: number, change = (_db: Database.Database): void => undefined): void {
  makeReleased(path);
  const db = new Database(path);
  db.exec(
    ['status', 'runs', 'columns', 'freshness', 'deleted', 'failures', 'conflicts', 'files']
      .map((view) => `DROP VIEW sync_${view};`)
      .join(''),
  );
  for (let next = RELEASED_VERSION + 1; next <= version; next += 1) MIGRATIONS[next]?.run(db);
  change(db);
  db.pragma(`user_version = ${version}`);
  db.close();
}

test('there is a step to every version since the first release, each with its reason', () => {
  expect(Object.keys(MIGRATIONS).map(Number)).toEqual(VERSIONS.map((version) => version + 1));
  expect(Object.values(MIGRATIONS).filter(({ why }) => why.length < 10)).toEqual([]);
});

test.each(VERSIONS)('a replica of version %i gets the schema of a new one', (version) => {
  using folder = temporaryFolder();
  const [path, fresh] = [join(folder.path, 'replica.db'), join(folder.path, 'fresh.db')];
  makeVersion(path, version);

  for (const each of [path, fresh]) openReplica(each, { clock: systemClock }).close();

  expect(schemaOf(path)).toEqual(schemaOf(fresh));
});

/** Every table of ours with its columns, and every other object as text; without what a table of the user brings along, and a column that nothing reads. */
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
             AND (t.name, c.name) <> ('_rowsync_conflicts', 'wish') ORDER BY 1, 2`,
        )
        .all(),
      others: db
        .prepare(
          `SELECT name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL AND name <> 'sync_changes'
             AND name NOT GLOB '_rowsync_capture_*' AND name NOT GLOB '_rowsync_guard_*' ORDER BY name`,
        )
        .all(),
    };
  } finally {
    db.close();
  }
}

test('entries of version 13 become text that any client reads, and keep their numbers and digits', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const cells =
    '[[1,null,"d\u00e9j\u00e0 \\"vu\\""],[2,1.0,12345678901234567890],[3,-0.0,9e999],[4,{"blob":"00ff"},true]]';
  makeVersion(path, 13, (db) => {
    db.exec('CREATE VIEW broken AS SELECT x FROM nowhere');
    const add = db.prepare(`INSERT INTO _rowsync_history (seq, table_id, row_id, kind, at, cause, cells)
      VALUES (?, 1, 1, 'insert', 0, 'pull', jsonb(?))`);
    for (const [seq, text] of [
      [7, cells],
      [9, null],
      [12, '[]'],
    ] as const)
      add.run(seq, text);
    db.exec('DELETE FROM _rowsync_history WHERE seq = 12');
  });

  openReplica(path, { clock: systemClock }).close();

  const after = new Database(path);
  expect(after.prepare('SELECT seq, cells FROM _rowsync_history').raw().all()).toEqual([
    [7, cells],
    [9, null],
  ]);
  expect(after.prepare('SELECT id, "column", before FROM sync_history_cells').all()).toHaveLength(4);
  // No number is given twice: a reader continues behind the last one that it had.
  expect(
    after
      .prepare(`INSERT INTO _rowsync_history (kind, at, cause) VALUES ('begin', 0, 'pull') RETURNING seq`)
      .pluck()
      .get(),
  ).toBe(13);
  after.close();
});
