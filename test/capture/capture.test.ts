/**
 * Edits of a two-way table are found whoever makes them and however; what cannot be pushed is refused at once, in the words of
 * the table.
 */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { readAllChanges } from '../../src/capture/find-edits.ts';
import { captureTriggers } from '../../src/capture/edit-triggers.ts';
import type { Fixture } from '../support/replica.ts';
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

test.each([-(2n ** 63n), -(2n ** 53n)])('an _id of %s is refused, since no id could follow it', async (id) => {
  await using fixture = await startTwoWay();
  const insert = `INSERT INTO "Note" (_id, "Title") VALUES (${id}, 'new')`;

  expect(() => fixture.execute(insert)).toThrow(
    '_id of Note is given by the origin: leave it out for a new row (of a file: rowsync import)',
  );

  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  expect(await captured(fixture)).toEqual(['insert -2 Title']);
});

test('a new row under the _id 0, which other databases take for none, gets an id like any other', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" (_id, "Title") VALUES (0, 'a')`);

  await capture(fixture);
  fixture.execute(`INSERT INTO "Note" (_id, "Title") VALUES (0, 'b')`);

  expect(await captured(fixture)).toEqual(['insert -3 Title', 'insert -2 Title']);
});

test('the public view shows every pending cell without a capture', async () => {
  await using fixture = await startTwoWay();

  fixture.execute(
    `UPDATE "Note" SET "Title" = 'x', "Count" = 9 WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
     INSERT INTO "Note" ("Title") VALUES ('new'); UPDATE "Note" SET "Title" = "Title" WHERE _id = 3`,
  );

  expect(
    fixture.rows(
      `SELECT "table", row_id, kind, "column", base, local, state FROM sync_changes ORDER BY row_id, "column"`,
    ),
  ).toEqual([
    { table: 'Note', row_id: -2, kind: 'insert', column: null, base: null, local: null, state: 'edited' },
    { table: 'Note', row_id: -2, kind: 'insert', column: 'Title', base: null, local: 'new', state: 'edited' },
    { table: 'Note', row_id: 1, kind: 'update', column: 'Count', base: 1, local: 9, state: 'edited' },
    { table: 'Note', row_id: 1, kind: 'update', column: 'Title', base: 'title 1', local: 'x', state: 'edited' },
    { table: 'Note', row_id: 2, kind: 'delete', column: null, base: null, local: null, state: 'edited' },
  ]);
  await capture(fixture);
  expect(fixture.rows(`SELECT mode, rows, pending, parked, conflicts FROM sync_status`)).toEqual([
    { mode: 'two-way', rows: 6, pending: 3, parked: 0, conflicts: 0 },
  ]);
});

/** Edits that cannot be pushed, and the sentence. */
const REFUSED: readonly (readonly [string, string])[] = [
  [`UPDATE "Note" SET _id = 99 WHERE _id = 1`, '_id of Note cannot be changed: the origin gives it'],
  [`UPDATE OR REPLACE "Note" SET _id = 2 WHERE _id = 1`, '_id of Note cannot be changed: the origin gives it'],
  [`UPDATE "Note" SET _id = -1 WHERE _id = 1`, '_id of Note cannot be changed: the origin gives it'],
  [
    `INSERT INTO "Note" (_id, "Title") VALUES (99, 'x')`,
    '_id of Note is given by the origin: leave it out for a new row (of a file: rowsync import)',
  ],
  [`UPDATE "Note" SET _allow = 'Edit' WHERE _id = 1`, '_allow of Note cannot be changed: the origin gives it'],
  [
    `UPDATE "Note" SET "Total" = 11 WHERE _id = 1`,
    '"Total" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `INSERT INTO "Note" ("Title", "Total") VALUES ('x', 1)`,
    '"Total" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `UPDATE "Note" SET "Id" = '99' WHERE _id = 1`,
    '"Id" of Note cannot be changed here: it is an autonumber, which only a new row may bring along',
  ],
  [
    `UPDATE "Note" SET "Date Modified" = '2026-01-01T00:00:00Z'`,
    '"Date Modified" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `REPLACE INTO "Note" (_id, "Title", "Total") VALUES (1, 'x', 11)`,
    '"Total" of Note cannot be changed here: the origin computes it, or does not let you write it',
  ],
  [
    `UPDATE "Note" SET "Photo" = 'x'`,
    `"Photo" of Note takes file: and the name of a file to attach, such as 'file:/path/to/photo.jpg', or NULL to take the file away`,
  ],
  [`UPDATE "Note" SET "Title" = NULL WHERE _id = 1`, '"Title" of Note must have a value'],
  [`UPDATE "Note" SET "Title" = '' WHERE _id = 1`, '"Title" of Note must have a value'],
  [`INSERT INTO "Note" ("Body") VALUES ('x')`, '"Title" of Note must have a value'],
  [`REPLACE INTO "Note" (_id) VALUES (1)`, '"Title" of Note must have a value'],
  [`INSERT INTO "Note" DEFAULT VALUES`, '"Title" of Note must have a value'],
  [`UPDATE "Note" SET "Title" = 'more than twenty characters'`, '"Title" of Note takes at most 20 characters'],
  [
    `INSERT INTO "Note" ("Title") VALUES ('more than twenty characters')`,
    '"Title" of Note takes at most 20 characters',
  ],
  [`UPDATE "Note" SET "Done" = 2`, '"Done" of Note takes 0 or 1'],
  [`INSERT INTO "Note" ("Title", "Done") VALUES ('x', 2)`, '"Done" of Note takes 0 or 1'],
  ...['abc', '1e5', '1.2.3', '--1', '1-1', '', '-', '.'].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Count" = '${text}'`,
    '"Count" of Note takes a number such as 12.5, without exponent',
  ]),
  [`UPDATE "Note" SET "Count" = x'00'`, '"Count" of Note takes a number such as 12.5, without exponent'],
  [`UPDATE "Note" SET "Count" = 9e999`, '"Count" of Note takes a number such as 12.5, without exponent'],
  [`UPDATE "Note" SET "Spent" = '1:30'`, '"Spent" of Note takes a number of seconds, such as 90'],
  ...['2026-02-30', '21.11.2026', '2026-11-21T00:00:00Z', 'now', '2026-1-1'].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Due" = '${text}'`,
    '"Due" of Note takes a date such as 2026-11-21',
  ]),
  ...['25:00:00', '5pm', '17:05'].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Starts" = '${text}'`,
    '"Starts" of Note takes a time of day such as 17:05:00',
  ]),
  ...[
    '2026-11-21 17:05:00',
    '2026-11-21',
    '2026-11-21T17:05:00',
    '2026-11-21T17:05:00+01:00',
    '2026-02-30T00:00:00Z',
    '2026-11-21T17:05:00.Z',
    '2026-11-21T17:05:00.1x2Z',
  ].map((text): readonly [string, string] => [
    `UPDATE "Note" SET "Seen" = '${text}'`,
    `"Seen" of Note takes an instant in UTC such as 2026-11-21T17:05:00Z; strftime('%Y-%m-%dT%H:%M:%SZ', ...) makes one`,
  ]),
];

