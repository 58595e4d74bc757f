/**
 * Edits of a two-way table are found whoever makes them and however.
 */
import { expect, test } from 'vitest';
import { readAllChanges } from '../../src/capture/find-edits.ts';
import type { Fixture } from '../support/replica.ts';
import { SHELLS } from '../support/shells.ts';
import { capture, captured, changesOf, NOTE, startTwoWay, twoWayTable } from '../support/two-way.ts';

/** Statements and the changes that they amount to; each on a fresh table. */
const EDITS: readonly (readonly [string, readonly string[]])[] = [
  [`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`, ['update 1 Title']],
  [
    `UPDATE "Note" SET "Count" = "Count" + 1, "Body" = 'b' WHERE _id < 3`,
    ['update 1 Body,Count', 'update 2 Body,Count'],
  ],
  [`UPDATE "Note" SET "Title" = "Title"`, []],
  [`UPDATE "Note" SET "Title" = 'x'; UPDATE "Note" SET "Title" = 'title ' || _id`, []],
  [`UPDATE "Note" SET "Count" = '1.0' WHERE _id = 1`, []],
  [`UPDATE "Note" SET "Count" = 1.0 WHERE _id = 1`, []],
  [`UPDATE "Note" SET "Count" = '0.10000000000000000001' WHERE _id = 1`, ['update 1 Count']],
  [`UPDATE OR REPLACE "Note" SET "Title" = 'x' WHERE _id = 1`, ['update 1 Title']],
  [`UPDATE OR IGNORE "Note" SET "Done" = 0 WHERE _id = 1`, ['update 1 Done']],
  [
    `UPDATE "Note" SET "Body" = o."Title" FROM "Note" o WHERE o._id = "Note"._id + 1 AND "Note"._id = 1`,
    ['update 1 Body'],
  ],
  [`DELETE FROM "Note" WHERE _id IN (2, 4)`, ['delete 2', 'delete 4']],
  [`DELETE FROM "Note"`, [1, 2, 3, 4, 5, 6].map((id) => `delete ${id}`)],
  [`INSERT INTO "Note" ("Title") VALUES ('a'), ('b')`, ['insert -3 Title', 'insert -2 Title']],
  [`INSERT INTO "Note" (_id, "Title") VALUES (NULL, 'a')`, ['insert -2 Title']],
  [
    `INSERT INTO "Note" ("Title", "Count") SELECT "Title", 7 FROM "Note" WHERE _id < 3`,
    ['insert -3 Title,Count', 'insert -2 Title,Count'],
  ],
  [`INSERT OR REPLACE INTO "Note" ("Title") VALUES ('a')`, ['insert -2 Title']],
  [`INSERT INTO "Note" ("Title") VALUES ('a'); DELETE FROM "Note" WHERE "Title" = 'a'`, []],
  [
    `INSERT INTO "Note" ("Title") VALUES ('a'); UPDATE "Note" SET "Count" = 3 WHERE _id = -2`,
    ['insert -2 Title,Count'],
  ],
  [`INSERT INTO "Note" ("Id", "Title") VALUES ('99', 'x')`, ['insert -2 Id,Title']],
  // A row that is known is updated, cell by cell, however it is written.
  [
    `INSERT OR REPLACE INTO "Note" (_id, "Title", "Code", "Count", "Done", "Due") VALUES (1, 'x', 'c1', 1, 1, '2026-11-21')`,
    ['update 1 Title'],
  ],
  [`REPLACE INTO "Note" (_id, "Title") VALUES (6, 'title 6')`, ['update 6 Code,Count,Done,Due']],
  [`REPLACE INTO "Note" SELECT * FROM "Note"`, []],
  [
    `INSERT INTO "Note" (_id, "Title") VALUES (1, 'x') ON CONFLICT (_id) DO UPDATE SET "Title" = excluded."Title"`,
    ['update 1 Title'],
  ],
  [`INSERT INTO "Note" (_id, "Title") VALUES (1, 'x') ON CONFLICT DO NOTHING`, []],
  [`INSERT OR IGNORE INTO "Note" (_id, "Title") VALUES (1, 'x')`, []],
  [
    `DELETE FROM "Note" WHERE _id = 6; INSERT INTO "Note" (_id, "Title", "Code", "Count", "Done", "Due") VALUES (6, 'x', 'c6', 6, 0, '2026-11-21')`,
    ['update 6 Title'],
  ],
  // The id of a deleted row is not given to a new one.
  [`DELETE FROM "Note" WHERE _id = 6; INSERT INTO "Note" ("Title") VALUES ('new')`, ['insert -2 Title', 'delete 6']],
  [
    `INSERT OR IGNORE INTO "Note" (_id, "Title") VALUES (6, 'x'); DELETE FROM "Note" WHERE _id = 6; INSERT INTO "Note" ("Title") VALUES ('new')`,
    ['insert -2 Title', 'delete 6'],
  ],
  // An id of ours is not given twice, since its row may be on its way.
  [
    `INSERT INTO "Note" ("Title") VALUES ('a'); DELETE FROM "Note" WHERE _id = -2; INSERT INTO "Note" ("Title") VALUES ('b')`,
    ['insert -3 Title'],
  ],
  [
    `INSERT INTO "Note" ("Title") VALUES ('a'); DELETE FROM "Note" WHERE _id > 0; INSERT INTO "Note" ("Title") VALUES ('b')`,
    ['insert -3 Title', 'insert -2 Title', ...[1, 2, 3, 4, 5, 6].map((id) => `delete ${id}`)],
  ],
  [
    `INSERT INTO "Note" (_id, "Title") VALUES (-9, 'a'); INSERT INTO "Note" ("Title") VALUES ('b')`,
    ['insert -10 Title', 'insert -9 Title'],
  ],
  [
    `BEGIN; UPDATE "Note" SET "Title" = 'x'; DELETE FROM "Note"; INSERT INTO "Note" ("Title") VALUES ('a'); ROLLBACK`,
    [],
  ],
  [
    `BEGIN; SAVEPOINT s; DELETE FROM "Note"; ROLLBACK TO s; UPDATE "Note" SET "Title" = 'x' WHERE _id = 2; COMMIT`,
    ['update 2 Title'],
  ],
  [`UPDATE "Note" SET "Total" = 10`, []],
];

