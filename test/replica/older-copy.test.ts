/**
 * Older copies of a replica that were put back, by hand or by a restore: what they want to create may have been created
 * since.
 */
import Database from 'better-sqlite3';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import { confirmHeld } from '../../src/replica/confirmation.ts';
import { disownFile } from '../../src/replica/older-copy.ts';
import { openReplica } from '../../src/replica/database.ts';
import { readWaiting } from '../../src/replica/bookkeeping/refusals.ts';
import { sql } from '../../src/base/sql.ts';
import { copyReplica, temporaryFolder, type Fixture } from '../support/replica.ts';
import { atOrigin, changesSent, codesOf, countsOf, previewNow, pushNow, setFaults } from '../support/push.ts';
import { AT, startTwoWay } from '../support/two-way.ts';
import { retryRows } from '../../src/capture/writer/apply-outcome.ts';

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

test('does not create again what an older copy wants to create', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
  await copyReplica(fixture.path, copy);
  await pushNow(fixture);
  putBack(fixture, copy);

  await fixture.pull();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  await pushNow(fixture);
  await pushNow(fixture);

  expect(added(fixture)).toEqual([
    [7, 'once'],
    [8, 'new'],
  ]);
  expect(fixture.rows(STATES)).toEqual([{ id: -2, kind: 'inDoubt' }]);
  expect(fixture.rows('SELECT refused FROM sync_status')).toEqual([{ refused: 1 }]);
});

test.each([
  ['on its way', 'send'],
  ['answered and not settled', 'settle'],
])('does not create again what was %s in a copy, and is called otherwise since', async (_how, moment) => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('once', 'n1')`);
  await pushNow(fixture, {
    before: async (step) => {
      if (step === moment) await copyReplica(fixture.path, copy);
    },
  });
  // By a colleague: an update of ours would be a batch that counts.
  fixture.sandbox.store.update('Note', 7, { Code: 'n2' });
  putBack(fixture, copy);

  await pushNow(fixture);

  expect(added(fixture)).toEqual([[7, 'once']]);
});

test.each([
  [
    'an update',
    `UPDATE "Note" SET "Title" = 'stale' WHERE _id = 1`,
    `UPDATE "Note" SET "Title" = 'newer' WHERE _id = 1`,
  ],
  ['a delete', `DELETE FROM "Note" WHERE _id = 1`, null],
])('an edit that was sent since the copy was made waits in a copy: %s', async (_what, edit, later) => {
  await using fixture = await startTwoWay({ editing: { conflict: 'local' } });
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(edit);
  await copyReplica(fixture.path, copy);
  await pushNow(fixture, { options: { conflict: 'local' } });
  if (later !== null) fixture.execute(later);
  await pushNow(fixture, { options: { conflict: 'local' } });
  const before = atOrigin(fixture, ['Title']);
  putBack(fixture, copy);

  const report = await pushNow(fixture, { options: { conflict: 'local' } });

  expect(codesOf(report)).toEqual(['guard.olderCopy']);
  expect(atOrigin(fixture, ['Title'])).toEqual(before);
});

test('keeps what may have been created where a person discards it once it was deleted', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title", "Count") VALUES ('once', 3)`);
  await copyReplica(fixture.path, copy);
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
  await copyReplica(fixture.path, copy);
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
  await pushNow(fixture);
  putBack(fixture, copy);
  fixture.sandbox.requests.clear();

  await fixture.pull();

  expect(fixture.sandbox.requests.count({ method: 'select', status: 304 })).toBe(0);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 7')).toEqual([{ Title: 'once' }]);
});