test.each(REFUSED)('refuses %s', async (statement, sentence) => {
  await using fixture = await startTwoWay();

  expect(() => fixture.execute(statement)).toThrow(sentence);
  expect(await captured(fixture)).toEqual([]);
});

test('takes every value of the right form', async () => {
  await using fixture = await startTwoWay();

  fixture.execute(
    `UPDATE "Note" SET "Count" = '-12.50', "Done" = 0, "Due" = '2024-02-29', "Starts" = '23:59:59', "Spent" = 90,
       "Seen" = '2026-11-21T17:05:00.123Z', "Title" = 'exactly twenty chars', "Body" = NULL WHERE _id = 1`,
  );

  expect(await captured(fixture)).toEqual(['update 1 Title,Count,Done,Due,Starts,Seen,Spent']);
});

test('a row that came in over the width may keep its value', async () => {
  await using fixture = await startTwoWay({
    tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'much too long' }] }],
  });
  fixture.sandbox.store.changeColumn('Note', 'Title', { width: 5 });
  await fixture.pull();

  fixture.execute(`UPDATE "Note" SET "Title" = "Title"; REPLACE INTO "Note" SELECT * FROM "Note"`);

  expect(() => fixture.execute(`UPDATE "Note" SET "Title" = 'six   '`)).toThrow('takes at most 5 characters');
});

/** Other programs that people edit with. */
const SHELLS: readonly (readonly [string, (path: string, sql: string) => readonly string[]])[] = [
  ['sqlite3', (path, sql) => ['sqlite3', path, sql]],
  [
    'python3',
    (path, sql) => [
      'python3',
      '-c',
      'import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()',
      path,
      sql,
    ],
  ],
];

test.each(SHELLS.map(([name, command]) => ({ name, command })))('finds edits by $name', async ({ name, command }) => {
  await using fixture = await startTwoWay();
  const edit =
    `UPDATE "Note" SET "Title" = 'x' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2; ` +
    `INSERT INTO "Note" ("Title") VALUES ('new'); INSERT OR REPLACE INTO "Note" (_id, "Title", "Code") VALUES (3, 'y', 'c3');`;

  const [program = '', ...arguments_] = command(fixture.path, edit);
  const { status, error } = spawnSync(program, arguments_, { encoding: 'utf8' });

  const isMissing = error !== undefined; // the program is not installed
  expect(isMissing ? name : status).toBe(isMissing ? name : 0);
  expect(isMissing ? [] : await captured(fixture)).toEqual(
    isMissing ? [] : ['insert -2 Title', 'update 1 Title', 'delete 2', 'update 3 Title,Count,Done,Due'],
  );
});

test.each(SHELLS.map(([name, command]) => ({ name, command })))(
  'refuses what no calendar or clock has by $name',
  async ({ command }) => {
    await using fixture = await startTwoWay();

    for (const edit of [`"Due" = '2024-02-30'`, `"Seen" = '2024-02-30T10:00:00Z'`, `"Starts" = '24:00:00'`]) {
      const [program = '', ...arguments_] = command(fixture.path, `UPDATE "Note" SET ${edit}`);
      spawnSync(program, arguments_);
    }

    expect(await captured(fixture)).toEqual([]);
  },
);

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

test('the rules of a table add no statement to its triggers, which every connection keeps in memory', async () => {
  const stepCount = async (columnCount: number): Promise<number> => {
    const columns = Array.from({ length: columnCount }, (_, index) => ({ name: `C${index}`, type: 'Numeric' }));
    await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns }] });
    const texts = captureTriggers(twoWayTable(fixture)).map(({ text }) => text);
    return texts.join('').match(/;$/gmu)?.length ?? 0;
  };

  expect(await stepCount(40)).toBe(await stepCount(1));
});

test('each rule for values is in one trigger, since every connection keeps all of them in memory', async () => {
  await using fixture = await startTwoWay({
    tables: [{ name: 'Note', columns: [{ name: 'Price', type: 'Numeric' }] }],
  });
  const texts = captureTriggers(twoWayTable(fixture)).map(({ text }) => text);

  expect(texts.join('').split('"Price" of Note takes a number').length - 1).toBe(1);
});
