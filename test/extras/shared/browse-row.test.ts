/**
 * One row as it is read for people: cells, neighbours, what waits, files, and the rows that its values lead to.
 */
import { describe, expect, test } from 'vitest';
import { must } from '../../../src/base/assert.ts';
import {
  findReference,
  readBaseRow,
  readDeletedRow,
  readFileLine,
  readFullCell,
  readHeldPush,
  readLastChange,
  readNeighbours,
  readRowCells,
  readRowConflicts,
  readRowFailures,
  readRowFiles,
  readWaitingCells,
  readWaitingIds,
} from '../../../src/extras/shared/browse-row.ts';
import {
  findBrowsedTable,
  readBrowsedTables,
  type BrowsedTable,
  type Cell,
} from '../../../src/extras/shared/rows-page.ts';
import { fileOf, startFilesFixture } from '../../support/files.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { capture, NOTE, startTwoWay } from '../../support/two-way.ts';

function tableOf({ replica }: Fixture, name = 'Note'): BrowsedTable {
  return must(findBrowsedTable(replica, name), 'it was pulled');
}

test('cells come in the order of the columns, cut where they are long, and whole one by one with every digit', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = printf('%.4001c', 'x'), "Count" = 9007199254740993 WHERE _id = 2`);
  const table = tableOf(fixture);
  const at = (name: string): number => table.columns.findIndex((column) => column.name === name);

  const cells = readRowCells(fixture.replica, table, 2) ?? [];

  expect(cells).toHaveLength(table.columns.length);
  expect(cells[at('Title')]).toEqual({ value: 'title 2', bytes: null });
  expect(cells[at('Body')]).toEqual({ value: 'x'.repeat(4_000), bytes: 4_001 });
  expect(readFullCell(fixture.replica, table, { id: 2, column: 'Body' })).toBe('x'.repeat(4_001));
  expect(readFullCell(fixture.replica, table, { id: 2, column: 'Count' })).toBe(9_007_199_254_740_993n);
  expect(readFullCell(fixture.replica, table, { id: 2, column: 'Due' })).toBe('2026-11-21');
  expect(readFullCell(fixture.replica, table, { id: 2, column: 'Starts' })).toBe(null);
  expect(readRowCells(fixture.replica, table, 99)).toBe(null);
  expect(readFullCell(fixture.replica, table, { id: 99, column: 'Body' })).toBe(undefined);
});

test('the rows beside a row are those that are here, also beside one that is not', async () => {
  await using fixture = await startTwoWay();
  fixture.execute('DELETE FROM "Note" WHERE _id IN (2, 3)');
  const beside = (id: number) => Object.values(readNeighbours(fixture.replica, tableOf(fixture), id));

  expect([1, 3, 4, 6, 99].map(beside)).toEqual([
    [null, 4],
    [1, 4],
    [1, 5],
    [5, null],
    [6, null],
  ]);
});

describe('what waits', () => {
  test('of rows is each edited cell with both values; of a mirror, nothing', async () => {
    await using fixture = await startTwoWay();
    await using mirror = await startFixture({ tables: [NOTE] });
    await mirror.pull();
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine', "Count" = NULL WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
      UPDATE "Note" SET "Title" = 'other' WHERE _id = 3`);
    await capture(fixture);

    const cells = readWaitingCells(fixture.replica, tableOf(fixture), [1, 2]);

    expect(cells.map(({ rowId, kind, column, base, local }) => [rowId, kind, column, base, local])).toEqual([
      [1, 'update', 'Title', 'title 1', 'mine'],
      [1, 'update', 'Count', 1n, null],
      [2, 'delete', null, null, null],
    ]);
    expect(readWaitingCells(fixture.replica, tableOf(fixture), [])).toEqual([]);
    expect(readWaitingCells(mirror.replica, tableOf(mirror), [1])).toEqual([]);
  });

  test('has long texts cut behind what the page shows of them', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Body" = printf('%.30000c', 'x') WHERE _id = 1`);
    await capture(fixture);

    const [cell] = readWaitingCells(fixture.replica, tableOf(fixture), [1]);

    expect(cell?.local).toBe('x'.repeat(20_001));
  });

  test('in a table is listed by ids behind one of them, new rows first, and counted', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Count" = 9 WHERE _id IN (2, 5); INSERT INTO "Note" ("Title") VALUES ('fresh')`);
    await capture(fixture);
    const table = tableOf(fixture);
    const [{ id } = { id: 0 }] = fixture.rows('SELECT min(_id) AS id FROM "Note"') as { id: number }[];

    expect(readWaitingIds(fixture.replica, table, { after: -9_999, limit: 2 })).toEqual({ ids: [id, 2], count: 3 });
    expect(readWaitingIds(fixture.replica, table, { after: 2, limit: 2 })).toEqual({ ids: [5], count: 3 });
  });

  test('does not change what the origin confirmed, which has every digit', async () => {
    await using fixture = await startTwoWay();
    fixture.sandbox.store.update('Note', 1, { Count: '9007199254740993' });
    await fixture.pull();
    fixture.execute(
      `UPDATE "Note" SET "Title" = 'mine', "Count" = 1 WHERE _id = 1; INSERT INTO "Note" ("Title") VALUES ('fresh')`,
    );

    const text = readBaseRow(fixture.replica, tableOf(fixture), 1) ?? '';

    expect(text).toContain('"Title":"title 1"');
    expect(text).toContain('9007199254740993');
    expect(readBaseRow(fixture.replica, tableOf(fixture), -1)).toBe(null);
  });

  test('is held where a guard stopped the push, and not where the pull has a problem', async () => {
    await using fixture = await startTwoWay();
    const table = tableOf(fixture);
    expect(readHeldPush(fixture.replica, table.id)).toBe(null);
    fixture.execute(`UPDATE _rowsync_tables SET push_code = 'origin.refused', push_message = 'no right'`);
    expect(readHeldPush(fixture.replica, table.id)).toBe(null);
    fixture.execute('DELETE FROM "Note" WHERE _id > 1');
    await pushNow(fixture);

    expect(readHeldPush(fixture.replica, table.id)).toContain('5 of 6');
  });
});

