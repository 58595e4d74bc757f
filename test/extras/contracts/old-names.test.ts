/**
 * Old names of tables and columns stay readable for a while, give way to what is called so, and leave nothing behind.
 */
import { expect, test } from 'vitest';
import {
  dropOldNames,
  followTables,
  freeOldNames,
  keepOldNames,
  readNames,
  readOldNames,
  type OldName,
} from '../../../src/extras/contracts/old-names.ts';
import { ident, literal } from '../../../src/base/sql.ts';
import type { Tx } from '../../../src/replica/connection.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

const UNTIL = '2026-12-01';

/** What the names are called now, as a pull would rename them: in the file and in the bookkeeping. */
function rename(
  fixture: Fixture,
  renames: readonly (readonly [table: string, column: string | null, now: string])[],
): void {
  for (const [table, column, now] of renames) {
    const to = literal(now);
    fixture.execute(
      column === null
        ? `ALTER TABLE ${ident(table)} RENAME TO ${ident(now)};
           UPDATE _rowsync_tables SET local_name = ${to}, name = ${to} WHERE local_name = ${literal(table)}`
        : `ALTER TABLE ${ident(table)} RENAME COLUMN ${ident(column)} TO ${ident(now)};
           UPDATE _rowsync_columns SET local_name = ${to}, name = ${to} WHERE local_name = ${literal(column)}`,
    );
  }
}

/** A table `My "Note"` in a replica, which no trigger guards, so that a test can rename it. */
async function startNamed(): Promise<Fixture> {
  const fixture = await startFixture({ tables: [{ ...NOTE, name: 'My "Note"' }] });
  await fixture.pull();
  const triggers = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`) as { name: string }[];
  fixture.execute(triggers.map(({ name }) => `DROP TRIGGER ${ident(name)}`).join(';'));
  return fixture;
}

function write<T>(fixture: Fixture, work: (tx: Tx) => T): Promise<T> {
  return fixture.replica.write('Old names', work);
}

/** Renames, and keeps the names before. */
async function renameAndKeep(fixture: Fixture, renames: Parameters<typeof rename>[1]): Promise<readonly OldName[]> {
  const before = readNames(fixture.replica);
  rename(fixture, renames);
  await write(fixture, (tx) => keepOldNames(tx, before, readNames(tx), UNTIL));
  return readOldNames(fixture.replica);
}

const RENAMES = [
  ['My "Note"', 'Title', 'The "Title"'],
  ['My "Note"', null, 'Memo'],
] as const;

test('a table and a column can be read under their old names, whose end is in their own SQL', async () => {
  await using fixture = await startNamed();

  const kept = await renameAndKeep(fixture, RENAMES);

  expect(kept).toEqual(
    expect.arrayContaining([
      { table: null, name: 'My "Note"', now: 'Memo', until: UNTIL },
      { table: 'Memo', name: 'Title', now: 'The "Title"', until: UNTIL },
    ]),
  );
  expect(kept).toHaveLength(2);
  expect(fixture.rows(`SELECT "Title" AS t FROM "My ""Note""" WHERE _id = 1`)).toEqual([{ t: 'title 1' }]);
  expect(fixture.rows('SELECT count(*) AS n FROM "Memo"')).toEqual([{ n: 6 }]);
});

test('a name that something else has is not kept, and one that did not change at the origin is none', async () => {
  await using fixture = await startNamed();
  fixture.execute('CREATE VIEW "TITLE" AS SELECT 1');

  const kept = await renameAndKeep(fixture, [
    ['My "Note"', 'Title', 'Between'],
    ['My "Note"', 'Body', 'Title'],
    ['My "Note"', 'Code', 'Key'],
  ]);
  fixture.execute(`ALTER TABLE "My ""Note""" RENAME COLUMN "Count" TO "Number"`);
  const before = readNames(fixture.replica);
  fixture.execute(`UPDATE _rowsync_columns SET local_name = 'Number' WHERE local_name = 'Count'`);
  await write(fixture, (tx) => keepOldNames(tx, before, readNames(tx), UNTIL));

  expect(kept.map(({ name, now }) => `${name} of ${now}`).toSorted()).toEqual(['Body of Title', 'Code of Key']);
  expect(readOldNames(fixture.replica)).toHaveLength(2);
});

test('what is dropped leaves with the indexes on it, and nothing else does', async () => {
  await using fixture = await startNamed();
  await renameAndKeep(fixture, RENAMES);
  fixture.execute(`CREATE INDEX old ON "Memo" ("Title"); CREATE INDEX part ON "Memo" ("Code") WHERE "title" > 'a';
    CREATE INDEX new ON "Memo" ("The ""Title"""); CREATE VIEW dear AS SELECT "Title" FROM "Memo"`);

  await write(fixture, (tx) => dropOldNames(tx, readOldNames(tx)));

  expect(readOldNames(fixture.replica)).toEqual([]);
  const left = fixture.rows(
    `SELECT name FROM sqlite_schema WHERE type IN ('index', 'view') AND sql IS NOT NULL AND name NOT GLOB '*sync_*' ORDER BY 1`,
  );
  expect(left).toEqual([{ name: 'dear' }, { name: 'new' }]);
  expect(fixture.rows('SELECT "The ""Title""" AS t FROM "Memo" WHERE _id = 1')).toEqual([{ t: 'title 1' }]);
});

test.each([
  ['a name of a table', null, ['MY "note"'], ['Title']],
  ['what a table is called now', null, ['memo'], ['Title']],
  ['a name of a column', 'memo', ['TITLE'], ['My "Note"']],
  ['what a column is called now', 'Memo', ['The "Title"'], ['My "Note"']],
  ['a column of another table', 'Other', ['Title'], ['My "Note"', 'Title']],
  ['another name', null, ['Title'], ['My "Note"', 'Title']],
  ['nothing', null, [], ['My "Note"', 'Title']],
] as const)('to free %s drops just that', async (_what, table, names, left) => {
  await using fixture = await startNamed();
  await renameAndKeep(fixture, RENAMES);

  await write(fixture, (tx) => freeOldNames(tx, table, names));

  expect(
    readOldNames(fixture.replica)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(left);
});

test('an old name of a table leads to its table, whatever that is called by now', async () => {
  await using fixture = await startNamed();
  const kept = await renameAndKeep(fixture, [['My "Note"', null, 'Memo']]);
  const before = readNames(fixture.replica);
  // SQLite leaves a view that says the former name as it was.
  rename(fixture, [['Memo', null, 'Aside']]);
  fixture.execute(`DROP VIEW "My ""Note"""; CREATE TABLE "Memo" (other TEXT);
    CREATE VIEW "My ""Note""" AS SELECT * FROM "Memo" /* rowsync: old name until ${UNTIL} */`);

  await write(fixture, (tx) => followTables(tx, kept, before, readNames(tx)));

  expect(readOldNames(fixture.replica)).toEqual([{ table: null, name: 'My "Note"', now: 'Aside', until: UNTIL }]);
  expect(fixture.rows(`SELECT count(*) AS n FROM "My ""Note"""`)).toEqual([{ n: 6 }]);
});

test('a view or column of another program is no old name, whatever its comments say', async () => {
  await using fixture = await startNamed();
  fixture.execute(`CREATE VIEW theirs AS SELECT 1 AS x /* rowsync: old name until 2026-12-01 */;
    CREATE TABLE mine (x, y AS (x) /* rowsync: old name until 2026-12-01 */)`);

  expect(readOldNames(fixture.replica)).toEqual([]);
});
