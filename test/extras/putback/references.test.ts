/** Which columns refer to which tables: as the configuration says, else by their names and values. */
import { expect, test } from 'vitest';
import { LostRows } from '../../../src/extras/putback/lost-rows.ts';
import { referencesOf, type ReferenceRules } from '../../../src/extras/putback/references.ts';
import { openReader } from '../../../src/replica/reader.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startShop } from '../../support/putback.ts';

const NO_RULES: ReferenceRules = { find: () => null };

function rulesOf(references: Readonly<Record<string, string>>): ReferenceRules {
  return { find: (name) => (name === 'Order' ? { options: { references } } : null) };
}

/** References of the table Order, as `column > table`, with `?` behind those that were guessed. */
function found(shop: Awaited<ReturnType<typeof startShop>>, rules = NO_RULES): readonly string[] {
  using reader = openReader(shop.path);
  const lost = new LostRows(reader, { kind: 'deleted' });
  return referencesOf(lost, shop.table('Order'), rules).map(
    ({ column, toId, isConfigured }) => `${column.name} > ${lost.nameOf(toId)}${isConfigured ? '' : '?'}`,
  );
}

/** A table of customers 1 to 3, and orders with one column beside their key. */
function shopWith(name: string, values: readonly (string | null)[], column = { type: 'Text' }): readonly TableSpec[] {
  return [
    { name: 'Customer', columns: [{ name: 'Name', type: 'Text' }], rows: ['a', 'b', 'c'].map((Name) => ({ Name })) },
    { name: 'Order', columns: [{ name, ...column }], rows: values.map((value) => ({ [name]: value })) },
  ] as readonly TableSpec[];
}

test('a column is guessed by a name that says its table, if all of its values are keys there', async () => {
  const telling = ['CustomerId', 'customer id', 'Customer_Key', 'Related Customer', 'Parent Customer!', 'CUSTOMER'];
  const others = ['Client', 'Customer Name', 'My Customer', 'Customers', 'Related', 'Customer Ids'];
  const names = [...telling, ...others];
  const rows = ['1', '3', '1', null, ''].map((value) => Object.fromEntries(names.map((name) => [name, value])));
  const [customers] = shopWith('Customer', []);
  const orders = { name: 'Order', columns: names.map((name) => ({ name, type: 'Text' })), rows };
  await using shop = await startShop([customers, orders] as readonly TableSpec[]);

  expect(found(shop)).toEqual(telling.map((name) => `${name} > Customer?`));
});

test.each<[string, readonly (string | null)[]]>([
  ['one value is no key', ['1', '2', '9']],
  ['there are no values', [null, '']],
])('a name alone proves nothing where %s', async (_what, values) => {
  await using shop = await startShop(shopWith('Customer', values));

  expect(found(shop)).toEqual([]);
});

test('keys of lost rows count, and so do values of lost rows', async () => {
  await using shop = await startShop(shopWith('Customer', ['1', '2', '7']));
  await shop.lose('Customer', 2);
  const withStranger = found(shop);
  shop.store.update('Order', 3, { Customer: '3' });
  await shop.pullLater();
  const proven = found(shop);
  shop.store.update('Order', 3, { Customer: '8' });
  await shop.pullLater();
  await shop.lose('Order', 3);

  expect([withStranger, proven, found(shop)]).toEqual([[], ['Customer > Customer?'], []]);
});

test('a column of a type that holds no keys, or that cannot be written, is not guessed', async () => {
  await using dates = await startShop(shopWith('Customer', ['2026-01-01'], { type: 'Date' }));
  await using closed = await startShop(shopWith('Customer', ['1']));
  closed.store.changeColumn('Order', 'Customer', { readOnly: true });
  await closed.pullLater();

  expect([found(dates), found(closed)]).toEqual([[], []]);
});

test('a column Parent refers to its own table', async () => {
  await using shop = await startShop(shopWith('Parent', [null, '1', '2']));

  expect(found(shop)).toEqual(['Parent > Order?']);
});

test('the configuration decides about a column, in any case and also against its values', async () => {
  await using shop = await startShop(shopWith('Customer', ['1', 'no key']));

  expect(found(shop, rulesOf({ CUSTOMER: 'order' }))).toEqual(['Customer > Order']);
  expect(found(shop, rulesOf({ customer: 'Customer' }))).toEqual(['Customer > Customer']);
});

test.each([
  [{ Client: 'Customer' }, 'tables.Order.references: there is no column "Client" here'],
  [{ Customer: 'Client' }, 'tables.Order.references: there is no table "Client" here'],
])('a name that is not there is refused: %j', async (references, message) => {
  await using shop = await startShop(shopWith('Customer', ['1']));

  expect(() => found(shop, rulesOf(references))).toThrow(
    expect.objectContaining({ code: 'config.invalid', message }) as Error,
  );
});
