/**
 * Older copies of a replica that were put back, by hand or by a restore: what they want to create may have been created since.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { carryOutDecision } from '../../src/capture/decide.ts';
import { retryRows } from '../../src/capture/refusals.ts';
import { backUp, restore } from '../../src/replica/backup.ts';
import { openReplica } from '../../src/replica/database.ts';
import { readWaiting } from '../../src/replica/push-rows.ts';
import { sql } from '../../src/replica/sql.ts';
import { temporaryFolder, type Fixture } from '../support/replica.ts';
import { atOrigin, changesSent, countsOf, pushNow } from '../support/push.ts';
import { AT, startTwoWay } from '../support/two-way.ts';

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

test('keeps what may have been created where a person discards it once it was deleted', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title", "Count") VALUES ('once', 3)`);
  await backUp(fixture.path, copy);
  await pushNow(fixture);
  putBack(fixture, copy);
  await pushNow(fixture);
  const sent = '{"Title":"once","Count":3}';
  expect(fixture.rows('SELECT sent FROM sync_failures')).toEqual([{ sent }]);
  fixture.execute(`DELETE FROM "Note" WHERE _id = -2`);

  await carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId: -2 }, AT);

  expect(fixture.rows('SELECT kind, local FROM sync_conflicts')).toEqual([{ kind: 'inserted', local: sent }]);
});

test('reads every page of an older copy again', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  await backUp(fixture.path, copy);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
  await pushNow(fixture);
  putBack(fixture, copy);
  fixture.sandbox.requests.clear();

  await fixture.pull();

  expect(fixture.sandbox.requests.count({ method: 'select', status: 304 })).toBe(0);
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

test('is on the disk with its id before that stands beside it, so that a power cut makes no copy of it', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const commits: unknown[] = [];
  const connect = (file: string, options: Database.Options): Database.Database => {
    const db = new Database(file, options);
    const transaction = db.transaction.bind(db);
    return Object.assign(db, {
      transaction: (change: () => void) =>
        transaction(() => {
          change();
          commits.push([db.pragma('synchronous', { simple: true }), existsSync(`${path}.sent`)]);
        }),
    });
  };

  const replica = openReplica(path, { clock: systemClock, connect });

  const FULL = 2;
  expect(commits.at(-1)).toEqual([FULL, false]);
  const NORMAL = 1;
  expect(
    replica
      .prepare(sql`PRAGMA synchronous`)
      .pluck()
      .get(),
  ).toBe(NORMAL);
  replica.close();
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

/** An edit of row 4, which the origin deletes: as a new row it can be created twice. */
const EDIT = `UPDATE "Note" SET "Title" = 'mine', "Code" = NULL WHERE _id = 4`;
const TAKE_LOCAL = `UPDATE sync_conflicts SET resolution = 'local' WHERE id = 1`;

describe.each([
  ['that a policy took for local after the copy was made', 'local', ['edit', 'copy', 'delete', 'pull']],
  [
    'whose conflict was decided by SQL and not carried out in the copy',
    'ask',
    ['edit', 'delete', 'pull', 'take', 'copy'],
  ],
  ['whose conflict was open in the copy, and is decided once more', 'ask', ['edit', 'delete', 'pull', 'copy', 'take']],
  ['that a policy gave up in the copy, and is taken once more', 'origin', ['edit', 'delete', 'pull', 'copy', 'take']],
] as const)('an edited row that the origin deleted, %s', (_how, conflict, steps) => {
  test.each(['pull', 'push'])('is not created twice, where a %s comes first', async (first) => {
    await using fixture = await startTwoWay({ editing: { conflict } });
    const copy = join(fixture.folder, 'copy.db');
    const titles = (): readonly unknown[] => atOrigin(fixture, ['Title']).filter((row) => String(row).endsWith('mine'));
    for (const step of steps) {
      if (step === 'edit') fixture.execute(EDIT);
      if (step === 'delete') fixture.sandbox.store.delete('Note', 4);
      if (step === 'pull') await fixture.pull();
      if (step === 'take') fixture.execute(TAKE_LOCAL);
      if (step === 'copy') await backUp(fixture.path, copy);
    }
    await pushNow(fixture, { options: { conflict } });
    expect(titles()).toHaveLength(1);
    putBack(fixture, copy);
    const wasTaken = steps.at(-1) === 'take';
    if (wasTaken) fixture.execute(TAKE_LOCAL);

    if (first === 'pull') await fixture.pull();
    await pushNow(fixture, { options: { conflict } });
    await fixture.pull();
    await pushNow(fixture, { options: { conflict } });

    expect(titles()).toHaveLength(1);
    expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);
    fixture.execute(`DELETE FROM "Note" WHERE _id < 0`); // a person found it there
  });
});

test('sends what a person tries again after a doubt, once', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'local' } });
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(EDIT);
  await backUp(fixture.path, copy);
  fixture.sandbox.store.delete('Note', 4);
  putBack(fixture, copy);
  rmSync(`${fixture.path}.sent`);
  fixture.restart();
  await fixture.pull();
  await pushNow(fixture, { options: { conflict: 'local' } });
  expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);

  await fixture.replica.write('Trying again', (tx) => retryRows(tx, readWaiting(tx, []), AT));
  await pushNow(fixture, { options: { conflict: 'local' } });
  await fixture.pull();
  await pushNow(fixture, { options: { conflict: 'local' } });

  expect(atOrigin(fixture, ['Title']).map((row) => (row as readonly unknown[])[1])).toEqual([
    'title 1',
    'title 2',
    'title 3',
    'title 5',
    'title 6',
    'mine',
  ]);
  expect(fixture.rows(STATES)).toEqual([]);
});

test('doubts a create in flight that a unique column does not find, since its value may be another one by now', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('once', 'first')`);
  let isCopied = false;
  const before = async (step: string): Promise<void> => {
    if (step !== 'send' || isCopied) return;
    isCopied = true;
    await backUp(fixture.path, copy);
  };
  await pushNow(fixture, { before });
  fixture.execute(`UPDATE "Note" SET "Code" = 'second' WHERE "Code" = 'first'`);
  await pushNow(fixture);
  putBack(fixture, copy);

  await pushNow(fixture);
  await fixture.pull();
  await pushNow(fixture);

  expect(atOrigin(fixture, ['Code']).slice(6)).toEqual([[7, 'second']]);
  expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);
});

test('doubts what an edit in flight becomes when the origin turns out to have deleted its row', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(EDIT);
  fixture.sandbox.before(1, () => fixture.sandbox.store.delete('Note', 4), { method: 'update' });
  let isCopied = false;
  const before = async (step: string): Promise<void> => {
    if (step !== 'send' || isCopied) return;
    isCopied = true;
    await backUp(fixture.path, copy);
  };
  await pushNow(fixture, { before, options: { conflict: 'local' } });
  expect(atOrigin(fixture, ['Title']).at(-1)).toEqual([7, 'mine']);
  putBack(fixture, copy);

  await pushNow(fixture, { options: { conflict: 'local' } });
  await fixture.pull();
  await pushNow(fixture, { options: { conflict: 'local' } });

  expect(atOrigin(fixture, ['Title']).slice(5)).toEqual([[7, 'mine']]);
  expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);
});
