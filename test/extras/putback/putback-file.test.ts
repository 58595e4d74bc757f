/** The small replica in which rows are put back: its tables, and how it is opened. */
import { describe, expect, test } from 'vitest';
import {
  describeAgain,
  describeTables,
  keyColumnOf,
  makePlace,
  matchColumnOf,
  requiredColumnsOf,
  stagedTable,
} from '../../../src/extras/putback/putback-file.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
import { openPlace, startShop } from '../../support/putback.ts';

describe('workflow rules', () => {
  test.each([
    ['ManageData', null, 'suppress'],
    ['', null, 'run'],
    ['ManageData', 'run', 'run'],
    ['', 'suppress', 'suppress'],
  ] as const)('of a user with the right "%s" who asks for %s: %s', async (admin, asked, expected) => {
    await using shop = await startShop();
    const context = shop.context();
    const { value, ...answer } = await context.origin.user({});
    const origin = {
      ...context.origin,
      user: () => Promise.resolve({ ...answer, value: { ...value, admin: [admin] } }),
    };
    using opened = await openPlace(shop);

    const place = await makePlace(
      { pull: { ...opened.place.pull, origin }, push: opened.place.push },
      { workflow: asked, isElsewhere: false },
    );

    expect(place.workflow).toBe(expected);
    expect(place.push.settings.tableOptions('Customer')).toEqual({ conflict: 'origin', workflow: expected });
  });
});

test('tables are described as they are at the origin now, with the match column that is given, and stay empty', async () => {
  await using shop = await startShop();
  using opened = await openPlace(shop);
  const { place, replica } = opened;

  await describeTables(place, [{ name: 'Customer', match: 'Name' }]);
  const { id } = shop.table('Customer');
  shop.store.addColumn('Customer', { name: 'Zip', type: 'Text', options: ['Required'] });
  shop.store.addColumn('Customer', { name: 'Vat', type: 'Text' });
  await describeTables(place, [{ name: 'Customer', match: 'Name' }]);

  expect(readTables(replica).map(({ name }) => name)).toEqual(['Customer']);
  expect(matchColumnOf(replica, 'Customer')).toBe('Name');
  expect(matchColumnOf(replica, 'Order')).toBeNull();
  const columns = stagedTable(place, id).columns.map(({ localName }) => localName);
  expect(columns).toEqual(expect.arrayContaining(['Name', 'City', 'Zip', 'Vat']));
  expect(
    replica
      .prepare('SELECT count(*) FROM Customer' as Parameters<typeof replica.prepare>[0])
      .pluck()
      .get(),
  ).toBe(0);
  expect(keyColumnOf(place, id)).toBe(shop.columnId('Customer', 'Id'));
  await shop.pullLater();
  const required = requiredColumnsOf(place, id);
  expect(['Zip', 'Vat', 'Name'].map((name) => required.has(shop.columnId('Customer', name)))).toEqual([
    true,
    false,
    false,
  ]);
});

test('a table that the file does not have cannot be prepared', async () => {
  await using shop = await startShop();
  using opened = await openPlace(shop);
  const { id } = shop.table('Order');

  expect(() => stagedTable(opened.place, id)).toThrow(expect.objectContaining({ code: 'replica.schema' }) as Error);
  expect(keyColumnOf(opened.place, id)).toBeNull();
  expect(requiredColumnsOf(opened.place, id)).toEqual(new Set());
});

test('what keeps a table from being described is thrown', async () => {
  await using shop = await startShop();
  using opened = await openPlace(shop);
  const { alias } = shop.store.table('Customer');
  const body = '{"error":403,"code":4000,"message":"no rights"}';
  for (let turn = 1; turn < 5; turn += 1) shop.sandbox.answerInstead(turn, { status: 403, body }, { table: alias });

  await expect(describeTables(opened.place, [{ name: 'Customer', match: null }])).rejects.toMatchObject({
    message: expect.stringContaining('no rights') as string,
  });
});

test('there is nothing to resume in a file in which nothing was begun', async () => {
  await using shop = await startShop();
  using opened = await openPlace(shop);

  await expect(describeAgain(opened.place)).rejects.toMatchObject({
    code: 'usage.invalid',
    message: 'Nothing was begun',
  });
});
