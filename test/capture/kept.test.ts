/**
 * What is kept about rows and columns stays about these: under other ids, and once columns or whole tables are made anew.
 */
import { describe, expect, test } from 'vitest';
import { prune } from '../../src/capture/mode.ts';
import { discardRow, resolveConflict, type Decision } from '../../src/capture/resolve.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { atOrigin, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, startTwoWay, twoWaySettings, twoWayTable } from '../support/two-way.ts';

const LOCAL: Decision = { take: 'local', value: null };
const LOCAL_WINS = twoWaySettings({ conflict: 'local' });
const MIRROR = { tableOptions: () => ({ sort: null }) };

function resolve(fixture: Fixture, decision: Decision, id = 1): Promise<string | null> {
  return fixture.replica.write('Resolving', (tx) => resolveConflict(tx, id, decision, AT));
}

function discard(fixture: Fixture, rowId: number): Promise<string | null> {
  return fixture.replica.write('Discarding', (tx) => discardRow(tx, twoWayTable(fixture), rowId, AT));
}

describe('a column that was pruned', () => {
  /** A column `Late`, an edit of it in row 1 and a delete of row 2 that were given up; it is gone now. */
  async function startPruned(): Promise<Fixture> {
    const fixture = await startTwoWay();
    fixture.sandbox.store.addColumn('Note', { name: 'Late', type: 'Text', defaultValue: 'given' });
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Late" = 'mine' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2`);
    await discard(fixture, 1);
    await discard(fixture, 2);
    fixture.sandbox.store.dropColumn('Note', 'Late');
    await fixture.pull();
    await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
    return fixture;
  }

  test('leaves its conflicts, and no other column takes them over', async () => {
    await using fixture = await startPruned();
    fixture.sandbox.store.addColumn('Note', { name: 'Other', type: 'Text' });

    await fixture.pull();

    expect(fixture.rows('SELECT "column" FROM sync_conflicts WHERE id = 1')).toEqual([{ column: 'Late' }]);
    expect(await resolve(fixture, LOCAL)).toBe('the column cannot be written any more');
    expect(await captured(fixture)).toEqual([]);
  });

  test('gives no value of a kept row to a column that comes later under its name', async () => {
    await using fixture = await startPruned();
    fixture.sandbox.store.addColumn('Note', { name: 'Late', type: 'Checkbox' });
    await fixture.pull();

    fixture.sandbox.store.delete('Note', 2);
    await fixture.pull();
    expect(await resolve(fixture, { take: 'base', value: null }, 2)).toBe(null);

    expect(fixture.rows('SELECT "Title", "Late" FROM "Note" WHERE _id < 0')).toEqual([
      { Title: 'title 2', Late: null },
    ]);
    expect(fixture.rows(`SELECT base ->> 'Late (pruned)' AS late FROM sync_conflicts WHERE id = 2`)).toEqual([
      { late: 'given' },
    ]);
  });
});

/** The calling user does not see the column Body of Note. */
function hideBody({ sandbox: { store } }: Fixture): void {
  store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns: [['Note', 'Body']] });
  store.changeUser({ role: 'Half' });
}

/** Pushes; the request is lost on its way, and the process ends before anything is read back. */
async function loseDelete(fixture: Fixture): Promise<void> {
  setFaults(fixture, [{ fault: 'resetBefore', method: 'delete', nth: 1 }]);
  const end = new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  await pushNow(fixture, {
    before: (step) => {
      if (step === 'readBack') throw end;
    },
  });
}

