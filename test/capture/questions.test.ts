/**
 * Which conflicts wait for a person, and for how long: as long as both sides differ, the policy asks and the column can
 * be written, and no longer. A row that is asked nothing any more continues.
 */
import { expect, test } from 'vitest';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import { resolveConflict } from '../../src/capture/resolve-conflict.ts';
import { atOrigin, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, capture, captured, startTwoWay, twoWaySettings } from '../support/two-way.ts';

/** Row 1 with edits of title, body and count, and a question about the title. */
async function startAsked(theirs: Readonly<Record<string, unknown>> = {}): Promise<Fixture> {
  const fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine', "Body" = 'mine', "Count" = 99 WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs', ...theirs });
  await fixture.pull();
  expect(fixture.rows('SELECT parked FROM sync_status')).toEqual([{ parked: 1 }]);
  return fixture;
}

function questions(fixture: Fixture): unknown {
  return fixture.rows(`SELECT "column", remote FROM sync_conflicts WHERE state = 'open' ORDER BY id`);
}

function waiting(fixture: Fixture): unknown {
  return fixture.rows('SELECT pending, parked, conflicts FROM sync_status');
}

test.each([
  ['origin', 'theirs 2'],
  ['local', 'mine'],
] as const)('a row goes on once the policy %s decides what was asked before', async (conflict, title) => {
  await using fixture = await startAsked();
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs 2' });

  await fixture.pull({ settings: twoWaySettings({ conflict }) });

  expect(waiting(fixture)).toEqual([{ pending: 1, parked: 0, conflicts: 0 }]);
  await pushNow(fixture, { options: { conflict } });
  expect(atOrigin(fixture, ['Title', 'Body', 'Count'])[0]).toEqual([1, title, 'mine', 99]);
});

test('a row goes on once the origin has what was written here', async () => {
  await using fixture = await startAsked();
  fixture.sandbox.store.update('Note', 1, { Title: 'mine' });

  await fixture.pull();

  expect(waiting(fixture)).toEqual([{ pending: 1, parked: 0, conflicts: 0 }]);
  expect(await captured(fixture)).toEqual(['update 1 Body,Count']);
});

test('a question ends where the cell becomes what the origin has, and the others stay', async () => {
  await using fixture = await startAsked({ Body: 'theirs', Count: 50 });
  fixture.sandbox.store.update('Note', 1, { Title: 'mine' });
  fixture.execute(`UPDATE "Note" SET "Body" = 'theirs' WHERE _id = 1`);

  await fixture.pull();

  expect(questions(fixture)).toEqual([{ column: 'Count', remote: 50 }]);
  expect(waiting(fixture)).toEqual([{ pending: 0, parked: 1, conflicts: 1 }]);
});

test('a value that a colleague writes over one that both sides had is not taken back by an answer to the former question', async () => {
  await using fixture = await startAsked({ Count: 50 });
  fixture.execute(`UPDATE "Note" SET "Title" = 'theirs' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs 2' });

  await fixture.pull();

  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs 2' }]);
  expect(questions(fixture)).toEqual([{ column: 'Count', remote: 50 }]);
});

test('a row in doubt is asked about too, and the question outlives the doubt', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  await capture(fixture);
  // As a file whose answer got lost leaves the row, where its revisions cannot be compared.
  fixture.execute(`UPDATE _rowsync_rows SET state = 'inDoubt';
    INSERT INTO _rowsync_refusals (table_id, row_id, kind, reason, tries, since_ms)
    SELECT table_id, row_id, 'update', 'no answer', 1, 0 FROM _rowsync_rows`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

  await fixture.pull();

  expect(questions(fixture)).toEqual([{ column: 'Title', remote: 'theirs' }]);
  await carryOutDecision(fixture.replica, { kind: 'retry', ids: [] }, AT);
  expect(fixture.rows('SELECT state FROM _rowsync_rows')).toEqual([{ state: 'inDoubt' }]);
  await carryOutDecision(fixture.replica, { kind: 'retry', ids: [1] }, AT);
  await pushNow(fixture, { options: { conflict: 'ask' } });
  expect(atOrigin(fixture, ['Title'])[0]).toEqual([1, 'theirs']);
  expect(waiting(fixture)).toEqual([{ pending: 0, parked: 1, conflicts: 1 }]);
});

test('an answer to the question leaves the doubt', async () => {
  await using fixture = await startAsked();
  fixture.execute(`UPDATE _rowsync_rows SET state = 'inDoubt'`);

  await fixture.replica.write('Resolving', (tx) => resolveConflict(tx, 1, { take: 'local', value: null }, AT));

  expect(questions(fixture)).toEqual([]);
  expect(fixture.rows('SELECT state FROM _rowsync_rows')).toEqual([{ state: 'inDoubt' }]);
});
