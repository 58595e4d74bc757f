/** Rows that are no longer here, with their last values, from each source. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backUp } from '../../../src/extras/backup/replica-copy.ts';
import { LostRows, type LostSource } from '../../../src/extras/putback/lost-rows.ts';
import { rowName } from '../../../src/extras/putback/lost-row-outcome.ts';
import { prune } from '../../../src/extras/schema/prune.ts';
import { readColumns } from '../../../src/replica/bookkeeping/columns.ts';
import { storeDeleted } from '../../../src/replica/bookkeeping/deleted-rows.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { AT } from '../../support/two-way.ts';
import { startShop } from '../../support/putback.ts';

type Shop = Awaited<ReturnType<typeof startShop>>;

/** What a source has of a table: the id and the values of some columns of each row. */
function found(shop: Shop, lost: LostRows, table: string, ...columns: readonly string[]) {
  return lost
    .rows(shop.table(table).id)
    .map(({ oldId, values }) => [oldId, ...columns.map((name) => values.get(shop.columnId(table, name)) ?? null)]);
}

function lostIn(shop: Shop, source: LostSource = { kind: 'deleted' }) {
  const reader = openReader(shop.path);
  return { lost: new LostRows(reader, source), [Symbol.dispose]: () => reader.close() };
}

test('the evidence of deletes has the last values, also of a column that was renamed since', async () => {
  await using shop = await startShop();
  shop.store.update('Customer', 2, { City: 'Bruges' });
  await shop.pullLater();
  await shop.lose('Customer', 2, 1);
  shop.store.renameColumn('Customer', 'City', 'Town');
  await shop.pullLater();

  using opened = lostIn(shop);

  expect(found(shop, opened.lost, 'Customer', 'Id', 'Name', 'Town')).toEqual([
    [1, '1', 'Ada', 'Ghent'],
    [2, '2', 'Bob', 'Bruges'],
  ]);
  expect(found(shop, opened.lost, 'Order', 'Id')).toEqual([]);
  expect(opened.lost.rows(shop.table('Customer').id)[0]?.deletedAt).toBe('2026-11-25T08:03:00Z');
});

test('two columns that swap their names keep the values of rows that left before', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 2);
  shop.store.renameColumn('Customer', 'City', 'Between');
  shop.store.renameColumn('Customer', 'Name', 'City');
  shop.store.renameColumn('Customer', 'Between', 'Name');
  await shop.pullLater();

  using opened = lostIn(shop);

  expect(found(shop, opened.lost, 'Customer', 'City', 'Name')).toEqual([[2, 'Bob', 'Ghent']]);
});

test('a column that was pruned gives its last values to no later column of its name', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 2);
  shop.store.dropColumn('Customer', 'City');
  await shop.pullLater();
  await shop.replica.write('Pruning', (tx) => prune(tx, AT));
  shop.store.addColumn('Customer', { name: 'City', type: 'Text' });
  await shop.pullLater();

  using opened = lostIn(shop);

  expect(found(shop, opened.lost, 'Customer', 'Name', 'City')).toEqual([[2, 'Bob', null]]);
});

test('a row that is here again is not lost; one that left twice has its last values', async () => {
  await using shop = await startShop();
  const table = shop.table('Customer');
  await shop.replica.write('Three deletes', (tx) => {
    for (const [id, Name] of [
      [9, 'first'],
      [9, 'second'],
      [3, 'is here'],
    ] as const)
      storeDeleted(tx, table, { id, values: JSON.stringify({ Name }) }, { reason: 'purged', at: AT });
  });

  using opened = lostIn(shop);

  expect(found(shop, opened.lost, 'Customer', 'Name', 'City')).toEqual([[9, 'second', null]]);
});

test('a backup and a moment have the rows of then that are not here now', async () => {
  await using shop = await startShop();
  const copy = join(shop.folder, 'copy.db');
  await backUp(shop.path, copy);
  const moment = shop.nowMs() / 1000;
  shop.store.update('Customer', 1, { Name: 'Ada II' });
  await shop.lose('Customer', 3);
  await shop.lose('Order', 4);

  using backup = openReader(copy);
  using fromBackup = lostIn(shop, { kind: 'backup', reader: backup });
  using fromMoment = lostIn(shop, { kind: 'moment', moment: moment + 1, nowMs: shop.nowMs() });

  for (const { lost } of [fromBackup, fromMoment]) {
    expect(found(shop, lost, 'Customer', 'Name')).toEqual([[3, 'Cem']]);
    expect(found(shop, lost, 'Order', 'Customer')).toEqual([[4, '3']]);
    expect(lost.rows(shop.table('Order').id)[0]?.deletedAt).toBeNull();
  }
  expect(fromBackup.lost.readers()).toEqual([backup, fromBackup.lost.main]);
  expect(fromMoment.lost.readers()).toEqual([fromMoment.lost.main]);
});

