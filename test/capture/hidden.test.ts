/**
 * Columns that are hidden from the calling user for a while: what becomes of edits, questions, refusals and rows meanwhile, and once the
 * column is shown again.
 */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { carryOutDecision } from '../../src/capture/decide.ts';
import { prune } from '../../src/capture/mode.ts';
import { atOrigin, codesOf, countsOf, here, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, NOTE, startTwoWay, twoWaySettings } from '../support/two-way.ts';

/** The calling user does not see a column of Note; returns what shows it again. */
function hide({ sandbox: { store } }: Fixture, column = 'Body'): () => void {
  const { role } = store.user;
  store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', column]] });
  store.changeUser({ role: 'Half' });
  return () => store.changeUser({ role });
}

/** Pulls and pushes under a policy. */
async function sync(fixture: Fixture, conflict: 'origin' | 'local' | 'ask' = 'origin'): Promise<void> {
  await fixture.pull({ settings: twoWaySettings({ conflict }) });
  await pushNow(fixture, { options: { conflict } });
}

function conflicts(fixture: Fixture): unknown[] {
  return fixture.rows('SELECT "column", local, remote, winner, state, problem FROM sync_conflicts ORDER BY id');
}

/** A row that the origin has, with a text in the column that will be hidden. */
async function startWithBody(): Promise<Fixture> {
  const fixture = await startTwoWay();
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
  await fixture.pull();
  return fixture;
}

test('a question about a hidden column is closed with what was edited; decided later, it is an edit once the column is shown', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine', "Count" = 70 WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs', Count: 8 });
  await sync(fixture, 'ask');
  const show = hide(fixture);
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local' WHERE "column" = 'Count'`);
  await sync(fixture, 'ask');

  expect(atOrigin(fixture, ['Body', 'Count'])[0]).toEqual([1, 'theirs', 70]);
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local' WHERE "column" = 'Body'`);
  await sync(fixture, 'ask');
  expect(here(fixture, ['Body', 'Count'])[0]).toEqual([1, 'theirs', 70]);
  expect(conflicts(fixture)).toMatchObject([
    { column: 'Body', local: 'mine', state: 'settled', problem: 'the column cannot be written any more' },
    { column: 'Count', local: 70, state: 'resolved', problem: null },
    { column: 'Body', local: 'mine', remote: 'theirs', winner: 'origin', state: 'decided' },
  ]);

  show();
  await sync(fixture, 'ask');
  expect(atOrigin(fixture, ['Body'])[0]).toEqual([1, 'theirs']);
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local' WHERE state = 'decided'`);
  await sync(fixture, 'ask');
  expect(atOrigin(fixture, ['Body'])[0]).toEqual([1, 'mine']);
  expect(await captured(fixture)).toEqual([]);
});

test('a row that was refused for a cell goes on without it once the column of that cell is hidden', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Code" = 'c2', "Count" = 70 WHERE _id = 1`);
  await sync(fixture);
  expect(fixture.rows('SELECT row_id FROM sync_failures')).toEqual([{ row_id: 1 }]);
  const show = hide(fixture, 'Code');

  await sync(fixture);
  show();
  await sync(fixture);

  expect(fixture.rows('SELECT row_id FROM sync_failures')).toEqual([]);
  expect(atOrigin(fixture, ['Code', 'Count'])[0]).toEqual([1, 'c1', 70]);
  expect(await captured(fixture)).toEqual([]);
});

test.each([
  ['stands', 'SELECT 1', 'mine', []],
  ['is lost where it is edited again', `UPDATE "Note" SET "Body" = 'again' WHERE _id = 1`, 'mine', ['again']],
])('what the origin took %s, though its column was hidden before it was read back', async (_what, edit, body, lost) => {
  await using fixture = await startWithBody();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine', "Count" = 70 WHERE _id = 1`);
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  const before = (step: string): void => {
    if (step === 'readBack') throw end;
  };
  await pushNow(fixture, { before });
  fixture.execute(edit);
  const show = hide(fixture);

  await sync(fixture);

  expect(here(fixture, ['Body', 'Count'])[0]).toEqual([1, body, 70]);
  expect(conflicts(fixture)).toMatchObject(lost.map((local) => ({ column: 'Body', local, remote: 'mine' })));
  expect(conflicts(fixture)).toHaveLength(lost.length);

  show();
  await sync(fixture);

  expect(here(fixture, ['Body', 'Count'])[0]).toEqual([1, 'mine', 70]);
  expect(await captured(fixture)).toEqual([]);
});