test.each(EDITS)('%s', async (statements, expected) => {
  await using fixture = await startTwoWay();

  fixture.execute(statements);

  expect(await captured(fixture)).toEqual(expected);
});

test.each(EDITS)('with recursive triggers: %s', async (statements, expected) => {
  await using fixture = await startTwoWay();

  fixture.execute(`PRAGMA recursive_triggers = ON; ${statements}`);

  expect(await captured(fixture)).toEqual(expected);
});

test('a new row under the _id 0, which other databases take for none, gets an id like any other', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" (_id, "Title") VALUES (0, 'a')`);

  await capture(fixture);
  fixture.execute(`INSERT INTO "Note" (_id, "Title") VALUES (0, 'b')`);

  expect(await captured(fixture)).toEqual(['insert -3 Title', 'insert -2 Title']);
});

for (const { name, isUsable, run } of SHELLS) {
  test.skipIf(!isUsable)(`finds edits by ${name}`, async () => {
    await using fixture = await startTwoWay();
    const edit =
      `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2; ` +
      `INSERT INTO "Note" ("Title") VALUES ('new'); INSERT OR REPLACE INTO "Note" (_id, "Title", "Code") VALUES (3, 'y', 'c3');`;

    expect(run(fixture.path, edit)).toEqual({ status: 0, stderr: '' });

    expect(await captured(fixture)).toEqual([
      'insert -2 Title',
      'update 1 Title',
      'delete 2',
      'update 3 Title,Count,Done,Due',
    ]);
  });
}

