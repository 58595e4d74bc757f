/**
 * The view of what waits, where there are more two-way tables than SQLite takes terms in one SELECT, and where another client takes it away.
 */
import { expect, test } from 'vitest';
import { readTwoWayTables } from '../../src/capture/table.ts';
import { changesView } from '../../src/capture/view.ts';
import { startTwoWay } from '../support/two-way.ts';

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
