/** The one function that writes what was decided of rows: every table that a change may touch. */
import { expect, test } from 'vitest';
import { must } from '../../../src/base/assert.ts';
import { ident, sql } from '../../../src/base/sql.ts';
import { applyOutcome, readRowFacts } from '../../../src/capture/writer/apply-outcome.ts';
import { decideDiscarded, decideRemote, type RowOutcome } from '../../../src/reconcile/row-outcome.ts';
import { readAsSent } from '../../../src/replica/base-comparison.ts';
import { baseName } from '../../../src/replica/user-tables.ts';
import type { Value } from '../../../src/wire/schema.ts';
import type { Fixture } from '../../support/replica.ts';
import { AT, capture, rowOf, startTwoWay, twoWayTable } from '../../support/two-way.ts';

const NOW = Date.parse(AT);

/** Carries out what `decide` says of rows. */
async function applied(
  fixture: Fixture,
  ids: readonly number[],
  decide: (id: number) => Partial<RowOutcome>,
): Promise<void> {
  await fixture.replica.write('Applying', (tx) => {
    const table = twoWayTable(fixture);
    const outcomes = readRowFacts(tx, table, ids).map((facts) => ({
      ...same(facts.id),
      state: facts.state,
      ...decide(facts.id),
    }));
    applyOutcome(tx, table, { outcomes, nowMs: NOW });
  });
}

function same(id: number): RowOutcome {
  const nothing = { conflicts: [], closed: [], refusal: null, evidence: null, isOffPage: false } as const;
  return { id, newId: id, base: 'same', local: 'same', state: 'clean', ...nothing };
}

test('a row keeps columns of other programs, kept columns and bytes that are no text when it gets its id', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(
    `ALTER TABLE "Note" ADD COLUMN mine TEXT; INSERT INTO "Note" ("Title", mine) VALUES (CAST(x'C3' AS TEXT), 'own')`,
  );
  await capture(fixture);

  await applied(fixture, [-2], () => ({
    newId: 9,
    base: rowOf(twoWayTable(fixture), 9, { Title: 'x' }),
    state: 'edited',
  }));

  expect(fixture.rows('SELECT _id, hex("Title") AS title, mine FROM "Note" WHERE _id NOT BETWEEN 1 AND 6')).toEqual([
    { _id: 9, title: 'C3', mine: 'own' },
  ]);
  expect(fixture.rows('SELECT row_id, state FROM _rowsync_rows')).toEqual([{ row_id: 9, state: 'edited' }]);
  expect(fixture.rows('SELECT rows FROM sync_status')).toEqual([{ rows: 7 }]);
});

test('only cells that differ are written', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = CAST(x'C3' AS TEXT) WHERE _id = 1`);
  await capture(fixture);

  await fixture.replica.write('Applying', (tx) => {
    const table = twoWayTable(fixture);
    const facts = must(readRowFacts(tx, table, [1])[0], 'a row');
    const local = must(facts.local, 'it is here');
    const values = local.values.with(
      table.columns.findIndex(({ localName }) => localName === 'Title'),
      'other',
    );
    applyOutcome(tx, table, {
      outcomes: [{ ...same(1), state: facts.state, local: { ...local, values } }],
      nowMs: NOW,
    });
  });

  expect(fixture.rows('SELECT "Title", hex("Body") AS body FROM "Note" WHERE _id = 1')).toEqual([
    { Title: 'other', body: 'C3' },
  ]);
});

test('a base is whole, of known and of new rows', async () => {
  await using fixture = await startTwoWay();

  await fixture.replica.write('Applying', (tx) => {
    const table = twoWayTable(fixture);
    const remotes = [1, 2, 9].map((id) => rowOf(table, id, { Title: `theirs ${id}`, Body: 'there', Count: 4 }));
    const outcomes = remotes.map((base): RowOutcome => ({ ...same(base.id), base, local: 'base' }));
    applyOutcome(tx, table, { outcomes, nowMs: NOW });
  });

  expect(fixture.rows('SELECT _id, "Title", "Body", "Count" FROM "Note" WHERE _id IN (1, 2, 9)')).toEqual(
    [1, 2, 9].map((id) => ({ _id: id, Title: `theirs ${id}`, Body: 'there', Count: 4 })),
  );
  expect(fixture.rows('SELECT rows FROM sync_status')).toEqual([{ rows: 7 }]);
});

test('a row is as it was sent if it holds the sent cells and is like its base otherwise, which another program may have deleted', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id < 6; UPDATE "Note" SET "Count" = 30 WHERE _id IN (3, 6);
    UPDATE "Note" SET "Due" = NULL WHERE _id = 4`);

  const found = await fixture.replica.write('Reading', (tx) => {
    const table = twoWayTable(fixture);
    tx.prepare(sql`DELETE FROM ${ident(baseName(table.id))} WHERE _id = 2`).run();
    const cell = (name: string, value: Value) => ({ column: table.columns.findIndex((it) => it.name === name), value });
    const [body, count] = [cell('Body', 'mine'), cell('Count', 30)];
    const sent = [[body], [body], [body], [body], [body, count], [count]];
    return readAsSent(
      tx,
      table,
      sent.map((cells, index) => ({ id: index + 1, cells })),
    );
  });

  expect([...found.ids]).toEqual([1, 6]);
});