describe('edits of a copy that is put back', () => {
  /**
   * Row 1 is edited in the copy, a row with a match value and one without are new, and nothing of it reached the
   * origin.
   */
  async function startHeld(): Promise<Fixture> {
    const fixture = await startTwoWay({ editing: { match: 'Code' } });
    const copy = join(fixture.folder, 'copy.db');
    fixture.execute(`
      INSERT INTO "Note" ("Title", "Code") VALUES ('named', 'n1');
      INSERT INTO "Note" ("Title") VALUES ('unnamed');
      UPDATE "Note" SET "Title" = 'changed' WHERE _id = 1`);
    await copyReplica(fixture.path, copy);
    disownFile(fixture.path);
    putBack(fixture, copy);
    return fixture;
  }

  function titles(fixture: Fixture): readonly unknown[] {
    return fixture.sandbox.store.rows('Note').map(({ values }) => values['Title']);
  }

  const OTHERS = ['title 2', 'title 3', 'title 4', 'title 5', 'title 6'];

  test('wait for a person, but for creates without a match value, which are in doubt', async () => {
    await using fixture = await startHeld();

    const report = await pushNow(fixture);
    await pushNow(fixture);

    expect(codesOf(report)).toEqual(['guard.olderCopy']);
    expect(titles(fixture)).toEqual(['title 1', ...OTHERS]);
    expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);
    expect(fixture.rows('SELECT state, problem FROM sync_status')).toEqual([
      { state: 'held', problem: expect.stringContaining('edits may be outdated; none of them was sent') as string },
    ]);
  });

  test('leave the table restored in sync_status until it is read again', async () => {
    await using fixture = await startHeld();
    const before = fixture.rows('SELECT state FROM sync_status');
    await fixture.pull();
    fixture.execute(`UPDATE _rowsync_tables SET push_code = NULL`);

    expect(before).toEqual([{ state: 'restored' }]);
    expect(fixture.rows('SELECT state FROM sync_status')).toEqual([{ state: 'steady' }]);
  });

  test('are held from the first pull on, before any push', async () => {
    await using fixture = await startHeld();

    await fixture.pull();
    const held = fixture.rows('SELECT push_code, push_message, push_hint FROM _rowsync_tables');
    await pushNow(fixture);

    expect(held).toMatchObject([{ push_code: 'guard.olderCopy' }]);
    expect(fixture.rows('SELECT push_code, push_message, push_hint FROM _rowsync_tables')).toEqual(held);
    expect(fixture.rows('SELECT state FROM sync_status')).toEqual([{ state: 'held' }]);
  });

  test('go with a consent that a person gave before any push', async () => {
    await using fixture = await startHeld();
    await fixture.pull();

    expect(confirmHeld(fixture.path, ['push'], [])).toEqual([{ table: 'Note', kind: 'push', rowCount: 2 }]);
    await pushNow(fixture);

    expect(titles(fixture)).toEqual(['changed', ...OTHERS, 'named']);
    expect(fixture.rows('SELECT state, problem FROM sync_status')).toEqual([{ state: 'steady', problem: null }]);
  });

  test('go once they are confirmed, with what was edited since, and hold nothing up afterwards', async () => {
    await using fixture = await startHeld();
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id = 2`);
    const held = await pushNow(fixture);

    const confirmed = await pushNow(fixture, { confirm: true });
    fixture.execute(`UPDATE "Note" SET "Title" = 'after' WHERE _id = 3`);
    await pushNow(fixture);

    expect([codesOf(held), codesOf(confirmed)]).toEqual([['guard.olderCopy'], []]);
    expect(titles(fixture)).toEqual(['changed', 'later', 'after', ...OTHERS.slice(2), 'named']);
    expect(fixture.rows('SELECT state, problem FROM sync_status')).toEqual([{ state: 'steady', problem: null }]);
  });

  test('go with a consent to as many as a person was shown, and to no more', async () => {
    await using fixture = await startHeld();
    await pushNow(fixture);
    confirmHeld(fixture.path, ['push'], []);
    fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id = 2`);
    const grown = await pushNow(fixture);
    confirmHeld(fixture.path, ['push'], []);

    const agreed = await pushNow(fixture);

    expect([codesOf(grown), codesOf(agreed)]).toEqual([['guard.olderCopy'], []]);
    expect(titles(fixture)).toContain('changed');
  });

  test('stand in the plan, which says that they are held', async () => {
    await using fixture = await startHeld();

    const plans = await previewNow(fixture);

    expect(plans.map(({ rows }) => rows.map(({ kind, fate }) => `${kind} ${fate}`).toSorted())).toEqual([
      ['insert inDoubt', 'insert sent', 'update sent'],
    ]);
    expect(plans[0]?.held).toContain('older copy');
  });

  test.each([
    ['they are discarded', 'discard'],
    ['the origin has the same', 'pull'],
  ])('hold nothing up once %s', async (_how, how) => {
    await using fixture = await startHeld();
    fixture.sandbox.store.update('Note', 1, { Title: 'changed' });
    fixture.sandbox.store.insert('Note', { Title: 'named', Code: 'n1' });
    await fixture.pull();
    if (how === 'discard') await carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId: null }, AT);
    else fixture.execute(`DELETE FROM "Note" WHERE "Code" = 'n1' AND _id < 0`);
    if (how === 'pull') await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id = 2`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(titles(fixture)[1]).toBe('later');
  });
});

test('a copy in which nothing was edited holds nothing up', async () => {
  await using fixture = await startTwoWay();
  disownFile(fixture.path);
  fixture.restart();
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id = 2`);

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual([]);
  expect(atOrigin(fixture, ['Title'])[1]).toEqual([2, 'later']);
});