test('finds edits made while the daemon was down and the triggers were gone', async () => {
  await using fixture = await startTwoWay();
  dropTriggers(fixture);
  fixture.execute(
    `UPDATE "Note" SET "Title" = 'x', "Total" = 77 WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
     INSERT INTO "Note" ("Title") VALUES ('new'); UPDATE "Note" SET "Count" = 'no number' WHERE _id = 3`,
  );

  fixture.restart();
  await fixture.pull();

  expect(changesOf(fixture)).toEqual(['insert -2 Title', 'update 1 Title', 'delete 2', 'update 3 Count']);
  // What nobody may write is put back, and kept.
  expect(fixture.rows(`SELECT "Total" FROM "Note" WHERE _id = 1`)).toEqual([{ Total: 10 }]);
  expect(fixture.rows(`SELECT row_id, "column", local, remote, winner FROM sync_conflicts`)).toEqual([
    { row_id: 1, column: 'Total', local: 77, remote: 10, winner: 'origin' },
  ]);
  expect(() => fixture.execute(`UPDATE "Note" SET "Total" = 78`)).toThrow('cannot be changed here');
});

function dropTriggers(fixture: Fixture): void {
  const names = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%capture%'`) as {
    name: string;
  }[];
  fixture.execute(names.map(({ name }) => `DROP TRIGGER "${name}"`).join(';'));
}

test('finds edits in a table that a GUI tool rebuilt', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(
    `PRAGMA legacy_alter_table = ON; BEGIN; CREATE TABLE copy AS SELECT * FROM "Note"; DROP TABLE "Note";
     CREATE TABLE "new" (_id INTEGER PRIMARY KEY, _allow, "Id", "Title", "Code", "Body", "Count", "Done", "Due", "Starts", "Seen", "Spent",
       "Total", "Photo", "Record Owner", "Created By", "Date Created", "Last Modified By", "Date Modified");
     INSERT INTO "new" SELECT * FROM copy; DROP TABLE copy; ALTER TABLE "new" RENAME TO "Note";
     UPDATE "Note" SET "Title" = 'x' WHERE _id = 4; COMMIT`,
  );

  await fixture.pull();

  expect(changesOf(fixture)).toEqual(['update 4 Title']);
});

test('a dropped table comes back with what the origin confirmed, and nothing counts as deleted', async () => {
  await using fixture = await startTwoWay();
  const before = fixture.rows('SELECT * FROM "Note"');
  fixture.execute('DROP TABLE "Note"');

  await fixture.pull();

  expect(await captured(fixture)).toEqual([]);
  expect(fixture.rows('SELECT * FROM "Note"')).toEqual(before);
});

test('a row that REPLACE removed by an index of the user is a delete', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`CREATE UNIQUE INDEX mine ON "Note" ("Code")`);

  fixture.execute(`UPDATE OR REPLACE "Note" SET "Code" = 'c2' WHERE _id = 1`);

  expect(await captured(fixture)).toEqual(['update 1 Code', 'delete 2']);
});

test('a row that REPLACE removed is a delete, although the index of the user is gone', async () => {
  await using fixture = await startTwoWay();
  await capture(fixture);
  fixture.execute(`CREATE UNIQUE INDEX mine ON "Note" ("Count");
    UPDATE OR REPLACE "Note" SET "Count" = 1 WHERE _id = 2;
    DROP INDEX mine`);

  expect(await captured(fixture)).toEqual(['delete 1', 'update 2 Count']);
});

test('names the reason where a value came in around the triggers', async () => {
  await using fixture = await startTwoWay();
  dropTriggers(fixture);
  fixture.execute(`UPDATE "Note" SET "Due" = 'someday' WHERE _id = 1`);
  await fixture.pull();

  const problems = [...readAllChanges(fixture.replica, twoWayTable(fixture))].map((change) => change.problems);

  expect(problems).toEqual([['"Due" of Note takes a date such as 2026-11-21']]);
});

test('changes are read a block at a time', async () => {
  const rows = Array.from({ length: 1_003 }, (_, index) => ({ Title: `title ${index + 1}`, Code: `c${index + 1}` }));
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rows }] });
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' || _id; UPDATE "Note" SET "Title" = 'title 3' WHERE _id = 3`);
  await capture(fixture);

  const changes = [...readAllChanges(fixture.replica, twoWayTable(fixture))];

  expect(changes.map(({ id }) => id)).toEqual(rows.map((_, index) => index + 1).filter((id) => id !== 3));
  expect(changes[0]).toMatchObject({ kind: 'update', state: 'edited', columns: [1], problems: [] });
  expect([changes[0]?.base?.values[1], changes[0]?.local?.values[1]]).toEqual(['title 1', 'x1']);
});
