/**
 * What people do with a replica in a graphical client without thinking of rowsync. An edit made before it and one made
 * after it both arrive, once, and the two sides are equal.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { atOrigin, codesOf, countsOf, here, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';

/** In a client of its own, as a program that is started and quit. */
function inClient(fixture: Fixture, work: (db: Database.Database) => void): void {
  const db = new Database(fixture.path);
  try {
    work(db);
  } finally {
    db.close();
  }
}

/**
 * As DB Browser for SQLite changes a table: a new one, the rows, the old one dropped, the name. Triggers and indexes
 * go.
 */
function rebuild(db: Database.Database): void {
  const text = String(db.prepare(`SELECT sql FROM sqlite_schema WHERE name = 'Note'`).pluck().get());
  db.exec(`PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; SAVEPOINT "change";
    ${text.replace('"Note"', '"sqlb_temp_table_1"')}; INSERT INTO "sqlb_temp_table_1" SELECT * FROM "Note";
    DROP TABLE "Note"; ALTER TABLE "sqlb_temp_table_1" RENAME TO "Note"; RELEASE "change"`);
}

test.each<readonly [string, (db: Database.Database, fixture: Fixture) => void]>([
  ['changing a table, which makes it anew', rebuild],
  ['another journal mode', (db) => void db.exec('PRAGMA journal_mode = DELETE')],
  ['VACUUM', (db) => void db.exec('VACUUM')],
  [
    'VACUUM with another size of pages',
    (db) => void db.exec('PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM'),
  ],
  [
    'a trigger of their own that writes into the same row, as messages say to make it',
    (db) =>
      void db.exec(`CREATE TRIGGER "stamp" AFTER UPDATE OF "Title" ON "Note"
        WHEN NOT EXISTS (SELECT 1 FROM _rowsync_writer)
        BEGIN UPDATE "Note" SET "Body" = 'by ' || new."Title" WHERE _id = new._id; END`),
  ],
  [
    'an attached database, with an index and a view of their own',
    (db, fixture) =>
      void db.exec(`ATTACH '${join(fixture.folder, 'own.db')}' AS "own"; CREATE TABLE own."kept" AS SELECT * FROM main."Note";
        CREATE INDEX "mine" ON "Note" ("Count"); CREATE VIEW "counts" AS SELECT count(*) FROM "Note"; ANALYZE`),
  ],
])('%s', async (_what, habit) => {
  await using fixture = await startTwoWay();
  fixture.replica.close(); // no daemon is at work: a rebuild and a journal mode need the file alone
  inClient(fixture, (db) => {
    db.exec(`UPDATE "Note" SET "Title" = 'before' WHERE _id = 1`);
    habit(db, fixture);
    db.exec(`UPDATE "Note" SET "Title" = 'after' WHERE _id = 2`);
  });
  inClient(fixture, (db) => void db.exec(`DELETE FROM "Note" WHERE _id = 3`));
  fixture.restart();
  fixture.sandbox.store.update('Note', 4, { Title: 'theirs' });

  await fixture.pull();
  const report = await pushNow(fixture, { confirm: true });
  const again = await pushNow(fixture, { confirm: true });
  await fixture.pull();

  expect([codesOf(report), codesOf(again)]).toEqual([[], []]);
  expect(countsOf(again)).toEqual({});
  const columns = ['Title', 'Code', 'Count', 'Body'];
  expect(here(fixture, columns)).toEqual(atOrigin(fixture, columns));
  expect(here(fixture, ['Title'])).toEqual([
    [1, 'before'],
    [2, 'after'],
    [4, 'theirs'],
    [5, 'title 5'],
    [6, 'title 6'],
  ]);
});