test('conflicts of a row come with the open ones first, and failures with what the origin said', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  const conflict = async (here: string, there: string): Promise<void> => {
    fixture.execute(`UPDATE "Note" SET "Title" = '${here}' WHERE _id = 1`);
    fixture.sandbox.store.update('Note', 1, { Title: there });
    await fixture.pull();
  };
  await conflict('one', 'there');
  fixture.execute(`UPDATE "Note" SET "Code" = 'c3' WHERE _id = 2`);
  await pushNow(fixture, { options: { conflict: 'ask' } });
  const table = tableOf(fixture);
  const open = readRowConflicts(fixture.replica, table, 1);
  fixture.execute(`UPDATE _rowsync_conflicts SET state = 'decided'`);
  await conflict('two', 'elsewhere');

  const conflicts = readRowConflicts(fixture.replica, table, 1);
  const [failure, ...more] = readRowFailures(fixture.replica, table, 2);

  expect(open.map(({ state, base, local, remote }) => [state, base, local, remote])).toEqual([
    ['open', 'title 1', 'one', 'there'],
  ]);
  expect(conflicts.map(({ state }) => state)).toEqual(['open', 'decided']);
  expect(readRowConflicts(fixture.replica, table, 2)).toEqual([]);
  expect(failure).toMatchObject({ table: 'Note', rowId: 2, kind: 'update', status: 400, sent: '{"Code":"c3"}' });
  expect(more).toEqual([]);
  expect(readRowFailures(fixture.replica, table, 1)).toEqual([]);
});

test('who changed a row last is read from the columns of the origin, and not known without them', async () => {
  const plain = { name: 'Plain', columns: [{ name: 'A', type: 'Text' }], rows: [{ A: 'x' }], systemColumns: false };
  await using fixture = await startFixture({ tables: [NOTE, plain] });
  await fixture.pull();
  const nobody = { by: null, at: null };

  expect(readLastChange(fixture.replica, tableOf(fixture), 1)).toEqual({
    by: 'Alice Martin <alice.martin@example.com>',
    at: expect.stringMatching(/Z$/) as string,
  });
  expect(readLastChange(fixture.replica, tableOf(fixture, 'Plain'), 1)).toEqual(nobody);
  expect(readLastChange(fixture.replica, tableOf(fixture), 99)).toEqual(nobody);
  expect(readLastChange(fixture.replica, undefined, 1)).toEqual(nobody);
});

