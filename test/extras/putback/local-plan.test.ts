/** How the page shows what would come back with a deleted row: from the replica alone. */
import { expect, test } from 'vitest';
import { planLocally } from '../../../src/extras/putback/local-plan.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { startShop } from '../../support/putback.ts';

type Shop = Awaited<ReturnType<typeof startShop>>;

function planned(shop: Shop, id: number, references: Readonly<Record<string, Record<string, string>>> = {}) {
  using reader = openReader(shop.path);
  return planLocally(reader, { table: 'Customer', id }, { references, filesFolder: shop.folder });
}

test('shows the row with all lost rows that refer to it, and those that stayed, without a request', async () => {
  await using shop = await startShop();
  await shop.lose('Order', 1);
  await shop.lose('Customer', 1, 2);
  shop.sandbox.requests.clear();

  const { text, along } = planned(shop, 1);

  expect(text).toMatch(/^would be created, parents first:\n {2}Customer 1\n {4}Order 1\n/);
  expect(text).toContain('would be linked again to a new key: 1 row that stayed at the origin\n');
  expect(text).toContain('guessed: Order."Customer" refers to Customer');
  expect(text).not.toContain('Customer 2');
  expect(text).not.toContain('--confirm');
  expect(along).toEqual(['Order']);
  expect(shop.sandbox.requests.all).toEqual([]);
});

test('the configuration says what refers to what, by the names of tables at the origin', async () => {
  await using shop = await startShop();
  await shop.lose('Order', 1);
  await shop.lose('Customer', 1);

  const { text, along } = planned(shop, 1, { Order: { Number: 'Customer', Customer: 'Order' } });

  expect([text.includes('guessed'), along]).toEqual([false, []]);
});

test('a row that was not lost is refused', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 1);

  expect(() => planned(shop, 2)).toThrow(expect.objectContaining({ code: 'usage.invalid' }) as Error);
});
