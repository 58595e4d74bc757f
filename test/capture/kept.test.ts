/**
 * What is kept about rows and columns stays about these: under other ids, and once columns or whole tables are made
 * anew.
 */
import { describe, expect, test } from 'vitest';
import { prune } from '../../src/extras/schema/prune.ts';
import { discardEdits, resolveConflict, type Decision } from '../../src/capture/resolve-conflict.ts';
import { pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, startTwoWay, twoWayTable } from '../support/two-way.ts';

const LOCAL: Decision = { take: 'local', value: null };
const MIRROR = { tableOptions: () => ({ sort: null }) };

function resolve(fixture: Fixture, decision: Decision, id = 1): Promise<string | null> {
  return fixture.replica.write('Resolving', (tx) => resolveConflict(tx, id, decision, AT));
}

function discard(fixture: Fixture, rowId: number): Promise<unknown> {
  return fixture.replica.write('Discarding', (tx) => discardEdits(tx, twoWayTable(fixture), rowId, AT));
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

test('a row of a mirror that is deleted while a column is hidden leaves also what that column was', async () => {
  const how = { settings: MIRROR };
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

test('what is kept of a table that was pruned can be read, and each decision about it is answered', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  await discard(fixture, 1);
  fixture.sandbox.store.dropTable('Note');
  await fixture.pull();
  await fixture.replica.write('Pruning', (tx) => prune(tx, AT));

  expect(await resolve(fixture, LOCAL)).toBe('the table is no longer in the replica');
  fixture.execute(`UPDATE sync_conflicts SET resolution = 'local'`);
  await fixture.pull();

  expect(fixture.rows('SELECT "table", local, state, problem FROM sync_conflicts')).toEqual([
    { table: 'Note', local: 'mine', state: 'discarded', problem: 'the table is no longer in the replica' },
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
