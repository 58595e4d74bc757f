/**
 * Pulling a table that people edit here and colleagues edit there: every edit stands, is what the origin says, or is
 * kept.
 */
import { describe, expect, test } from 'vitest';
import { applyEvent } from '../../src/capture/writer/apply-outcome.ts';
import { resync } from '../../src/cli/commands/resync.ts';
import { verify } from '../../src/extras/verify/verify.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, changesOf, startTwoWay, twoWayTable } from '../support/two-way.ts';

function note(fixture: Fixture, id: number): unknown {
  return fixture.rows('SELECT "Title", "Count", "Body" FROM "Note" WHERE _id = ?', id)[0];
}

const CONFLICTS = `SELECT row_id, kind, "column", winner, state FROM sync_conflicts ORDER BY id`;

test('edits of different cells of one row both stand', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Count: 50 });

  await fixture.pull();

  expect(note(fixture, 1)).toEqual({ Title: 'mine', Count: 50, Body: null });
  expect(changesOf(fixture)).toEqual(['update 1 Title']);
  expect(fixture.rows(CONFLICTS)).toEqual([]);
});

test('an edit that a colleague made as well is settled', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'same' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2`);
  fixture.sandbox.store.update('Note', 1, { Title: 'same' });
  fixture.sandbox.store.delete('Note', 2);

  await fixture.pull();

  expect(await captured(fixture)).toEqual([]);
  expect(fixture.rows(CONFLICTS)).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

describe.each([
  { conflict: 'origin', title: 'theirs', changes: [], winner: 'origin', state: 'decided' },
  { conflict: 'local', title: 'mine', changes: ['update 1 Title'], winner: 'local', state: 'decided' },
  { conflict: 'ask', title: 'mine', changes: ['update 1 Title'], winner: 'nobody', state: 'open' },
] as const)('with conflict: $conflict', ({ conflict, title, changes, winner, state }) => {
  test('a cell edited on both sides keeps the loser', async () => {
    await using fixture = await startTwoWay({ editing: { conflict } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

    await fixture.pull();
    await fixture.pull();

    expect(note(fixture, 1)).toMatchObject({ Title: title });
    expect(changesOf(fixture)).toEqual(changes);
    expect(fixture.rows(`SELECT row_id, "column", base, local, remote, winner, state FROM sync_conflicts`)).toEqual([
      { row_id: 1, column: 'Title', base: 'title 1', local: 'mine', remote: 'theirs', winner, state },
    ]);
  });

  test('a row deleted here and edited there keeps the loser', async () => {
    await using fixture = await startTwoWay({ editing: { conflict } });
    fixture.execute(`DELETE FROM "Note" WHERE _id = 1`);
    fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

    await fixture.pull();

    expect(note(fixture, 1)).toEqual(conflict === 'origin' ? { Title: 'theirs', Count: 1, Body: null } : undefined);
    expect(changesOf(fixture)).toEqual(conflict === 'origin' ? [] : ['delete 1']);
    expect(fixture.rows(CONFLICTS)).toEqual([{ row_id: 1, kind: 'deletedHere', column: null, winner, state }]);
  });

  test('a row edited here and deleted there keeps the loser', async () => {
    await using fixture = await startTwoWay({ editing: { conflict } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
    fixture.sandbox.store.delete('Note', 1);

    await fixture.pull();

    expect([note(fixture, 1), note(fixture, -2)]).toEqual([undefined, undefined]);
    expect(changesOf(fixture)).toEqual([]);
    expect(fixture.rows(CONFLICTS)).toEqual([
      { row_id: 1, kind: 'deletedThere', column: null, winner: 'origin', state: 'decided' },
    ]);
    expect(fixture.rows(`SELECT local ->> 'Title' AS title FROM sync_conflicts`)).toEqual([{ title: 'mine' }]);
    expect(fixture.rows('SELECT row_id FROM sync_deleted')).toEqual([{ row_id: 1 }]);
  });
});

test('a question stays one question while the origin moves on, and ends when both sides agree', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs again' });
  await fixture.pull();

  expect(fixture.rows('SELECT remote, state FROM sync_conflicts')).toEqual([{ remote: 'theirs again', state: 'open' }]);
  expect(fixture.rows('SELECT pending, parked, conflicts FROM sync_status')).toEqual([
    { pending: 0, parked: 1, conflicts: 1 },
  ]);

  fixture.sandbox.store.update('Note', 1, { Title: 'mine' });
  await fixture.pull();

  expect(fixture.rows('SELECT state FROM sync_conflicts')).toEqual([{ state: 'settled' }]);
  expect(fixture.rows('SELECT pending, parked, conflicts FROM sync_status')).toEqual([
    { pending: 0, parked: 0, conflicts: 0 },
  ]);
});

test('a row inserted here is no row that the origin lost', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('new')`);
  fixture.sandbox.store.delete('Note', 6);

  await fixture.pull();

  expect(changesOf(fixture)).toEqual(['insert -2 Title']);
  expect(fixture.rows('SELECT row_id FROM sync_deleted')).toEqual([{ row_id: 6 }]);
  expect(fixture.rows('SELECT rows FROM sync_status')).toEqual([{ rows: 5 }]);
});

