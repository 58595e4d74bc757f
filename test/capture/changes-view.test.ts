/**
 * The view of what waits, where there are more two-way tables than SQLite takes terms in one SELECT, and where another
 * client takes it away.
 */
import { expect, test } from 'vitest';
import { readTwoWayTables } from '../../src/capture/two-way-table.ts';
import { changesView } from '../../src/capture/changes-view.ts';
import { capture, startTwoWay } from '../support/two-way.ts';

test.each([1, 801])('the changes of %d tables are shown together', async (count) => {
  await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }] }] });
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('mine')`);
  const [table] = readTwoWayTables(fixture.replica);
  const tables = Array.from({ length: count }, () => table).filter((each) => each !== undefined);

  fixture.execute(`DROP VIEW sync_changes; ${changesView(tables)}`);

  expect(fixture.rows(`SELECT "table", "column", local, count(*) AS n FROM sync_changes GROUP BY 1, 2, 3`)).toEqual([
    { table: 'Note', column: null, local: null, n: count },
    { table: 'Note', column: 'Title', local: 'mine', n: count },
  ]);
});

test.each([0, 31, 32, 33, 65])('each of %d columns has its own value', async (count) => {
  const names = Array.from({ length: count }, (_, index) => `C${index}`);
  const columns = names.map((name) => ({ name, type: 'Text' }));
  await using fixture = await startTwoWay({ tables: [{ name: 'Note', systemColumns: false, columns, rows: [{}] }] });
  const edits = names.map((name) => `${name} = 'value of ${name}'`);
  const [table] = readTwoWayTables(fixture.replica);
  const shown = (table?.columns ?? []).filter(({ localName }) => localName !== 'Id');

  fixture.execute(`UPDATE "Note" SET ${edits.join(', ') || 'Id = Id'} WHERE _id = 1;
    DROP VIEW sync_changes; ${changesView(table === undefined ? [] : [{ ...table, columns: shown }])}`);

  expect(fixture.rows(`SELECT "column", base, local FROM sync_changes`)).toEqual(
    names.map((column) => ({ column, base: null, local: `value of ${column}` })),
  );
});
test.each(['', 'CREATE VIEW sync_changes AS SELECT 1 AS mine'])(
  'the view is back after a pull once another client dropped it (%s)',
  async (instead) => {
    await using fixture = await startTwoWay();
    const view = (): unknown[] => fixture.rows(`SELECT sql FROM sqlite_schema WHERE name = 'sync_changes'`);
    const before = view();
    fixture.execute(`DROP VIEW sync_changes; ${instead}`);

    await fixture.pull();

    expect(view()).toEqual(before);
  },
);

test('the public view shows every pending cell without a capture', async () => {
  await using fixture = await startTwoWay();

  fixture.execute(
    `UPDATE "Note" SET "Title" = 'x', "Count" = 9 WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
     INSERT INTO "Note" ("Title") VALUES ('new'); UPDATE "Note" SET "Title" = "Title" WHERE _id = 3`,
  );

  expect(
    fixture.rows(
      `SELECT "table", row_id, kind, "column", base, local, state FROM sync_changes ORDER BY row_id, "column"`,
    ),
  ).toEqual([
    { table: 'Note', row_id: -2, kind: 'insert', column: null, base: null, local: null, state: 'edited' },
    { table: 'Note', row_id: -2, kind: 'insert', column: 'Title', base: null, local: 'new', state: 'edited' },
    { table: 'Note', row_id: 1, kind: 'update', column: 'Count', base: 1, local: 9, state: 'edited' },
    { table: 'Note', row_id: 1, kind: 'update', column: 'Title', base: 'title 1', local: 'x', state: 'edited' },
    { table: 'Note', row_id: 2, kind: 'delete', column: null, base: null, local: null, state: 'edited' },
  ]);
  await capture(fixture);
  expect(fixture.rows(`SELECT mode, rows, pending, parked, conflicts FROM sync_status`)).toEqual([
    { mode: 'two-way', rows: 6, pending: 3, parked: 0, conflicts: 0 },
  ]);
});
