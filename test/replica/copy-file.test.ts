/** A copy counts once SQLite has read it whole and every table has its rows; nothing half gets a name. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { checkCopy, countRows, makePrivate, removeFile, takeName, withFile } from '../../src/replica/copy-file.ts';
import { openBare, type Bare } from '../support/bare.ts';
import { temporaryFolder } from '../support/replica.ts';

/** A replica with three rows, and a copy of it. */
async function start(): Promise<Bare & { readonly copy: string; count(): ReadonlyMap<string, number> }> {
  const bare = await openBare();
  await bare.makeTable(2, 'Task', []);
  bare.execute('INSERT INTO "Note" (_id) VALUES (1), (2), (3)');
  const copy = `${bare.path}.copy`;
  bare.execute(`VACUUM INTO '${copy}'`);
  return Object.assign(bare, { copy, count: () => withFile(bare.path, { readonly: true }, countRows) });
}

function change(path: string, statements: string): void {
  withFile(path, {}, (db) => db.exec(statements));
}

test('the rows of every table are counted, also under a name in another case; one that was dropped is left out', async () => {
  await using fixture = await start();
  expect([...fixture.count()]).toEqual([
    ['Note', 3],
    ['Task', 0],
  ]);

  fixture.execute('ALTER TABLE "Note" RENAME TO other; ALTER TABLE other RENAME TO NOTE; DROP TABLE "Task"');

  expect([...fixture.count()]).toEqual([['Note', 3]]);
});

test('a copy that is like what was copied is good, and is one file afterwards', async () => {
  await using fixture = await start();
  change(fixture.copy, 'PRAGMA journal_mode = wal; UPDATE "Note" SET "Title" = 1');

  expect(() => checkCopy(fixture.copy, fixture.count())).not.toThrow();

  expect(existsSync(`${fixture.copy}-wal`)).toBe(false);
  expect(withFile(fixture.copy, {}, (db) => db.pragma('journal_mode', { simple: true }))).toBe('delete');
});

test.each([
  ['a row', 'DELETE FROM "Note" WHERE _id = 1'],
  ['a table', 'DROP TABLE "Note"'],
])('a copy without %s is named as damaged', async (_what, statement) => {
  await using fixture = await start();
  change(fixture.copy, statement);

  expect(() => checkCopy(fixture.copy, fixture.count())).toThrow(
    expect.objectContaining({ code: 'backup.damaged', message: expect.stringContaining('in Note') as unknown }),
  );
});

test('a copy that SQLite finds damaged is refused although its rows can be counted', async () => {
  await using fixture = await start();
  const counted = fixture.count();
  // The index says something else than its table.
  withFile(fixture.copy, {}, (db) =>
    db.unsafeMode().exec(`CREATE INDEX mine ON "Note" ("Title"); PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE INDEX mine ON "Note" (_allow, "Title")' WHERE name = 'mine'`),
  );

  expect(() => checkCopy(fixture.copy, counted)).toThrow(expect.objectContaining({ code: 'backup.damaged' }));
});

test('a file for a copy is empty and belongs to its owner alone, whatever an earlier try left', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'copy');
  for (const ending of ['', '-wal', '-journal']) writeFileSync(path + ending, 'left behind', { mode: 0o644 });

  makePrivate(path);

  expect(readdirSync(folder.path)).toEqual(['copy']);
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['', 0o600]);
});

test('a file takes its name in place of another one, and is removed with all that is beside it', () => {
  using folder = temporaryFolder();
  const [from, to] = [join(folder.path, 'copy.partial'), join(folder.path, 'copy')];
  writeFileSync(from, 'new');
  writeFileSync(to, 'old');

  takeName(from, to);

  expect([readdirSync(folder.path), readFileSync(to, 'utf8')]).toEqual([['copy'], 'new']);
  for (const ending of ['-wal', '-shm', '-journal']) writeFileSync(to + ending, '');
  removeFile(to);
  removeFile(to);
  expect(readdirSync(folder.path)).toEqual([]);
});

test('a file that work was done in is closed, also where the work failed', async () => {
  await using fixture = await start();
  const opened: Database.Database[] = [];
  const work = (): unknown =>
    withFile(fixture.copy, {}, (db) => {
      opened.push(db);
      throw new Error('it failed');
    });

  expect(work).toThrow('it failed');
  expect(opened.map(({ open }) => open)).toEqual([false]);
});
