/** Rows go back round by round, each once, and references that had to wait are filled in. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sql } from '../../../src/base/sql.ts';
import { LostRows } from '../../../src/extras/putback/lost-rows.ts';
import { chooseRows, makePlan } from '../../../src/extras/putback/make-plan.ts';
import { carryOut, findThere } from '../../../src/extras/putback/put-rows-back.ts';
import { describeAgain } from '../../../src/extras/putback/putback-file.ts';
import { readRecords } from '../../../src/extras/putback/putback-records.ts';
import { rowName } from '../../../src/extras/putback/lost-row-outcome.ts';
import { openReader } from '../../../src/replica/reader.ts';
import type { FaultRule } from '../../../src/sandbox/server/faults.ts';
import { openPlace, startShop } from '../../support/putback.ts';

type Shop = Awaited<ReturnType<typeof startShop>>;
type Opened = Awaited<ReturnType<typeof openPlace>>;

const NO_RULES = { tables: { find: () => null } };

async function planOf(shop: Shop, { place }: Opened) {
  using reader = openReader(shop.path);
  const lost = new LostRows(reader, { kind: 'deleted' });
  const choice = { table: 'Customer', ids: [], with: ['Order'], from: '', until: '9999' };
  const chosen = chooseRows(lost, choice, NO_RULES);
  return await makePlan(place, lost, { ...chosen, config: NO_RULES, folders: [], revisions: false });
}

/** Plans all lost customers with their orders, and puts them back. */
async function putBack(shop: Shop, opened: Opened) {
  return await carryOut(opened.place, await planOf(shop, opened), { again: false });
}

/** Orders at the origin with the name of their customer. */
function ordersOf({ store }: Shop): readonly unknown[] {
  const names = new Map(store.rows('Customer').map(({ values }) => [values['Id'], values['Name']]));
  const orders = store
    .rows('Order')
    .map(({ values }) => [values['Number'], names.get(values['Customer'] ?? '') ?? null]);
  return orders.toSorted((one, other) => String(one[0]).localeCompare(String(other[0])));
}

function countWrites({ sandbox: { requests } }: Shop): number {
  return ['create', 'upsert', 'update', 'delete'].reduce((sum, method) => sum + requests.count({ method }), 0);
}

const fail = ({ sandbox }: Shop, ...faults: readonly FaultRule[]) => sandbox.faults.replace({ faults });

test('parents come before children, whose references get the new keys; a second run sends nothing', async () => {
  await using shop = await startShop();
  const before = ordersOf(shop);
  await shop.lose('Order', 1, 2);
  await shop.lose('Customer', 1);
  using opened = await openPlace(shop);

  const first = await putBack(shop, opened);
  shop.sandbox.requests.clear();
  const second = await putBack(shop, opened);

  expect(ordersOf(shop)).toEqual(before);
  expect(first.news.map(({ table, oldId, state }) => [table, oldId, state])).toEqual([
    ['Customer', 1, 'done'],
    ['Order', 1, 'done'],
    ['Order', 2, 'done'],
  ]);
  expect([second.news, second.concerned.length, countWrites(shop)]).toEqual([[], 3, 0]);
  expect(existsSync(`${opened.replica.path}.files`)).toBe(false);
});

test('rows that stayed are linked to the new key, unless a colleague linked them to another row meanwhile', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 1);
  using opened = await openPlace(shop);
  const plan = await planOf(shop, opened);
  shop.store.update('Order', 2, { Customer: '3' });

  await carryOut(opened.place, plan, { again: false });

  expect(ordersOf(shop)).toEqual([
    ['o1', 'Ada'],
    ['o2', 'Cem'],
    ['o3', 'Bob'],
    ['o4', 'Cem'],
  ]);
  // What was read for that is on no page, and the next run takes it out of the file again.
  await describeAgain(opened.place);
  expect(
    opened.replica
      .prepare(sql`SELECT problem_code, row_count FROM _rowsync_tables`)
      .raw()
      .all(),
  ).toEqual([
    [null, 0],
    [null, 0],
  ]);
});

test('a row that is made at the origin between the plan and its request is left alone', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 1);
  using opened = await openPlace(shop);
  const plan = await planOf(shop, opened);
  const id = shop.store.insert('Customer', { Name: 'Ada' });

  await carryOut(opened.place, plan, { again: false });

  expect(readRecords(opened.replica)).toMatchObject([
    { kind: 'row', oldId: 1, state: 'there', newId: id },
    { kind: 'link' },
    { kind: 'link' },
  ]);
  expect(shop.store.rows('Customer').filter(({ values }) => values['Name'] === 'Ada')).toHaveLength(1);
});

test('a lost answer creates no row twice: it is found by its unique value', async () => {
  await using shop = await startShop();
  await shop.lose('Order', 1, 2);
  await shop.lose('Customer', 1);
  fail(shop, { fault: 'resetAfter', method: 'upsert', table: 'Customer', nth: 1 });
  using opened = await openPlace(shop);

  await putBack(shop, opened);

  expect(
    shop.store
      .rows('Customer')
      .map(({ values }) => String(values['Name']))
      .toSorted(),
  ).toEqual(['Ada', 'Bob', 'Cem']);
  expect(readRecords(opened.replica).every(({ state }) => state === 'done')).toBe(true);
});

test('a refused row waits with the reason, holds up no other, and passes once the origin takes it', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 1, 3);
  using opened = await openPlace(shop);
  const plan = await planOf(shop, opened);
  shop.store.changeColumn('Customer', 'City', { width: 3 });

  const refused = await carryOut(opened.place, plan, { again: false });
  shop.store.changeColumn('Customer', 'City', { width: 30 });
  await describeAgain(opened.place);
  const done = await carryOut(opened.place, null, { again: false });

  expect(refused.concerned.filter(({ kind }) => kind === 'row').map(({ state }) => state)).toEqual([
    'refused',
    'refused',
  ]);
  expect(done.news.filter(({ kind }) => kind === 'row').map(({ state, reason }) => [state, reason])).toEqual([
    ['done', null],
    ['done', null],
  ]);
  expect(ordersOf(shop).map((order) => (order as unknown[])[1])).toEqual(['Ada', 'Ada', 'Bob', 'Cem']);
});

test('what is there is found by old ids, and by the unique value; in another database by that alone', async () => {
  await using shop = await startShop();
  await shop.lose('Customer', 1);
  const taken = shop.store.insert('Customer', { Name: 'Ada' });
  using opened = await openPlace(shop);
  await putBack(shop, opened);
  const { id: tableId } = shop.table('Customer');
  const nameId = shop.columnId('Customer', 'Name');
  const rows = [
    { tableId, oldId: 2, values: new Map([[nameId, 'Nobody']]) },
    { tableId, oldId: 8, values: new Map([[nameId, 'Ada']]) },
    { tableId, oldId: 9, values: new Map([[nameId, '']]) },
  ];

  const here = await findThere(opened.place, rows);
  const elsewhere = await findThere({ ...opened.place, isElsewhere: true }, rows);

  const ada = [rowName(tableId, 8), { newId: taken, newKey: '4', reason: `row ${taken} at the origin has its Name` }];
  expect([...here]).toEqual([[rowName(tableId, 2), { newId: 2, newKey: '2', reason: 'the origin has it again' }], ada]);
  expect([...elsewhere]).toEqual([ada]);
});