test.each<[string, (fixture: Fixture) => unknown, (fixture: Fixture) => unknown]>([
  ['its delete is discarded', () => null, (fixture) => discard(fixture, 1)],
  ['it was edited there', () => null, ({ sandbox: { store } }) => store.update('Note', 1, { Count: 8 })],
  [
    'it was edited there, and its delete got lost',
    loseDelete,
    ({ sandbox: { store } }) => store.update('Note', 1, { Count: 8 }),
  ],
])(
  'a row that comes back while a column is hidden, because %s, has what that column was: it is no edit once the column is shown',
  async (_why, send, bringBack) => {
    await using fixture = await startTwoWay();
    const { store } = fixture.sandbox;
    const { role } = store.user;
    store.update('Note', 1, { Body: 'theirs' });
    await fixture.pull();
    fixture.execute('DELETE FROM "Note" WHERE _id = 1');
    await send(fixture);
    hideBody(fixture);
    await fixture.pull();
    await bringBack(fixture);
    await fixture.pull();
    await pushNow(fixture);

    expect(fixture.rows('SELECT "Body" FROM "Note" WHERE _id = 1')).toEqual([{ Body: 'theirs' }]);

    store.changeUser({ role });
    await fixture.pull();
    await pushNow(fixture);

    expect(atOrigin(fixture, ['Body'])[0]).toEqual([1, 'theirs']);
    expect(await captured(fixture)).toEqual([]);
  },
);

test.each([
  ['two-way table', {}],
  ['mirror', { settings: MIRROR }],
])('a row of a %s that is deleted while a column is hidden leaves also what that column was', async (_what, how) => {
  await using fixture = await startTwoWay();
  const { store } = fixture.sandbox;
  store.update('Note', 1, { Body: 'theirs' });
  await fixture.pull(how);
  hideBody(fixture);
  await fixture.pull(how);
  store.delete('Note', 1);

  await fixture.pull({ ...how, confirm: true });

  expect(fixture.rows(`SELECT row_id, last_values ->> 'Body' AS body FROM sync_deleted`)).toEqual([
    { row_id: 1, body: 'theirs' },
  ]);
});

test('a cell of a new row is kept once, however often its column is hidden before the row is sent', async () => {
  await using fixture = await startTwoWay();
  const { store } = fixture.sandbox;
  const { role } = store.user;
  fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'mine')`);

  for (let round = 0; round < 3; round += 1) {
    if (round === 2) fixture.execute(`UPDATE "Note" SET "Body" = 'newer' WHERE _id < 0`);
    hideBody(fixture);
    await fixture.pull();
    store.changeUser({ role });
    await fixture.pull();
  }

  expect(fixture.rows('SELECT "column", local FROM sync_conflicts ORDER BY id')).toEqual([
    { column: 'Body', local: 'mine' },
    { column: 'Body', local: 'newer' },
  ]);
  expect(fixture.rows('SELECT "Body" FROM "Note" WHERE _id < 0')).toEqual([{ Body: 'newer' }]);
});

test.each<[string, (fixture: Fixture) => unknown, string]>([
  [
    'was made at the origin',
    (fixture) => pushNow(fixture),
    `SELECT local AS body FROM sync_conflicts WHERE "column" = 'Body'`,
  ],
  ['was discarded', (fixture) => discard(fixture, -2), `SELECT local ->> 'Body' AS body FROM sync_conflicts`],
])(
  'what was written around the triggers into a hidden column of a new row is kept once the row %s',
  async (_what, end, kept) => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
    hideBody(fixture);
    await fixture.pull();
    const text = `SELECT name FROM sqlite_master WHERE type = 'trigger' AND name GLOB '*_kept_*'`;
    for (const row of fixture.rows(text)) fixture.execute(`DROP TRIGGER "${(row as { name: string }).name}"`);
    fixture.execute(`UPDATE "Note" SET "Body" = 'around' WHERE _id = -2`);

    await end(fixture);

    expect(fixture.rows(kept)).toEqual([{ body: 'around' }]);
  },
);

/** Row 1 was edited here and deleted at the origin while its Body, in which a colleague wrote, is hidden. */
async function startEditedAndGone(): Promise<Fixture> {
  const fixture = await startTwoWay();
  const { store } = fixture.sandbox;
  store.update('Note', 1, { Body: 'theirs' });
  await fixture.pull();
  hideBody(fixture);
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Count" = 8 WHERE _id = 1`);
  store.delete('Note', 1);
  return fixture;
}

/** Pushes under `local`; the process ends before a second request changes anything. */
async function pushOnce(fixture: Fixture): Promise<void> {
  let planCount = 0;
  const pushed = pushNow(fixture, {
    options: { conflict: 'local' },
    before: (step) => {
      planCount += step === 'plan' ? 1 : 0;
      if (planCount === 2) throw new Error('the process ends');
    },
  });
  await expect(pushed).rejects.toThrow('the process ends');
}

