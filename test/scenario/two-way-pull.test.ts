/**
 * Pulling a table that people edit here and colleagues edit there: every edit stands, is what the origin says, or is kept.
 */
import { describe, expect, test } from 'vitest';
import { settleRows } from '../../src/capture/settle.ts';
import { moveRows } from '../../src/capture/marks.ts';
import { readVersions } from '../../src/capture/changes.ts';
import { resync } from '../../src/pull/resync.ts';
import { verify } from '../../src/pull/verify.ts';
import { brokenPages, readOrigin, readReplica } from '../support/compare.ts';
import { atOrigin, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, changesOf, startTwoWay, twoWayTable } from '../support/two-way.ts';

/** Rows that were sent, settled under the policy of the fixtures. */
const SENT = { policy: 'local', at: AT, isSent: true, reason: 'test' } as const;

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

    const rowId = conflict === 'origin' ? 1 : -2;
    expect(note(fixture, 1)).toBe(undefined);
    expect(note(fixture, -2)).toEqual(conflict === 'origin' ? undefined : { Title: 'mine', Count: 1, Body: null });
    expect(changesOf(fixture).map((change) => change.split(' ', 2))).toEqual(
      conflict === 'origin' ? [] : [['insert', '-2']],
    );
    expect(fixture.rows(CONFLICTS)).toEqual([{ row_id: rowId, kind: 'deletedThere', column: null, winner, state }]);
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