test('a new row that is refused for want of a value in a hidden column goes once that is shown again', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title", "Count") VALUES ('new', 70)`);
  const show = hide(fixture, 'Title');
  await sync(fixture);
  expect(fixture.rows('SELECT row_id FROM sync_failures')).toHaveLength(1);

  show();
  await sync(fixture);

  expect(fixture.rows('SELECT row_id FROM sync_failures')).toEqual([]);
  expect(atOrigin(fixture, ['Title', 'Count'])[6]).toEqual([7, 'new', 70]);
});

test('a new row that is discarded while a column of it is hidden leaves all that stood in it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'mine')`);
  hide(fixture);
  await fixture.pull();

  await carryOutDecision(fixture.replica, { kind: 'discard', table: 'Note', rowId: null }, AT);

  expect(here(fixture, ['Title'])).toHaveLength(6);
  expect(JSON.stringify(conflicts(fixture))).toContain('mine');
});

test('a column that was pruned while it was hidden is filled again once it is shown, and nothing counts as an edit', async () => {
  await using fixture = await startWithBody();
  fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'mine')`);
  const show = hide(fixture);
  await fixture.pull();
  await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
  await sync(fixture);
  show();

  await sync(fixture);

  expect(here(fixture, ['Body'])).toEqual([
    [1, 'theirs'],
    [2, null],
    [3, null],
    [4, null],
    [5, null],
    [6, null],
    [7, null],
  ]);
  expect(JSON.stringify(conflicts(fixture))).toContain('mine');
  expect(await captured(fixture)).toEqual([]);
});

/** What another client drops that stands in the way of dropping a column. */
function dropsOf(fixture: Fixture): string {
  const triggers = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`);
  return ['DROP VIEW sync_changes', ...triggers.map((row) => `DROP TRIGGER "${(row as { name: string }).name}"`)].join(
    '; ',
  );
}

test.each([
  ['replaces its rows', `INSERT OR REPLACE INTO "Note" (_id, "Title", "Code") VALUES (1, 'mine', 'c1')`],
  [
    'drops it',
    `DROP TRIGGER "_rowsync_capture_T"; ALTER TABLE "Note" DROP COLUMN "Body"; UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`,
  ],
])('a hidden column has its values once it is shown although a user %s meanwhile', async (_what, statements) => {
  await using fixture = await startWithBody();
  const show = hide(fixture);
  await fixture.pull();
  fixture.execute(statements.replace('DROP TRIGGER "_rowsync_capture_T"', dropsOf(fixture)));
  await sync(fixture);
  show();

  await sync(fixture);

  expect(here(fixture, ['Title', 'Body'])[0]).toEqual([1, 'mine', 'theirs']);
  expect(atOrigin(fixture, ['Title', 'Body'])[0]).toEqual([1, 'mine', 'theirs']);
  expect(await captured(fixture)).toEqual([]);
});

