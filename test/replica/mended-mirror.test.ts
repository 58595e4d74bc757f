/**
 * A mirror that another client broke is mended by the next pull: triggers, columns, tables, rows. Reading is possible
 * at any time.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { quoted, readOrigin, readReplica, wrongCounts } from '../support/compare.ts';
import { startFixture, type Fixture } from '../support/replica.ts';

/** A name that must be quoted in SQL. */
const QUOTED = `It's a "table"; -- ]`;
const REFUSAL = 'Note is a read-only mirror';

function table(name: string): TableSpec {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ];
  const rows = Array.from({ length: 12 }, (_, index) => ({ Title: `title ${index}`, Count: index }));
  return { name, columns, rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

async function startMirror(names: readonly string[]): Promise<Fixture> {
  const fixture = await startFixture({ tables: names.map(table) }, { settings: { pageRows: 5 } });
  await fixture.pull();
  return fixture;
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
  expect(() => fixture.execute(`UPDATE "Note" SET "Title" = 'x'`)).toThrow(REFUSAL);
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
  await using fixture = await startMirror(['Note', QUOTED]);
  fixture.execute(`DROP TABLE ${quoted(QUOTED)}`);

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
  expect(() => fixture.execute('DELETE FROM "Note"')).toThrow(REFUSAL);
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