describe('an accepted row', () => {
  /** Marks rows as sent, then lets the user edit, then settles what the origin accepted. */
  async function settle(
    fixture: Fixture,
    { rowId, newId, meanwhile }: { rowId: number; newId: number; meanwhile: string },
  ): Promise<void> {
    const table = twoWayTable(fixture);
    const [sent] = readVersions(fixture.replica, table, [rowId]);
    await fixture.replica.write('Sending', (tx) => moveRows(tx, table.id, [rowId], { event: 'sendStarted', at: AT }));
    fixture.execute(meanwhile);
    const local = sent?.local ?? null;
    const remote = local === null ? null : { ...local, id: newId, allow: 'Edit,Delete' };
    await fixture.replica.write('Settling', (tx) =>
      settleRows(tx, table, [{ rowId, base: () => local, remote }], SENT),
    );
  }

  test('is settled where it still holds what was sent', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'sent' WHERE _id = 1`);

    await settle(fixture, { rowId: 1, newId: 1, meanwhile: '' });

    expect(await captured(fixture)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
  });

  test('stays a change in the cells that were edited while it was in flight', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'sent' WHERE _id = 1`);

    await settle(fixture, {
      rowId: 1,
      newId: 1,
      meanwhile: `UPDATE "Note" SET "Title" = 'newer', "Count" = 9 WHERE _id = 1`,
    });

    expect(await captured(fixture)).toEqual(['update 1 Title,Count']);
    expect(fixture.rows('SELECT "column", base, local FROM sync_changes ORDER BY 1')).toEqual([
      { column: 'Count', base: 1, local: 9 },
      { column: 'Title', base: 'sent', local: 'newer' },
    ]);
  });

  test('takes the id that the origin gave it, with what was edited meanwhile', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('sent')`);

    await settle(fixture, { rowId: -2, newId: 77, meanwhile: `UPDATE "Note" SET "Count" = 9 WHERE _id = -2` });

    expect(await captured(fixture)).toEqual(['update 77 Count']);
  });

  test('that was deleted meanwhile is a delete of the new row', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('sent')`);

    await settle(fixture, { rowId: -2, newId: 77, meanwhile: `DELETE FROM "Note" WHERE _id = -2` });

    expect(await captured(fixture)).toEqual(['delete 77']);
  });

  test('that a pull brought in under its new id is still one row', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('sent')`);
    const table = twoWayTable(fixture);
    const [sent] = readVersions(fixture.replica, table, [-2]);
    await fixture.replica.write('Sending', (tx) => moveRows(tx, table.id, [-2], { event: 'sendStarted', at: AT }));
    const newId = fixture.sandbox.store.insert('Note', { Title: 'sent' });
    await fixture.pull();
    fixture.execute(`UPDATE "Note" SET "Body" = 'edited under the new id' WHERE _id = ${newId}`);
    const [pulled] = readVersions(fixture.replica, table, [newId]);

    await fixture.replica.write('Settling', (tx) =>
      settleRows(tx, table, [{ rowId: -2, base: () => sent?.local ?? null, remote: pulled?.base ?? null }], SENT),
    );

    expect(fixture.rows(`SELECT _id FROM "Note" WHERE "Title" = 'sent'`)).toEqual([{ _id: newId }]);
    expect(await captured(fixture)).toEqual([`update ${newId} Body`]);
  });

  test('that was deleted meanwhile, and brought in by a pull, is a delete of the new row', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('sent')`);
    const table = twoWayTable(fixture);
    const [sent] = readVersions(fixture.replica, table, [-2]);
    await fixture.replica.write('Sending', (tx) => moveRows(tx, table.id, [-2], { event: 'sendStarted', at: AT }));
    const newId = fixture.sandbox.store.insert('Note', { Title: 'sent' });
    await fixture.pull();
    fixture.execute('DELETE FROM "Note" WHERE _id = -2');
    const [pulled] = readVersions(fixture.replica, table, [newId]);
    const remote = pulled?.base ?? null;

    await fixture.replica.write('Settling', (tx) =>
      settleRows(
        tx,
        table,
        [{ rowId: -2, base: ({ local }) => (local === null ? remote : (sent?.local ?? null)), remote }],
        SENT,
      ),
    );

    expect(fixture.rows(`SELECT _id FROM "Note" WHERE "Title" = 'sent'`)).toEqual([]);
    expect(await captured(fixture)).toEqual([`delete ${newId}`]);
  });

  test('that was deleted under the id that it was sent with, and edited under the one that a pull gave it, keeps what a colleague wrote', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('sent')`);
    const table = twoWayTable(fixture);
    await fixture.replica.write('Sending', (tx) => moveRows(tx, table.id, [-2], { event: 'sendStarted', at: AT }));
    const newId = fixture.sandbox.store.insert('Note', { Title: 'sent' });
    await fixture.pull();
    fixture.execute(`DELETE FROM "Note" WHERE _id = -2; UPDATE "Note" SET "Title" = 'edited' WHERE _id = ${newId}`);
    const [pulled] = readVersions(fixture.replica, table, [newId]);
    const body = table.columns.findIndex(({ name }) => name === 'Body');
    const remote =
      pulled?.base === null || pulled === undefined
        ? null
        : { ...pulled.base, values: pulled.base.values.with(body, 'theirs') };

    await fixture.replica.write('Settling', (tx) =>
      settleRows(tx, table, [{ rowId: -2, base: () => remote, remote }], SENT),
    );

    expect(fixture.rows(`SELECT "Title", "Body" FROM "Note" WHERE _id = ${newId}`)).toEqual([
      { Title: 'edited', Body: 'theirs' },
    ]);
    expect(await captured(fixture)).toEqual([`update ${newId} Title`]);
  });

  test('is left alone by a pull until its answer is known', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'sent' WHERE _id = 1`);
    const table = twoWayTable(fixture);
    await fixture.replica.write('Sending', (tx) => moveRows(tx, table.id, [1], { event: 'sendStarted', at: AT }));
    fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
    fixture.sandbox.store.update('Note', 2, { Title: 'theirs too' });

    await fixture.pull();

    expect(note(fixture, 1)).toMatchObject({ Title: 'sent' });
    expect(note(fixture, 2)).toMatchObject({ Title: 'theirs too' });
    expect(fixture.rows(CONFLICTS)).toEqual([]);
    expect(brokenPages(fixture.path)).toEqual([]);
  });
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
  await fixture.replica.write('Sending', (tx) => moveRows(tx, table.id, [-2], { event: 'sendStarted', at: AT }));
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