test.each<[string, (fixture: Fixture) => unknown]>([
  ['that a pull finds to be gone', (fixture) => fixture.pull({ settings: LOCAL_WINS, confirm: true })],
  ['that a push finds to be gone, and no more', pushOnce],
  [
    'that is taken back',
    async (fixture) => {
      await fixture.pull({ confirm: true });
      expect(await resolve(fixture, LOCAL)).toBe(null);
    },
  ],
  [
    'that is taken back after it went on',
    async (fixture) => {
      await fixture.pull({ settings: LOCAL_WINS, confirm: true });
      await discard(fixture, -2);
      expect(await resolve(fixture, { take: 'local', value: null }, 2)).toBe(null);
    },
  ],
])('a row %s while a column is hidden goes on as a new one with what that column was', async (_what, find) => {
  await using fixture = await startEditedAndGone();
  await find(fixture);
  fixture.sandbox.store.changeUser({ role: 'Administrator' });
  await fixture.pull();

  await pushNow(fixture);

  expect(atOrigin(fixture, ['Title', 'Count', 'Body']).at(-1)).toEqual([7, 'title 1', 8, 'theirs']);
  expect(await captured(fixture)).toEqual([]);
});

test('a row that goes on as a new one, and is made while a column is hidden, keeps what that column was in a line of its own', async () => {
  await using fixture = await startEditedAndGone();

  await pushNow(fixture, { options: { conflict: 'local' } });

  expect(atOrigin(fixture, ['Title', 'Count', 'Body']).at(-1)).toEqual([7, 'title 1', 8, null]);
  const text = `SELECT row_id, kind, iif(kind = 'cell', local, local ->> 'Body') AS body FROM sync_conflicts
      WHERE coalesce("column", 'Body') = 'Body' ORDER BY id`;
  expect(fixture.rows(text)).toEqual([
    { row_id: 7, kind: 'deletedThere', body: 'theirs' },
    { row_id: 7, kind: 'cell', body: 'theirs' },
  ]);
});

test('what is kept of a table that was pruned can be read, and each decision about it is answered', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  await discard(fixture, 1);
  fixture.sandbox.store.dropTable('Note');
  await fixture.pull();
  await fixture.replica.write('Pruning', (tx) => prune(tx, AT));

  expect(await resolve(fixture, LOCAL)).toBe('the table does not stand here any more');
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local'`);
  await fixture.pull();

  expect(fixture.rows('SELECT "table", local, state, problem FROM sync_conflicts')).toEqual([
    { table: 'Note', local: 'mine', state: 'discarded', problem: 'the table does not stand here any more' },
  ]);
});

test('a new row of a table that was made again is no row of which something is kept', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('old')`);
  await discard(fixture, -2);
  await fixture.pull({ settings: MIRROR });
  fixture.execute('DROP TABLE "Note"');
  await fixture.pull({ settings: MIRROR });
  await fixture.pull();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('other')`);

  expect(await resolve(fixture, LOCAL)).toBe(null);

  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id < 0 ORDER BY 1')).toEqual([
    { Title: 'old' },
    { Title: 'other' },
  ]);
});

test('a new row of a table that was made again is none that was refused before', async () => {
  await using fixture = await startTwoWay();
  const refused = `INSERT INTO "Note" ("Title", "Code") VALUES ('old', 'c1')`;
  const tries = (): unknown => fixture.rows('SELECT row_id, tries FROM _rowsync_refusals');
  fixture.execute(refused);
  await pushNow(fixture);
  expect(tries()).toEqual([{ row_id: -2, tries: 1 }]);
  fixture.execute('DELETE FROM "Note" WHERE _id = -2');
  await fixture.pull({ settings: MIRROR });
  fixture.execute('DROP TABLE "Note"');
  await fixture.pull({ settings: MIRROR });
  await fixture.pull();
  fixture.execute(refused);

  await pushNow(fixture);

  expect(tries()).toEqual([{ row_id: -2, tries: 1 }]);
});
