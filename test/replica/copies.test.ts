/**
 * Older copies of a replica that were put back, by hand or by a restore: what they want to create may have been created since.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backUp, restore } from '../../src/replica/backup.ts';
import type { Fixture } from '../support/replica.ts';
import { atOrigin, changesSent, countsOf, pushNow } from '../support/push.ts';
import { startTwoWay } from '../support/two-way.ts';

/** Puts a copy where the replica is, as a person does it. */
function putBack(fixture: Fixture, copy: string): void {
  fixture.replica.close();
  for (const ending of ['-wal', '-shm']) rmSync(fixture.path + ending, { force: true });
  copyFileSync(copy, fixture.path);
  fixture.restart();
}

/** Rows at the origin that the test added. */
function added(fixture: Fixture): readonly unknown[] {
  return atOrigin(fixture, ['Title']).slice(6);
}

const STATES = 'SELECT row_id AS id, kind FROM sync_failures ORDER BY row_id';

test.each(['copied by hand', 'restored'])(
  'does not create again what an older copy, %s, wants to create',
  async (how) => {
    await using fixture = await startTwoWay();
    const copy = join(fixture.folder, 'copy.db');
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
    await backUp(fixture.path, copy);
    await pushNow(fixture);
    if (how === 'restored') {
      fixture.replica.close();
      await restore(copy, { path: fixture.path, stamp: '20260601T120000Z' });
      fixture.restart();
    } else putBack(fixture, copy);
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);

    await fixture.pull();
    await pushNow(fixture);
    await pushNow(fixture);

    expect(added(fixture)).toEqual([
      [7, 'once'],
      [8, 'new'],
    ]);
    expect(fixture.rows(STATES)).toEqual([{ id: -2, kind: 'inDoubt' }]);
    expect(fixture.rows('SELECT refused FROM sync_status')).toEqual([{ refused: 1 }]);
  },
);

test('reads every page of an older copy again', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, copy);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
  await pushNow(fixture);
  putBack(fixture, copy);
  fixture.sandbox.requests.clear();

  await fixture.pull();

  expect(fixture.sandbox.requests.count({ status: 304 })).toBe(0);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 7')).toEqual([{ Title: 'once' }]);
});

test('doubts a create without a match value, sends one that has it, and updates in any case', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`
    INSERT INTO "Note" ("Title", "Code") VALUES ('named', 'n1');
    INSERT INTO "Note" ("Title") VALUES ('unnamed');
    UPDATE "Note" SET "Title" = 'changed' WHERE _id = 1`);
  await backUp(fixture.path, copy);
  await pushNow(fixture);
  putBack(fixture, copy);

  await pushNow(fixture);

  const titles = atOrigin(fixture, ['Title']).map((row) => (row as readonly unknown[])[1]);
  expect(titles).toEqual(['changed', 'title 2', 'title 3', 'title 4', 'title 5', 'title 6', 'named', 'unnamed']);
  expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);
});

test('doubts a refused create too, since it may have been mended and taken since', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('again', 'c1')`);
  expect(countsOf(await pushNow(fixture))).toMatchObject({ refused: 1 });
  await backUp(fixture.path, copy);
  fixture.execute(`UPDATE "Note" SET "Code" = 'free' WHERE _id < 0`);
  await pushNow(fixture);
  putBack(fixture, copy);
  fixture.execute(`UPDATE "Note" SET "Code" = 'other' WHERE _id < 0`);

  await pushNow(fixture);

  expect(added(fixture)).toEqual([[7, 'again']]);
  expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);
});

test('doubts what stands in a file without the count beside it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
  fixture.replica.close();
  rmSync(`${fixture.path}.sent`);
  fixture.restart();

  await pushNow(fixture);

  expect(added(fixture)).toEqual([]);
  expect(fixture.rows(STATES)).toEqual([{ id: -2, kind: 'inDoubt' }]);
});

test('doubts nothing after a restart, nor after a crash between the count in the file and the one beside it', async () => {
  await using fixture = await startTwoWay();
  const beside = `${fixture.path}.sent`;
  const before = readFileSync(beside);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('first')`);
  await pushNow(fixture);
  expect(readFileSync(beside).equals(before)).toBe(false);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('second')`);
  writeFileSync(beside, before);
  fixture.restart();

  await pushNow(fixture);
  fixture.restart();
  await pushNow(fixture);

  expect(added(fixture)).toEqual([
    [7, 'first'],
    [8, 'second'],
  ]);
  expect(fixture.rows(STATES)).toEqual([]);
});

test('sends no create where the count cannot be written', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once'); UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  const { mode } = statSync(`${fixture.path}.sent`);
  expect(mode & 0o777).toBe(0o600);
  rmSync(`${fixture.path}.sent`);
  mkdirSync(`${fixture.path}.sent/taken`, { recursive: true }); // root may write any file, but not replace a folder

  const report = await pushNow(fixture);

  expect(report.tables[0]?.error).toMatchObject({ kind: 'replica' });
  expect(changesSent(fixture)).toEqual(['update']);
  rmSync(`${fixture.path}.sent`, { recursive: true });
  await pushNow(fixture);
  expect(added(fixture)).toEqual([[7, 'once']]);
});
