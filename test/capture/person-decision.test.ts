/**
 * A decision is about the table that a person means, where another one has a name like it at the origin or here.
 */
import { expect, test } from 'vitest';
import { carryOutDecision, type DecisionOutcome, type PersonDecision } from '../../src/capture/person-decision.ts';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { surround, type TransactionFacts } from '../support/surround.ts';
import { confirmHeld } from '../../src/replica/confirmation.ts';
import { codesOf, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, startTwoWay } from '../support/two-way.ts';

/**
 * Two tables with edits that a guard holds. One that the origin does not have any more and that is called Note here,
 * and one that the origin calls so by now.
 */
async function startTwins(): Promise<Fixture> {
  const columns = [{ name: 'Title', type: 'Text' }];
  const rows = [{ Title: 'first' }, { Title: 'second' }];
  const fixture = await startTwoWay({ tables: ['Archive', 'Note'].map((name) => ({ name, columns, rows })) });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine'; UPDATE "Archive" SET "Title" = 'mine'`);
  await pushNow(fixture, { settings: { maxPushRows: 1 } });
  fixture.sandbox.store.dropTable('Note');
  fixture.sandbox.store.renameTable('Archive', 'Note');
  await fixture.pull();
  return fixture;
}

function decide({ replica }: Fixture, decision: PersonDecision): Promise<DecisionOutcome> {
  return carryOutDecision(replica, decision, AT);
}

test('discarding is about the table that is called so here', async () => {
  await using fixture = await startTwins();

  await decide(fixture, { kind: 'discard', table: 'Note', rowId: 1 });

  expect(fixture.rows(`SELECT "table" = 'Note' AS here, row_id FROM sync_changes ORDER BY 1, 2`)).toEqual([
    { here: 0, row_id: 1 },
    { here: 0, row_id: 2 },
    { here: 1, row_id: 2 },
  ]);
});

test('a consent is to what is held of the table that is called so here, and of no other', async () => {
  await using fixture = await startTwins();
  const held = fixture.rows('SELECT "table", problem FROM sync_status') as { table: string; problem: string }[];
  expect(held).toHaveLength(2);
  const shown = held.find(({ table }) => table === 'Note')?.problem ?? '';

  expect(await decide(fixture, { kind: 'confirm', table: 'Note', shown })).toMatchObject({ rowCount: 2 });
});

test('a consent is to what a person was shown, and to nothing else that is held of the table', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'local' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id < 3`);
  for (const id of [3, 4, 5, 6]) fixture.sandbox.store.delete('Note', id);
  await pushNow(fixture, { settings: { maxPushRows: 1 } });
  await fixture.pull();
  const [{ problem: shown }] = fixture.rows('SELECT problem FROM sync_status') as [{ problem: string }];
  expect(shown).toContain('nothing was deleted here');

  expect(await decide(fixture, { kind: 'confirm', table: 'Note', shown })).toMatchObject({ rowCount: 4 });

  expect(fixture.rows('SELECT pull_consent, push_consent FROM _rowsync_tables')).toEqual([
    { pull_consent: 4, push_consent: null },
  ]);
});

test('a hold ends with the last edit that it held, and a consent with it', async () => {
  await using fixture = await startTwoWay({});
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id < 3`);
  await pushNow(fixture, { settings: { maxPushRows: 1 } });
  const status = () => fixture.rows('SELECT state, problem IS NOT NULL AS held, pending FROM sync_status');
  const [{ problem: shown }] = fixture.rows('SELECT problem FROM sync_status') as [{ problem: string }];
  await decide(fixture, { kind: 'confirm', table: 'Note', shown });

  await decide(fixture, { kind: 'discard', table: 'Note', rowId: 1 });
  const between = status();
  await decide(fixture, { kind: 'discard', table: 'Note', rowId: null });

  expect(between).toEqual([{ state: 'held', held: 1, pending: 1 }]);
  expect(status()).toEqual([{ state: 'steady', held: 0, pending: 0 }]);
  expect(fixture.rows('SELECT push_consent FROM _rowsync_tables')).toEqual([{ push_consent: null }]);
});

