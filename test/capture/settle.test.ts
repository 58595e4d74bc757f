/**
 * Settling a row that was created while a pull brought it in as well, under the id that the origin gave it: one row in two places.
 */
import { expect, test } from 'vitest';
import { storeRemoteRows } from '../../src/capture/merge.ts';
import { settleRows } from '../../src/capture/settle.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, rowOf, startTwoWay, twoWayTable } from '../support/two-way.ts';

/** Row -2, sent, as a pull brought it in as row 7; then what a person does; then the row is settled. */
async function settleAfter(fixture: Fixture, statements: string): Promise<void> {
  fixture.execute(`INSERT INTO "Note" ("Title", "Body") VALUES ('new', 'sent')`);
  const table = twoWayTable(fixture);
  const remote = rowOf(table, 7, { Title: 'new', Body: 'sent' });
  const options = { policy: 'origin', at: AT } as const;
  await fixture.replica.write('Storing the row', (tx) => storeRemoteRows(tx, table, [remote], options));
  fixture.execute(statements);
  const sent = table.columns.flatMap(({ localName }, column) => {
    const value = remote.values[column] ?? null;
    return localName === 'Title' || localName === 'Body' ? [{ column, value }] : [];
  });
  await fixture.replica.write('Settling the row', (tx) =>
    settleRows(tx, table, [{ rowId: -2, base: () => remote, remote, sent }], { ...options, isSent: false, reason: '' }),
  );
}

function rows(fixture: Fixture): unknown {
  return fixture.rows('SELECT _id, "Title", "Body" FROM "Note" WHERE _id < 0 OR _id > 6');
}

test.each([
  ['an edit under its first id', `UPDATE "Note" SET "Body" = 'late' WHERE _id = -2`, 'late', ['update 7 Body']],
  ['an edit under its new id', `UPDATE "Note" SET "Body" = 'late' WHERE _id = 7`, 'late', ['update 7 Body']],
  [
    'an edit under its first id, and a delete under the new one',
    `UPDATE "Note" SET "Body" = 'late' WHERE _id = -2; DELETE FROM "Note" WHERE _id = 7`,
    'late',
    ['update 7 Body'],
  ],
  [
    'an edit under its new id, and a delete under the first one',
    `UPDATE "Note" SET "Body" = 'late' WHERE _id = 7; DELETE FROM "Note" WHERE _id = -2`,
    'late',
    ['update 7 Body'],
  ],
  ['nothing', 'SELECT 1', 'sent', []],
])('the row has %s', async (_what, statements, body, changes) => {
  await using fixture = await startTwoWay();

  await settleAfter(fixture, statements);

  expect(rows(fixture)).toEqual([{ _id: 7, Title: 'new', Body: body }]);
  expect(await captured(fixture)).toEqual(changes);
});

test('a row that the origin made again under another id is asked for under the first one', async () => {
  await using fixture = await startTwoWay();
  const table = twoWayTable(fixture);

  await fixture.replica.write('Settling the row', (tx) => {
    const remote = rowOf(table, 7, { Title: 'again' });
    const options = { policy: 'origin', at: AT, isSent: false, reason: '' } as const;
    settleRows(tx, table, [{ rowId: 1, base: () => remote, remote }], options);
  });

  expect(fixture.rows('SELECT row_id FROM _rowsync_suspects ORDER BY row_id')).toEqual([{ row_id: 1 }, { row_id: 7 }]);
});

test.each([
  ['its first id', 'DELETE FROM "Note" WHERE _id = -2'],
  ['its new id', 'DELETE FROM "Note" WHERE _id = 7'],
])('a delete under %s is a delete of the row', async (_what, statement) => {
  await using fixture = await startTwoWay();

  await settleAfter(fixture, statement);

  expect(rows(fixture)).toEqual([]);
  expect(await captured(fixture)).toEqual(['delete 7']);
});