test('a hidden column that a user drops keeps no push from its end, and is back with its values once it is shown', async () => {
  await using fixture = await startWithBody();
  fixture.sandbox.store.update('Note', 3, { Body: 'of three' });
  const show = hide(fixture);
  await fixture.pull();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new'); DELETE FROM "Note" WHERE _id = 1;
    UPDATE "Note" SET "Count" = 70 WHERE _id = 3`);
  fixture.sandbox.store.update('Note', 1, { Count: 8 });
  fixture.sandbox.store.delete('Note', 3);
  fixture.execute(`${dropsOf(fixture)}; ALTER TABLE "Note" DROP COLUMN "Body"`);

  const report = await pushNow(fixture);
  await carryOutDecision(
    fixture.replica,
    { kind: 'resolve', id: conflictOf(fixture, 3), take: 'local', value: null },
    AT,
  );

  expect([codesOf(report), countsOf(report)]).toEqual([[], { inserted: 1, conflict: 2 }]);
  expect(here(fixture, ['Title', 'Count'])).toHaveLength(7);
  show();
  await sync(fixture);
  expect(here(fixture, ['Body'])[0]).toEqual([1, 'theirs']);
  expect(here(fixture, ['Title', 'Body'])).toEqual(atOrigin(fixture, ['Title', 'Body']));
  expect(await captured(fixture)).toEqual([]);
});

/** The number of the conflict about a row of the origin's that was deleted there. */
function conflictOf(fixture: Fixture, rowId: number): number {
  const [row] = fixture.rows(`SELECT id FROM sync_conflicts WHERE row_id = ${rowId} AND kind = 'deletedThere'`);
  return (row as { id: number }).id;
}

test("a user's trigger that writes a hidden column stops his edits, not ours, and what it writes is an edit like any other of it", async () => {
  await using fixture = await startWithBody();
  const show = hide(fixture);
  await fixture.pull();
  fixture.execute(`CREATE TRIGGER own AFTER UPDATE OF "Count" ON "Note" BEGIN
    UPDATE "Note" SET "Body" = 'by the trigger' WHERE _id = NEW._id; END`);
  expect(() => fixture.execute(`UPDATE "Note" SET "Count" = 70 WHERE _id = 1`)).toThrow(
    /"Body" of Note cannot be changed here/,
  );
  fixture.sandbox.store.update('Note', 1, { Count: 8 });
  await sync(fixture);
  expect(atOrigin(fixture, ['Body', 'Count'])[0]).toEqual([1, 'theirs', 8]);
  fixture.execute('DROP TRIGGER own');
  show();

  await sync(fixture);

  expect(atOrigin(fixture, ['Body', 'Count'])[0]).toEqual([1, 'by the trigger', 8]);
  expect(here(fixture, ['Body', 'Count'])[0]).toEqual([1, 'by the trigger', 8]);
});

test.each<[string, (fixture: Fixture) => Promise<unknown>]>([
  ['pull', (fixture) => fixture.pull()],
  ['push', (fixture) => pushNow(fixture)],
])(
  'an edited row that a %s finds deleted there leaves also what it last had in a hidden column',
  async (_what, run) => {
    await using fixture = await startWithBody();
    hide(fixture);
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Count" = 70 WHERE _id = 1`);
    fixture.sandbox.store.delete('Note', 1);

    await run(fixture);

    expect(fixture.rows(`SELECT base ->> 'Body' AS base, local ->> 'Body' AS local FROM sync_conflicts`)).toEqual([
      { base: 'theirs', local: 'theirs' },
    ]);
  },
);

test('a hidden column that another client spells with other cases leaves its values like any other', async () => {
  await using fixture = await startWithBody();
  hide(fixture);
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Count" = 70 WHERE _id = 1; ALTER TABLE "Note" RENAME COLUMN "Body" TO "body"`);
  fixture.sandbox.store.delete('Note', 1);

  await pushNow(fixture);

  expect(fixture.rows(`SELECT local ->> 'Body' AS local FROM sync_conflicts`)).toEqual([{ local: 'theirs' }]);
});

test('a row that was deleted here and edited there has in both versions what a hidden column was, and comes back with it', async () => {
  await using fixture = await startWithBody();
  const show = hide(fixture);
  await fixture.pull();
  fixture.execute('DELETE FROM "Note" WHERE _id = 1');
  fixture.sandbox.store.update('Note', 1, { Count: 8 });
  await sync(fixture, 'ask');
  const kept = fixture.rows(`SELECT base ->> 'Body' AS base, remote ->> 'Body' AS remote FROM sync_conflicts`);
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local'`);
  await sync(fixture, 'ask');
  const left = atOrigin(fixture, ['Count']).length;

  fixture.execute(`UPDATE sync_conflicts SET resolution = 'remote'`);
  show();
  await sync(fixture, 'ask');

  expect(kept).toEqual([{ base: 'theirs', remote: 'theirs' }]);
  expect(left).toBe(5);
  expect(atOrigin(fixture, ['Count', 'Body']).at(-1)).toEqual([7, 8, 'theirs']);
});

test('a hidden column whose name another one had meanwhile has its name again once it is shown', async () => {
  await using fixture = await startTwoWay({ tables: [NOTE] });
  const { store } = fixture.sandbox;
  const show = hide(fixture);
  await fixture.pull();
  store.renameColumn('Note', 'Body', 'Text');
  store.addColumn('Note', { name: 'Body', type: 'Text' });
  await fixture.pull();
  store.dropColumn('Note', 'Body');
  store.renameColumn('Note', 'Text', 'Body');
  show();

  await fixture.pull();

  expect(fixture.rows(`SELECT "column" FROM sync_columns WHERE state = 'live' AND "column" LIKE '%Body%'`)).toEqual([
    { column: 'Body' },
  ]);
});