test('a consent ends with the last edit that it was given to, also after an outage', async () => {
  await using fixture = await startTwoWay({});
  const settings = { maxPushRows: 1 };
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id <= 3`);
  await pushNow(fixture, { settings });
  confirmHeld(fixture.path, ['push'], []);
  const headers = { 'Content-Type': 'application/json' };
  const forbidden = { status: 403, body: '{"error":403,"code":1,"message":"no"}', headers };
  fixture.sandbox.answerInstead(1, forbidden, { method: 'describe' });
  const failed = codesOf(await pushNow(fixture, { settings }));
  await decide(fixture, { kind: 'discard', table: 'Note', rowId: null });
  const before = fixture.sandbox.store.ids('Note');

  fixture.execute(`DELETE FROM "Note" WHERE _id > 3`);
  const later = codesOf(await pushNow(fixture, { settings }));

  expect([failed, later]).toEqual([['origin.forbidden'], [expect.stringMatching(/^guard\./)]]);
  expect(fixture.sandbox.store.ids('Note')).toEqual(before);
});

test('a hold ends when all that was edited is in conflict, and is judged again once that is decided', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id < 3`);
  const states = () => fixture.rows('SELECT state, conflicts FROM sync_status');
  await pushNow(fixture, { settings: { maxPushRows: 1 } });
  const held = states();
  for (const id of [1, 2]) fixture.sandbox.store.update('Note', id, { Title: 'theirs' });
  await fixture.pull();
  const asked = states();

  for (const id of [1, 2]) await decide(fixture, { kind: 'resolve', id, take: 'local', value: null });
  await pushNow(fixture, { settings: { maxPushRows: 1 } });

  expect(held).toEqual([{ state: 'held', conflicts: 0 }]);
  expect(asked).toEqual([{ state: 'steady', conflicts: 2 }]);
  expect(states()).toEqual(held);
});

test('a hold ends when a pull brings what was edited, and no edit is left', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'the same' WHERE _id < 3`);
  await pushNow(fixture, { settings: { maxPushRows: 1 } });
  const state = () => fixture.rows('SELECT state FROM sync_status');
  const held = state();
  for (const id of [1, 2]) fixture.sandbox.store.update('Note', id, { Title: 'the same' });

  await fixture.pull();

  expect([held, state()]).toEqual([[{ state: 'held' }], [{ state: 'steady' }]]);
});

test('is on the disk once a person is told that it is done', async () => {
  await using fixture = await startTwoWay({});
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.replica.close();
  const seen: TransactionFacts[] = [];
  const replica = openReplica(fixture.path, { clock: systemClock });
  surround(replica, (facts, run) => {
    seen.push(facts);
    return run(() => undefined);
  });

  await carryOutDecision(replica, { kind: 'discard', table: 'Note', rowId: 1 }, AT);
  replica.close();

  expect(seen).toMatchObject([{ isKept: true, isDurable: true }]);
  expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
});

test('what is decided needs to be asked for again, and the answer names row, column and value', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id < 3`);
  await decide(fixture, { kind: 'discard', table: 'Note', rowId: null });
  const edits = () => fixture.rows('SELECT row_id, local FROM sync_changes');

  const mistyped = await decide(fixture, { kind: 'resolve', id: 2, take: 'local', value: null });
  const before = edits();
  const again = await decide(fixture, { kind: 'resolve', id: 2, take: 'local', value: null, isAgain: true });

  expect(mistyped).toMatchObject({
    kind: 'problem',
    words: 'conflict 2, Note row 2, Title, is an edit that was discarded',
  });
  expect(before).toEqual([]);
  expect(again).toMatchObject({ words: 'Resolved conflict 2: Note row 2, Title, the version here: "mine"' });
  expect(edits()).toEqual([{ row_id: 2, local: 'mine' }]);
});