test('nothing is written while a trigger of another program would drop a part of it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 1`);
  await capture(fixture);
  fixture.execute(`CREATE TRIGGER own BEFORE UPDATE OF "Title" ON "Note" BEGIN SELECT RAISE(IGNORE); END`);

  const writing = applied(fixture, [1], () => {
    const remote = rowOf(twoWayTable(fixture), 1, { Title: 'theirs' });
    return { base: remote, local: remote, state: 'edited' };
  });

  await expect(writing).rejects.toMatchObject({ code: 'replica.failed' });
  expect(fixture.rows('SELECT "Title", "Body" FROM "Note" WHERE _id = 1')).toEqual([
    { Title: 'title 1', Body: 'mine' },
  ]);
  expect(fixture.rows(`SELECT DISTINCT "column" FROM sync_changes`)).toEqual([{ column: 'Body' }]);
});

test('a row that leaves leaves all tables, and its last values stay in sync_deleted', async () => {
  await using fixture = await startTwoWay();

  await applied(fixture, [2], () => ({ base: null, local: null, evidence: 'gone' }));

  expect(fixture.rows('SELECT _id FROM "Note" WHERE _id = 2')).toEqual([]);
  expect(fixture.rows(`SELECT row_id, reason, row_values ->> 'Title' AS title FROM _rowsync_deleted`)).toEqual([
    { row_id: 2, reason: 'gone', title: 'title 2' },
  ]);
  expect(fixture.rows('SELECT rows FROM sync_status')).toEqual([{ rows: 5 }]);
});

test('what was decided of a row is the same when it is decided again', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Count" = 9 WHERE _id = 2`);
  await capture(fixture);
  const table = twoWayTable(fixture);
  const theirs = [rowOf(table, 1, { Title: 'theirs' }), rowOf(table, 2, { Title: 'theirs', Count: 2 })];
  const rules = { columns: table.columns, policy: 'ask', isSent: false, reason: '' } as const;
  const merge = (): Promise<unknown> =>
    fixture.replica.write('Merging', (tx) => {
      const outcomes = readRowFacts(tx, table, [1, 2]).map((facts, index) =>
        decideRemote(facts, theirs[index] ?? null, rules),
      );
      return applyOutcome(tx, table, { outcomes, nowMs: NOW });
    });
  const tables = (): unknown =>
    ['"Note"', '_rowsync_rows', '_rowsync_conflicts'].map((name) =>
      fixture.rows(`SELECT * FROM ${name} ORDER BY 1, 2`),
    );

  expect(await merge()).toEqual({ insertedCount: 0, updatedCount: 2 });
  const once = tables();
  expect(await merge()).toEqual({ insertedCount: 0, updatedCount: 0 });

  expect(tables()).toEqual(once);
  expect(fixture.rows('SELECT row_id, state FROM _rowsync_rows ORDER BY 1')).toEqual([
    { row_id: 1, state: 'conflicted' },
    { row_id: 2, state: 'edited' },
  ]);
});

test('a row that was deleted here comes back from its base', async () => {
  await using fixture = await startTwoWay();
  fixture.execute('DELETE FROM "Note" WHERE _id = 3');
  await capture(fixture);

  await fixture.replica.write('Discarding', (tx) => {
    const table = twoWayTable(fixture);
    const outcomes = readRowFacts(tx, table, [3]).map((facts) => decideDiscarded(facts, { columns: [], sent: null }));
    applyOutcome(tx, table, { outcomes, nowMs: NOW });
  });

  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 3')).toEqual([{ Title: 'title 3' }]);
  expect(fixture.rows('SELECT kind, state FROM sync_conflicts')).toEqual([{ kind: 'deletedHere', state: 'discarded' }]);
});

test('two outcomes for one row are a defect', async () => {
  await using fixture = await startTwoWay();

  const twice = fixture.replica.write('Applying', (tx) =>
    applyOutcome(tx, twoWayTable(fixture), { outcomes: [same(1), same(1)], nowMs: NOW }),
  );

  await expect(twice).rejects.toThrow('a row has one outcome');
});