test('of a row that was deleted several times, the last one counts', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.sandbox.store.delete('Note', 2, { purge: true });
  await fixture.pull();
  const table = tableOf(fixture);
  fixture.execute(`INSERT INTO _rowsync_deleted (table_id, table_name, row_id, deleted_at, reason, row_values)
    SELECT table_id, table_name, row_id, '2030-01-01T00:00:00Z', 'filtered', '{"Title":"again"}' FROM _rowsync_deleted`);

  expect(readDeletedRow(fixture.replica, table, 2)).toEqual({
    at: '2030-01-01T00:00:00Z',
    reason: 'filtered',
    lastValues: '{"Title":"again"}',
  });
  expect(readDeletedRow(fixture.replica, table, 1)).toBe(null);
});

test('files of a row are listed by column, the newest revision of each first, under the present name of the column', async () => {
  const columns = ['Photo', 'Art'].map((name) => ({ name, type: 'Attachment', options: ['AllowSeeRevisionHistory'] }));
  const rows = [{ Photo: fileOf('old.png', 'old'), Art: fileOf('art.png', 'art') }, {}];
  await using fixture = await startFilesFixture({ tables: [{ name: 'Album', columns, rows }] });
  fixture.sandbox.store.update('Album', 1, { Photo: fileOf('new.png', 'newer') });
  await fixture.pull();
  await fixture.pullFiles({ rule: { mode: 'all' } });
  fixture.sandbox.store.renameColumn('Album', 'Photo', 'Picture');
  await fixture.pull();
  const table = tableOf(fixture, 'Album');

  const files = readRowFiles(fixture.replica, table, 1);

  expect(files.map(({ column, name, state, bytes }) => [column, name, state, bytes])).toEqual([
    ['Art', 'art.png', 'here', 3],
    ['Picture', 'new.png', 'here', 5],
    ['Picture', 'old.png', 'here', 3],
  ]);
  expect(readRowFiles(fixture.replica, table, 2)).toEqual([]);
  expect(readFileLine(fixture.replica, files[2]?.id ?? 0)?.name).toBe('old.png');
  expect(readFileLine(fixture.replica, 99)).toBe(null);
});

describe('a value leads to a row', () => {
  const text = (name: string) => ({ name, type: 'Text' });
  const tables = [
    { name: 'Customer', key: 'Code', columns: [text('Code')], rows: [{ Code: 'ana' }, { Code: 'bo' }] },
    { name: 'Order', columns: [text('Customer')], rows: [{ Customer: 'bo' }] },
  ];

  type Found = (column: string, values: readonly Cell[], from?: string) => readonly unknown[] | null;

  /** Where values lead in these tables. */
  function finder(fixture: Fixture): Found {
    const all = readBrowsedTables(fixture.replica);
    return (column, values, from = 'Order') => {
      const reference = findReference(fixture.replica, all, { table: tableOf(fixture, from), column, values });
      return reference && [reference.table.name, ...reference.idByKey];
    };
  }

  test('by the name of its column, also with a word for a key behind it, where one of the values is a key', async () => {
    await using fixture = await startFixture({ tables });
    await fixture.pull();
    const found = finder(fixture);
    const leading = ['', ' Id', ' key', ' No.', ' number', ' CODE'].map((end) => `Customer${end}`);

    for (const column of [...leading, 'customer']) {
      expect([column, found(column, ['bo', 'zoe', null, 'bo'])]).toEqual([column, ['Customer', ['bo', 2]]]);
    }
    for (const column of ['Customers', 'CustomerId', 'Client'])
      expect([column, found(column, ['bo'])]).toEqual([column, null]);
    expect(found('Customer', ['zoe'])).toBe(null);
    expect(found('Customer', [null, new Uint8Array(2)])).toBe(null);
    expect(found('Order', [1n, 1, 9_007_199_254_740_993n], 'Customer')).toEqual(['Order', ['1', 1]]);
  });

  test('not from the key of its own table, nor to that table', async () => {
    await using fixture = await startFixture({ tables });
    await fixture.pull();
    const found = finder(fixture);

    expect(found('Code', ['bo'], 'Customer')).toBe(null);
    expect(found('Customer', ['bo'], 'Customer')).toBe(null);
  });

  test('not where two tables would do', async () => {
    await using fixture = await startFixture({ tables });
    await fixture.pull();
    const all = readBrowsedTables(fixture.replica);
    const twice = [...all, { ...tableOf(fixture, 'Customer'), id: 99, name: 'customers', originName: 'CUSTOMER' }];
    const input = { table: tableOf(fixture, 'Order'), column: 'Customer', values: ['bo'] };

    expect(findReference(fixture.replica, all, input)).not.toBe(null);
    expect(findReference(fixture.replica, twice, input)).toBe(null);
  });
});
