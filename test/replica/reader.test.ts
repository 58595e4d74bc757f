/**
 * Reading a replica: without the right to write beside it, with names that are not in it, and which tables a query
 * reads.
 */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { openReplica } from '../../src/replica/database.ts';
import { openReader } from '../../src/replica/reader.ts';
import { temporaryFolder } from '../support/replica.ts';

/** What another user than root is told who opens a replica to read. */
function readingAsNobody(path: string): unknown {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return openReader(path).close();
  } catch (thrown) {
    return thrown;
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test('a reader who may not write to the folder is told another way to read', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  chmodSync(path, 0o444);
  chmodSync(folder.path, 0o555);

  const error = readingAsNobody(path);
  chmodSync(folder.path, 0o700);

  expect(error).toBeInstanceOf(RowsyncError);
  expect(error).toMatchObject({ code: 'replica.path', hint: expect.stringContaining('read a backup') as string });
});

test.each([
  ['SELECT nope(1)', 'pragma_function_list'],
  ['-- nothing', 'Write a question'],
  ['SELECT "Retial"', 'texts in single quotes'],
  ['SELECT 1; SELECT 2', 'One statement'],
  ['SELECT Unit Price', 'Put names that have spaces or are words of SQL'],
  ['SELECT * FROM Order', 'such as "Order", in double quotes'],
  ['SELECT * FROM Customer WERE 1 = 1', 'the word right before it'],
  ['SELECT * FROM Order Line', 'Put names that have spaces or are words of SQL'],
  ['SELECT count(1, 2)', 'sync_columns lists tables'],
])('the query %s gets the hint that helps', (query, hint) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  using reader = openReader(path);

  expect(() => reader.query(query)).toThrow(
    expect.objectContaining({ code: 'replica.query', hint: expect.stringContaining(hint) as string }) as Error,
  );
});

test.each([
  ['SELECT * FROM sync_runs', ['_rowsync_runs']],
  ['EXPLAIN QUERY PLAN SELECT * FROM sync_runs', []],
  ['-- why\nexplain SELECT * FROM sync_runs', []],
  ['/* why */ EXPLAIN SELECT * FROM sync_runs', []],
])('the query %s reads the rows of these tables', (query, tables) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  using reader = openReader(path);

  expect(reader.tablesOf(query)).toEqual(tables);
});

test('a query is told which table or column a misspelt name may mean, of the tables that it names', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  const db = new Database(path);
  db.exec('CREATE TABLE "Customer" ("Phone" TEXT, "External Id" TEXT); CREATE TABLE "Order" ("Photo" TEXT)');
  db.exec(`INSERT INTO _rowsync_schema_changes (at, kind, table_name, column_name, former, now) VALUES
    ('2026-11-21T12:00:00Z', 'columnRenamed', 'Customer', 'Phone', 'Cell', 'Phone'),
    ('2026-11-21T12:00:00Z', 'tableRenamed', 'Customer', NULL, 'Buyer', 'Customer')`);
  db.exec(
    `INSERT INTO _rowsync_tables (id, name, local_name, alias, state) VALUES (7, 'Invoice', 'Invoice', 'i', 'loading')`,
  );
  db.close();
  using reader = openReader(path);
  const reasonOf = (query: string): unknown => {
    try {
      return reader.query(query);
    } catch (thrown) {
      return String(thrown).split('no such ')[1];
    }
  };

  expect(reasonOf('SELECT * FROM Custmer')).toBe('table: Custmer (did you mean Customer?)');
  expect(reasonOf('SELECT Phon FROM Customer')).toBe('column: Phon (did you mean Phone?)');
  expect(reasonOf('SELECT c.Phon FROM customer c')).toBe('column: c.Phon (did you mean Phone?)');
  expect(reasonOf('SELECT "Externl Id" FROM Customer')).toContain(' (did you mean External Id?)');
  // The column is there, and the alias is not; another table has a column of that name; no name is like it.
  expect(reasonOf('SELECT d.Phone FROM Customer c')).toBe('column: d.Phone');
  expect(reasonOf('SELECT Photos FROM Customer')).not.toContain('Photo?');
  expect(reasonOf('SELECT photo FROM sync_columns WHERE "table" = \'Orders\'')).toBe('column: photo');
  expect(reasonOf('SELECT Zzzzzzzz FROM Customer')).toBe('column: Zzzzzzzz');
  // The origin renamed it, and the new name is there.
  expect(reasonOf('SELECT cell FROM Customer')).toBe('column: cell (the origin renamed it to Phone)');
  expect(reasonOf('SELECT Cell FROM "Order"')).toBe('column: Cell');
  expect(reasonOf('SELECT * FROM Buyer')).toBe('table: Buyer (the origin renamed it to Customer)');
  // The origin described it, and no pull has read it.
  expect(reasonOf('SELECT * FROM invoice')).toBe('table: invoice (it is not in this file: rowsync status says why)');
});