test('a moment before the history began is refused', async () => {
  await using shop = await startShop();

  using opened = lostIn(shop, { kind: 'moment', moment: Date.parse('2026-01-01') / 1000, nowMs: shop.nowMs() });

  expect(() => opened.lost.rows(shop.table('Customer').id)).toThrow(
    expect.objectContaining({ code: 'history.unknown' }) as Error,
  );
});

test('all rows, or those that are given, may be the source', async () => {
  await using shop = await startShop();
  const tableId = shop.table('Order').id;
  const given = { tableId, oldId: 77, values: new Map([[shop.columnId('Order', 'Number'), 'o77']]), deletedAt: null };

  using all = lostIn(shop, { kind: 'all' });
  using some = lostIn(shop, { kind: 'given', rows: [given], edits: new Map() });

  expect(found(shop, all.lost, 'Order', 'Number', 'Customer')).toEqual([
    [1, 'o1', '1'],
    [2, 'o2', '1'],
    [3, 'o3', '2'],
    [4, 'o4', '3'],
  ]);
  expect(some.lost.rows(tableId)).toEqual([given]);
  expect(found(shop, some.lost, 'Customer', 'Id')).toEqual([]);
});

test('keys name rows, and tell which are here', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 2);
  const { id } = shop.table('Customer');

  using opened = lostIn(shop);
  const { lost } = opened;
  const [row] = lost.rows(id);

  expect(lost.keyOf(id)?.name).toBe('Id');
  expect([lost.isLiveKey(id, '1'), lost.isLiveKey(id, '2'), lost.isLiveKey(0, '1')]).toEqual([true, false, false]);
  expect(row === undefined ? null : lost.keyName(row)).toBe(rowName(id, '2'));
  expect(lost.keyName({ tableId: id, oldId: 9, values: new Map(), deletedAt: null })).toBeNull();
  expect([lost.idOf(id, '2'), lost.idOf(id, '1')]).toEqual([2, null]);
  expect([lost.nameOf(id), lost.nameOf(4711)]).toEqual(['Customer', '4711']);
});

test('a table is found by its name here or at the origin, and one that is not there is refused with those that are', async () => {
  await using shop = await startShop();

  using opened = lostIn(shop);

  expect(opened.lost.table('customer').id).toBe(shop.table('Customer').id);
  expect(() => opened.lost.table('Invoice')).toThrow(
    expect.objectContaining({ code: 'usage.invalid', hint: 'The tables here are: Customer, Order.' }) as Error,
  );
});

test('a cell that was emptied has its last value and when, by the history; a cell that was filled again has none', async () => {
  await using shop = await startShop();
  const copy = join(shop.folder, 'copy.db');
  await backUp(shop.path, copy);
  shop.store.update('Order', 1, { Customer: null });
  shop.store.update('Order', 2, { Customer: '' });
  shop.store.update('Order', 3, { Customer: '' });
  await shop.pullLater();
  shop.store.update('Order', 3, { Customer: '3' });
  await shop.pullLater();
  const order = shop.table('Order');
  const column = readColumns(shop.replica, order.id).find(({ name }) => name === 'Customer');
  if (column === undefined) throw new Error('the column was pulled');

  using backup = openReader(copy);
  using deleted = lostIn(shop);
  using fromBackup = lostIn(shop, { kind: 'backup', reader: backup });
  using all = lostIn(shop, { kind: 'all' });

  const emptiedAt = '2026-11-25T08:02:00Z';
  expect(deleted.lost.emptied(order, column)).toEqual([
    { rowId: 1, value: '1', emptiedAt },
    { rowId: 2, value: '1', emptiedAt },
  ]);
  expect(fromBackup.lost.emptied(order, column)).toEqual([
    { rowId: 1, value: '1', emptiedAt: null },
    { rowId: 2, value: '1', emptiedAt: null },
  ]);
  expect(all.lost.emptied(order, column)).toEqual([]);
  expect(deleted.lost.liveValues(order, column)).toEqual(new Set(['3']));
});
