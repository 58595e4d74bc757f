/** Rows that stayed at the origin, and refer or referred to a lost row. */
import { expect, test } from 'vitest';
import { LostRows } from '../../../src/extras/putback/lost-rows.ts';
import { findOrphans } from '../../../src/extras/putback/orphans.ts';
import { referencesOf } from '../../../src/extras/putback/references.ts';
import { openReader } from '../../../src/replica/reader.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startShop } from '../../support/putback.ts';

const DAY_MS = 86_400_000;
const RULES = {
  find: (name: string) =>
    name === 'Order' ? { options: { references: { Customer: 'Customer', Payer: 'Customer' } } } : null,
};

/** Orders refer to customers in two columns. */
function shopOf(key: Partial<TableSpec> = {}): readonly TableSpec[] {
  const code = { name: 'Code', type: 'Text', options: ['Unique'] } as const;
  return [
    { name: 'Customer', columns: [code], rows: ['1', '2', '3'].map((Code) => ({ Code })), ...key },
    {
      name: 'Order',
      columns: [
        { name: 'Customer', type: 'Text' },
        { name: 'Payer', type: 'Text' },
      ],
      rows: [
        { Customer: '1', Payer: '2' },
        { Customer: '2', Payer: '2' },
        { Customer: '3', Payer: null },
      ],
    },
  ];
}

/** Orphans of all lost customers, as `row: column oldKey`, and why. */
function found(shop: Awaited<ReturnType<typeof startShop>>) {
  using reader = openReader(shop.path);
  const lost = new LostRows(reader, { kind: 'deleted' });
  const references = lost.tables.flatMap((table) => referencesOf(lost, table, RULES));
  const names = new Map(
    [shop.columnId('Order', 'Customer'), shop.columnId('Order', 'Payer')].map((id, at) => [id, at]),
  );
  return findOrphans(lost, lost.rows(shop.table('Customer').id), references).map(({ oldId, links, reason, fate }) => {
    const cells = links.map(({ columnId, oldKey, oldId: to, later }) =>
      [names.get(columnId) === 0 ? 'Customer' : 'Payer', oldKey, to, later].join(' '),
    );
    return { oldId, cells, reason, fate };
  });
}

test('rows whose cells still hold the number of a lost row are linked again, each once with all of its cells', async () => {
  await using shop = await startShop(shopOf());
  await shop.lose('Customer', 1, 2);

  expect(found(shop)).toEqual([
    { oldId: 1, cells: ['Customer 1 1 true', 'Payer 2 2 true'], reason: null, fate: 'create' },
    { oldId: 2, cells: ['Customer 2 2 true', 'Payer 2 2 true'], reason: null, fate: 'create' },
  ]);
});

test('a text key comes back as it was, so only a cell that was emptied is linked again', async () => {
  await using shop = await startShop(shopOf({ key: 'Code' }));
  shop.store.update('Order', 2, { Customer: '' });
  await shop.pullLater();
  await shop.lose('Customer', 2);

  expect(found(shop)).toEqual([
    {
      oldId: 2,
      cells: ['Customer 2 2 true'],
      reason: 'Customer was 2, and was emptied 2026-11-25T08:02:00Z',
      fate: 'create',
    },
  ]);
});

test.each([
  [6 * DAY_MS, [2]],
  [8 * DAY_MS, []],
])('a cell that was emptied %i ms before the row left is an orphan of rows %j', async (beforeMs, rows) => {
  await using shop = await startShop(shopOf({ key: 'Code' }));
  shop.store.update('Order', 2, { Customer: null });
  await shop.pullLater();
  await shop.pullLater(beforeMs);
  await shop.lose('Customer', 2);

  expect(found(shop).map(({ oldId }) => oldId)).toEqual(rows);
});

test('rows that refer to customers who are here, or that left themselves, are no orphans', async () => {
  await using shop = await startShop(shopOf());
  await shop.lose('Customer', 1);
  await shop.lose('Order', 1);

  expect(found(shop)).toEqual([]);
});
