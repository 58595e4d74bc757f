/**
 * A mirror refuses edits, whoever makes them, and mends what other clients broke: triggers, columns, tables, rows. Reading
 * is possible at any time.
 */
import { spawnSync } from 'node:child_process';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { quoted, readOrigin, readReplica, wrongCounts } from '../support/compare.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

/** Names that must be quoted in SQL and in the sentence alike. */
const NAMES = ['Note', `It's a "table"; -- ]`, 'Größe\nzwei'] as const;

function table(name: string): TableSpec {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ];
  const rows = Array.from({ length: 12 }, (_, index) => ({ Title: `title ${index}`, Count: index }));
  return { name, columns, rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

/** Every way to write, with `T` for the table and row 1 in it. */
const EDITS = [
  `INSERT INTO T (_id, "Title") VALUES (99, 'new')`,
  `INSERT INTO T DEFAULT VALUES`,
  `INSERT INTO T (_id, "Title") SELECT _id + 100, "Title" FROM T`,
  `INSERT OR REPLACE INTO T (_id, "Title") VALUES (1, 'x')`,
  `INSERT OR IGNORE INTO T (_id, "Title") VALUES (99, 'x')`,
  `INSERT OR FAIL INTO T (_id, "Title") VALUES (99, 'x')`,
  `INSERT OR ROLLBACK INTO T (_id, "Title") VALUES (99, 'x')`,
  `REPLACE INTO T (_id, "Title") VALUES (1, 'x')`,
  `INSERT INTO T (_id, "Title") VALUES (1, 'x') ON CONFLICT (_id) DO UPDATE SET "Title" = excluded."Title"`,
  `INSERT INTO T (_id, "Title") VALUES (99, 'x') ON CONFLICT DO NOTHING`,
  `UPDATE T SET "Title" = 'x' WHERE _id = 1`,
  `UPDATE T SET "Title" = "Title"`,
  `UPDATE OR REPLACE T SET _id = 2 WHERE _id = 1`,
  `UPDATE OR IGNORE T SET "Count" = 5`,
  `UPDATE T SET "Title" = o."Title" FROM T o WHERE o._id = 2`,
  `WITH one (id) AS (VALUES (1)) UPDATE T SET "Title" = 'x' WHERE _id IN (SELECT id FROM one)`,
  `DELETE FROM T WHERE _id = 1`,
  `DELETE FROM T`,
] as const;

/** Ways to write that meet a row which is there already and would leave it alone anyway. */
const HARMLESS = [
  `INSERT OR IGNORE INTO T (_id, "Title") VALUES (1, 'x')`,
  `INSERT INTO T (_id, "Title") VALUES (1, 'x') ON CONFLICT DO NOTHING`,
  `UPDATE T SET "Title" = 'x' WHERE 0`,
  `DELETE FROM T WHERE 0`,
] as const;

function sentence(name: string): string {
  return `${name} is a read-only mirror: change it at the origin, and the next sync brings it here`;
}

async function startMirror(names: readonly string[]): Promise<Fixture> {
  const fixture = await startFixture({ tables: names.map(table) }, { settings: { pageRows: 5 } });
  await fixture.pull();
  return fixture;
}

test.each(NAMES)('refuses every statement that would change the table %j, and says the way out', async (name) => {
  await using fixture = await startMirror([name]);
  const before = readReplica(fixture.path);
  const here = quoted(
    fixture.rows('SELECT "table" FROM sync_status').map((row) => (row as { table: string }).table)[0] ?? '',
  );
  const refusals = EDITS.map((edit) => refusalOf(fixture, edit.replaceAll(/\bT\b/g, here)));

  expect(refusals).toEqual(EDITS.map(() => sentence(name)));
  for (const edit of HARMLESS) refusalOf(fixture, edit.replaceAll(/\bT\b/g, here));
  expect(readReplica(fixture.path)).toEqual(before);
});

test('refuses them where the client turned recursive triggers on, or foreign keys, or defensive mode', async () => {
  await using fixture = await startMirror(['Note']);
  const before = readReplica(fixture.path);
  const pragmas = [
    'recursive_triggers = ON',
    'foreign_keys = ON',
    'ignore_check_constraints = ON',
    'trusted_schema = OFF',
  ];

  const refusals = pragmas.map((pragma) => refusalOf(fixture, 'REPLACE INTO "Note" (_id) VALUES (1)', pragma));

  expect(refusals).toEqual(pragmas.map(() => sentence('Note')));
  expect(readReplica(fixture.path)).toEqual(before);
});

const PYTHON = 'import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\ndb.execute(sys.argv[2])\ndb.commit()';

/** Runs a statement in a client of another program's; its words and exit code. */
const CLIENTS = [
  { what: 'the sqlite3 shell', run: (path: string, sql: string) => runProgram('sqlite3', path, sql) },
  { what: 'Python', run: (path: string, sql: string) => runProgram('python3', '-c', PYTHON, path, sql) },
] as const;

for (const { what, run } of CLIENTS) {
  // STRICT tables need SQLite 3.37.
  const isUsable = run(':memory:', 'CREATE TABLE t (a ANY) STRICT').status === 0;
  test.skipIf(!isUsable)(`refuses edits from ${what}${isUsable ? '' : ' (skipped: missing or too old)'}`, async () => {
    await using fixture = await startMirror([NAMES[1]]);
    const before = readReplica(fixture.path);
    const edits = [EDITS[0], EDITS[3], EDITS[8], EDITS[10], EDITS[17]];

    const answers = edits.map((edit) => run(fixture.path, edit.replaceAll(/\bT\b/g, quoted(NAMES[1]))));

    expect(answers.map(({ stderr }) => stderr.includes(sentence(NAMES[1])))).toEqual(edits.map(() => true));
    expect(answers.filter(({ status }) => status === 0)).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(before);
  });
}

test('takes back what was edited while a trigger was missing, and puts the trigger back', async () => {
  await using fixture = await startMirror(['Note']);
  const guards = fixture.rows(`SELECT name FROM sqlite_schema WHERE name GLOB '_rowsync_guard_*'`) as {
    name: string;
  }[];
  for (const { name } of guards) fixture.execute(`DROP TRIGGER ${quoted(name)}`);
  fixture.execute(`
    UPDATE "Note" SET "Title" = 'mine' WHERE _id = 2;
    DELETE FROM "Note" WHERE _id IN (4, 5);
    INSERT INTO "Note" (_id, "Title") VALUES (500, 'never heard of'), (-7, 'impossible');`);

  const report = await fixture.pull();

  expect(guards).toHaveLength(3);
  expect(report.tables).toMatchObject([{ error: null, held: null, rowCount: 12, insertedCount: 2, updatedCount: 1 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(wrongCounts(fixture.path)).toEqual([]);
  expect(fixture.rows("SELECT row_id, last_values ->> 'Title' AS title FROM sync_deleted")).toEqual([
    { row_id: -7, title: 'impossible' },
    { row_id: 500, title: 'never heard of' },
  ]);
  expect(refusalOf(fixture, EDITS[10].replaceAll(/\bT\b/g, '"Note"'))).toBe(sentence('Note'));
});

test('takes back what a client did that made the table anew, as graphical tools do', async () => {
  await using fixture = await startMirror(['Note']);
  fixture.execute(`
    CREATE TABLE _new AS SELECT * FROM "Note" WHERE _id <> 3;
    DROP TABLE "Note";
    CREATE TABLE "Note" (_id INTEGER PRIMARY KEY, _allow TEXT, "Id" TEXT, "Title" TEXT, "Count" ANY, "Record Owner" TEXT,
      "Created By" TEXT, "Date Created" TEXT, "Last Modified By" TEXT, "Date Modified" TEXT) STRICT;
    INSERT INTO "Note" SELECT _id, _allow, "Id", 'rebuilt', "Count", "Record Owner", "Created By", "Date Created",
      "Last Modified By", "Date Modified" FROM _new;
    DROP TABLE _new;`);

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ error: null, held: null, rowCount: 12 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(wrongCounts(fixture.path)).toEqual([]);
});

test('does not read a table again whose triggers stand as they should', async () => {
  await using fixture = await startMirror(['Note']);

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ pagesReadCount: 0 }]);
});

test('makes a dropped table again, with all of its rows', async () => {
  await using fixture = await startMirror(['Note', NAMES[1]]);
  fixture.execute(`DROP TABLE ${quoted(NAMES[1])}`);

  const report = await fixture.pull();

  expect(report.tables.map(({ error, held }) => error ?? held)).toEqual([null, null]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(wrongCounts(fixture.path)).toEqual([]);
  expect(fixture.rows('SELECT * FROM sync_deleted')).toEqual([]);
});

test.each(['Title', 'Date Modified', '_allow'])(
  'makes a dropped column %j again, with all of its values',
  async (column) => {
    await using fixture = await startMirror(['Note']);
    const values = fixture.rows(`SELECT ${quoted(column)} FROM "Note" ORDER BY _id`);
    fixture.execute(`ALTER TABLE "Note" DROP COLUMN ${quoted(column)}`);

    const report = await fixture.pull();

    expect(report.tables).toMatchObject([{ error: null, held: null, rowCount: 12 }]);
    expect(fixture.rows(`SELECT ${quoted(column)} FROM "Note" ORDER BY _id`)).toEqual(values);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  },
);

test('fills a column again that was renamed here, and leaves the other name alone', async () => {
  await using fixture = await startMirror(['Note']);
  fixture.execute('ALTER TABLE "Note" RENAME COLUMN "Title" TO "Mine"');

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ error: null, held: null }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(fixture.rows('SELECT "Mine" FROM "Note" WHERE _id = 1')).toEqual([{ Mine: 'title 0' }]);
});

test('says so where a unique index of a client stands in the way of a row, and goes on once it is dropped', async () => {
  await using fixture = await startMirror(['Note']);
  fixture.execute('CREATE UNIQUE INDEX mine ON "Note" ("Title")');
  const { store } = fixture.sandbox;
  store.delete('Note', 3);
  store.insert('Note', { Title: 'title 2' });

  const refused = await fixture.pull();
  fixture.execute('DROP INDEX mine');
  const report = await fixture.pull();

  expect(refused.tables).toMatchObject([{ error: { code: 'replica.failed' } }]);
  expect(refused.tables[0]?.error?.hint).toContain("type = 'index'");
  expect(report.tables).toMatchObject([{ error: null, deletedCount: 1, insertedCount: 1 }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('says which view of a client keeps a column from being renamed, and goes on once it is dropped', async () => {
  await using fixture = await startMirror(['Note']);
  fixture.execute('CREATE VIEW broken AS SELECT x FROM nowhere');
  fixture.sandbox.store.renameColumn('Note', 'Title', 'Heading');

  const refused = await fixture.pull();
  fixture.execute('DROP VIEW broken');
  const report = await fixture.pull();

  expect(refused.tables).toMatchObject([{ error: { code: 'replica.failed' } }]);
  expect(refused.tables[0]?.error?.message).toContain('error in view broken');
  expect(refused.tables[0]?.error?.hint).toContain('Drop or change it, run the command again');
  expect(report.tables).toMatchObject([{ error: null }]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('goes on although somebody left the flag of its transactions behind, and takes it away', async () => {
  await using fixture = await startMirror(['Note']);
  fixture.execute('INSERT INTO _rowsync_writer (flag) VALUES (1)');

  const report = await fixture.pull();

  expect(report).toMatchObject({ error: null, tables: [{ error: null }] });
  expect(refusalOf(fixture, 'DELETE FROM "Note"')).toBe(sentence('Note'));
});

test('answers readers at any moment of a pull, with whole pages', async () => {
  await using fixture = await startFixture({ tables: [table('Note')] }, { settings: { pageRows: 5 } });
  const seen: unknown[] = [];
  // One reader that opens the file each time, and one that keeps a transaction open over the whole pull.
  await fixture.replica.write('Making the file', () => undefined);
  const patient = new Database(fixture.path, { readonly: true });
  patient.exec('BEGIN; SELECT count(*) FROM _rowsync_tables');
  for (let nth = 1; nth <= 4; nth += 1) {
    const look = (): unknown => seen.push(fixture.rows('SELECT count(*) AS n FROM "Note"')[0]);
    fixture.sandbox.before(nth, look, { method: 'select' });
  }

  const report = await fixture.pull();
  const before = patient.prepare('SELECT count(*) FROM _rowsync_tables').pluck().get();
  patient.close();

  expect(report.tables).toMatchObject([{ error: null, rowCount: 12 }]);
  expect(before).toBe(0);
  expect(seen).toHaveLength(4);
  for (const row of seen) expect([0, 5, 9, 12]).toContain((row as { n: number }).n);
});

/** What SQLite answers to another client that writes; null where it does not refuse. */
function refusalOf(fixture: Fixture, edit: string, pragma?: string): string | null {
  const db = new Database(fixture.path);
  try {
    if (pragma !== undefined) db.pragma(pragma);
    db.exec(edit);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } finally {
    db.close();
  }
}

function runProgram(program: string, ...args: readonly string[]): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { status, stderr };
}
