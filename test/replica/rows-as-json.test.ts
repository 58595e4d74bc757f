/**
 * Rows and cells that are kept as JSON follow the names of their columns.
 */
import { expect, test } from 'vitest';
import { storeDeleted } from '../../src/replica/bookkeeping/deleted-rows.ts';
import { renameInKeptRows } from '../../src/replica/rows-as-json.ts';
import { sql } from '../../src/base/sql.ts';
import { AT, startTwoWay, twoWayTable } from '../support/two-way.ts';

const SWAPPED = new Map([
  ['Title', 'Body'],
  ['Body', 'Title'],
]);

test('names that are swapped take their values along, to the last digit', async () => {
  await using fixture = await startTwoWay();
  const { id } = twoWayTable(fixture);
  const kept = '{"_id":1,"Title":"t\\"1","Body":null,"Count":9007199254740993,"Spent":0.1}';

  await fixture.replica.write('Renaming', (tx) => {
    tx.prepare(
      sql`INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, base, local, remote, winner, at, state)
          VALUES (?, 'Note', 1, 'deletedHere', ?, NULL, ?, 'origin', '', 'decided')`,
    ).run(id, kept, kept);
    renameInKeptRows(tx, id, SWAPPED);
  });

  const renamed = '{"_id":1,"Body":"t\\"1","Title":null,"Count":9007199254740993,"Spent":0.1}';
  expect(fixture.rows('SELECT base, local, remote FROM sync_conflicts')).toEqual([
    { base: renamed, local: null, remote: renamed },
  ]);
});

test('the values of cells under conflict are no rows, whatever they look like', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = '{"Title":1}' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Body: 'theirs' });
  await fixture.pull();

  await fixture.replica.write('Renaming', (tx) => renameInKeptRows(tx, twoWayTable(fixture).id, SWAPPED));

  expect(fixture.rows('SELECT local FROM sync_conflicts')).toEqual([{ local: '{"Title":1}' }]);
});

test('what the origin refused follows too', async () => {
  await using fixture = await startTwoWay();
  const { id } = twoWayTable(fixture);

  await fixture.replica.write('Renaming', (tx) => {
    tx.prepare(
      sql`INSERT INTO _rowsync_refusals (table_id, row_id, kind, column_name, reason, sent, tries, since_ms)
          VALUES (?, 1, 'update', 'Title', 'too long', '{"Title":"t","Body":"b"}', 1, 0)`,
    ).run(id);
    renameInKeptRows(tx, id, SWAPPED);
  });

  expect(fixture.rows('SELECT column_name, sent FROM _rowsync_refusals')).toEqual([
    { column_name: 'Body', sent: '{"Body":"t","Title":"b"}' },
  ]);
});

test('the last values of deleted rows follow too, those of other tables do not', async () => {
  await using fixture = await startTwoWay();
  const { id } = twoWayTable(fixture);
  const kept = '{"_id":7,"Title":"t\\"1","Body":null,"Count":9007199254740993,"Spent":0.1}';

  await fixture.replica.write('Renaming', (tx) => {
    for (const tableId of [id, id + 1])
      storeDeleted(tx, { id: tableId, localName: 'Note' }, { id: 7, values: kept }, { reason: 'purged', at: AT });
    renameInKeptRows(tx, id, SWAPPED);
  });

  expect(fixture.rows('SELECT last_values FROM sync_deleted ORDER BY id')).toEqual([
    { last_values: '{"_id":7,"Body":"t\\"1","Title":null,"Count":9007199254740993,"Spent":0.1}' },
    { last_values: kept },
  ]);
});
