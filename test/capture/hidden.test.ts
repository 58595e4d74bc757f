/**
 * Columns that are hidden from the calling user for a while: what becomes of edits, questions, refusals and rows
 * meanwhile, and once the column is shown again.
 */
import { expect, test } from 'vitest';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import { prune } from '../../src/extras/schema/prune.ts';
import { here, pushNow } from '../support/push.ts';
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