test('an edit whose mark is missing is not overwritten', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'local' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DELETE FROM _rowsync_rows`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

  await fixture.pull();

  expect(note(fixture, 1)).toMatchObject({ Title: 'mine' });
  expect(fixture.rows('SELECT remote FROM sync_conflicts')).toEqual([{ remote: 'theirs' }]);
});

test('resync and verify leave edits alone', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; INSERT INTO "Note" ("Title") VALUES ('new');
                   DELETE FROM "Note" WHERE _id = 3`);

  await resync(fixture.replica, []);
  await fixture.pull();
  const { tables } = await verify(fixture.context(), { tables: [] });

  expect(await captured(fixture)).toEqual(['insert -2 Title', 'update 1 Title', 'delete 3']);
  expect(tables).toMatchObject([{ mismatchCount: 0, error: null, comparedCount: 6 }]);
});

test('edits wait while the right that they were made with is missing', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2`);
  fixture.sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Reader' });

  const held = await fixture.pull();
  const waiting = changesOf(fixture);
  fixture.sandbox.store.changeUser({ role: 'Administrator' });
  const back = await fixture.pull();

  expect(held.tables).toMatchObject([{ held: { code: 'guard.pending' } }]);
  expect(held.tables[0]?.held?.message).toContain('Note: 1 edited row cannot be pushed: ');
  expect(waiting).toEqual(['update 1 Title', 'delete 2']);
  expect(back.tables).toMatchObject([{ held: null, error: null }]);
  expect(changesOf(fixture)).toEqual(['update 1 Title', 'delete 2']);
});

test('edits without the right to make them are put aside when asked to', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Reader' });

  const report = await fixture.pull({ discard: true });

  expect(report.tables).toMatchObject([{ held: null, error: null }]);
  expect(changesOf(fixture)).toEqual([]);
  expect(fixture.rows('SELECT local, winner FROM sync_conflicts')).toEqual([{ local: 'mine', winner: 'origin' }]);
});

test('a new row waits with its values while the right to write them is missing', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Code", "Title") VALUES ('new', 'mine')`);
  const role = { name: 'Administrator', hiddenTables: [], hiddenColumns: [] };
  fixture.sandbox.store.setRole({ ...role, canWrite: false });

  const held = await fixture.pull();
  fixture.sandbox.store.setRole({ ...role, canWrite: true });
  await pushNow(fixture);

  expect(held.tables).toMatchObject([{ held: { code: 'guard.pending' } }]);
  expect(atOrigin(fixture, ['Code', 'Title']).at(-1)).toEqual([7, 'new', 'mine']);
});

test('a new row without the right to make it is put aside when asked to', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Code", "Title") VALUES ('new', 'mine')`);
  fixture.sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Reader' });

  const report = await fixture.pull({ discard: true });

  expect(report.tables).toMatchObject([{ held: null, error: null }]);
  expect(changesOf(fixture)).toEqual([]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(fixture.rows(`SELECT kind, local ->> 'Title' AS title, winner FROM sync_conflicts`)).toEqual([
    { kind: 'inserted', title: 'mine', winner: 'origin' },
  ]);
});

test('a new row that was sent already does not wait for the right to make it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Code", "Title") VALUES ('new', 'mine')`);
  const table = twoWayTable(fixture);
  await fixture.replica.write('Sending', (tx) => applyEvent(tx, table.id, [-2], { event: 'sendStarted', at: AT }));
  fixture.sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Reader' });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ held: null, error: null }]);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id < 0')).toEqual([{ Title: 'mine' }]);
});

test('a caller who may only read pulls on, with a match column too', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.sandbox.store.setRole({ name: 'Reader', canWrite: false, hiddenTables: [], hiddenColumns: [] });
  fixture.sandbox.store.changeUser({ role: 'Reader' });
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });

  const report = await fixture.pull();

  expect(report.tables.map(({ error }) => error)).toEqual([null]);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs' }]);
  expect(() => fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`)).toThrow(
    /does not let you write it/,
  );
});