test('a decision by SQL that nobody carried out before the copy was made is to be made once more', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local'`);
  disownFile(fixture.path);
  fixture.restart();

  await fixture.pull();

  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs' }]);
  expect(fixture.rows('SELECT state, problem FROM sync_conflicts')).toEqual([
    { state: 'decided', problem: expect.stringContaining('decide once more') as string },
  ]);
});

test('doubts a refused create too, since it may have been mended and taken since', async () => {
  await using fixture = await startTwoWay();
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('again', 'c1')`);
  expect(countsOf(await pushNow(fixture))).toMatchObject({ refused: 1 });
  await copyReplica(fixture.path, copy);
  fixture.execute(`UPDATE "Note" SET "Code" = 'free' WHERE _id < 0`);
  await pushNow(fixture);
  putBack(fixture, copy);
  fixture.execute(`UPDATE "Note" SET "Code" = 'other' WHERE _id < 0`);

  await pushNow(fixture);

  expect(added(fixture)).toEqual([[7, 'again']]);
  expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);
});

test('doubts a create that another client put under an id of its own, around the triggers', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO _rowsync_writer VALUES (1); INSERT INTO "Note" (_id, "Title") VALUES (500, 'once');
    DELETE FROM _rowsync_writer`);
  disownFile(fixture.path);
  fixture.restart();

  await pushNow(fixture, { confirm: true });

  expect(added(fixture)).toEqual([]);
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

test('is no copy where the power went before the count of a new replica was beside it', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  openReplica(path, { clock: systemClock }).close();
  rmSync(`${path}.sent`);

  const replica = openReplica(path, { clock: systemClock });

  expect(replica.prepare(sql`SELECT kind FROM _rowsync_history`).all()).toEqual([]);
  replica.close();
});

test('sends nothing where the count cannot be written', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once'); UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  const { mode } = statSync(`${fixture.path}.sent`);
  expect(mode & 0o777).toBe(0o600);
  rmSync(`${fixture.path}.sent`);
  mkdirSync(`${fixture.path}.sent/taken`, { recursive: true }); // root may write any file, but not replace a folder

  const report = await pushNow(fixture);

  expect(report.tables[0]?.error).toMatchObject({ kind: 'replica' });
  expect(changesSent(fixture)).toEqual([]);
  rmSync(`${fixture.path}.sent`, { recursive: true });
  await pushNow(fixture);
  expect(added(fixture)).toEqual([[7, 'once']]);
});

test('sends a create in doubt that a person tries again, once', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('once')`);
  disownFile(fixture.path);
  fixture.restart();
  await pushNow(fixture);
  expect(fixture.rows(STATES)).toMatchObject([{ kind: 'inDoubt' }]);

  await fixture.replica.write('Trying again', (tx) => retryRows(tx, readWaiting(tx, []), AT));
  await pushNow(fixture);
  await fixture.pull();
  await pushNow(fixture);

  expect(added(fixture)).toEqual([[7, 'once']]);
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
    await copyReplica(fixture.path, copy);
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

test('does not send what was on its way in the copy, and did not arrive, before a person confirms', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  const copy = join(fixture.folder, 'copy.db');
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('once', 'first')`);
  setFaults(fixture, [{ fault: 'resetBefore', method: 'upsert', nth: 1 }]);
  let isCopied = false;
  const before = async (step: string): Promise<void> => {
    if (step !== 'send' || isCopied) return;
    isCopied = true;
    await copyReplica(fixture.path, copy);
    throw new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  };
  await pushNow(fixture, { before });
  disownFile(fixture.path);
  putBack(fixture, copy);
  setFaults(fixture, []);

  await fixture.pull();
  const held = await pushNow(fixture);
  await pushNow(fixture, { confirm: true });

  expect(codesOf(held)).toEqual(['guard.olderCopy']);
  expect(atOrigin(fixture, ['Code']).slice(6)).toEqual([[7, 'first']]);
});
