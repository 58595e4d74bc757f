/** Which rows a filter finds. */
import { expect, test } from 'vitest';
import { countRows, findBrowsedTable, readBrowsedTables, type Filter } from '../../../src/extras/shared/rows-page.ts';
import { must } from '../../../src/base/assert.ts';
import { placeTables } from '../../../src/pull/place-tables.ts';
import { startFixture } from '../../support/replica.ts';
import { startTwoWay } from '../../support/two-way.ts';

test('a table is listed once its columns are known', async () => {
  await using fixture = await startFixture({
    tables: [{ name: 'Note', columns: [{ name: 'A', type: 'Text' }], rows: [] }],
  });
  const answer = await fixture.origin.describeDatabase();
  await placeTables(fixture.context(), answer.kind === 'ok' ? answer.value.tables : []);
  const before = readBrowsedTables(fixture.replica);
  await fixture.pull();

  expect(before).toEqual([]);
  expect(readBrowsedTables(fixture.replica).map(({ name }) => name)).toEqual(['Note']);
});

test('a time is found by its own text and as the page writes it, also where another client wrote zeros behind it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Seen" = '2026-01-01T00:00:00.500Z' WHERE _id = 1`);
  fixture.execute(`UPDATE "Note" SET "Seen" = '2026-01-01T00:00:00.5Z' WHERE _id = 2`);
  const table = must(findBrowsedTable(fixture.replica, 'Note'), 'the table was pulled');
  const count = (op: Filter['op'], value: string): number | null => {
    const filters = [{ column: 'Seen', op, value }];
    return countRows(fixture.replica, table, { filters, search: '', sort: null, start: null });
  };

  expect(count('=', '2026-01-01T00:00:00.500Z')).toBe(2);
  expect(count('<>', '2026-01-01T00:00:00.500Z')).toBe(0);
  expect(count('=', '2026-01-01T00:00:00.5Z')).toBe(1);
});
