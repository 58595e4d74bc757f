/** Which lost rows a person means, and what is planned for them with what the origin says now. */
import { describe, expect, test } from 'vitest';
import { LostRows } from '../../../src/extras/putback/lost-rows.ts';
import {
  chooseRows,
  knownMatch,
  makePlan,
  uniqueColumn,
  type PutbackChoice,
} from '../../../src/extras/putback/make-plan.ts';
import type { ReferenceRules } from '../../../src/extras/putback/references.ts';
import { readColumns } from '../../../src/replica/bookkeeping/columns.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { openPlace, startShop } from '../../support/putback.ts';

type Shop = Awaited<ReturnType<typeof startShop>>;

const NO_RULES: { readonly tables: ReferenceRules } = { tables: { find: () => null } };

function choiceOf(given: Partial<PutbackChoice> = {}): PutbackChoice {
  return { table: 'Customer', ids: [], with: [], from: '', until: '9999', ...given };
}

function lostIn(shop: Shop) {
  const reader = openReader(shop.path);
  return { lost: new LostRows(reader, { kind: 'deleted' }), [Symbol.dispose]: () => reader.close() };
}

/** The rows of a choice, as `table id`. */
function chosen(shop: Shop, given: Partial<PutbackChoice> = {}): readonly string[] {
  using opened = lostIn(shop);
  const { rows } = chooseRows(opened.lost, choiceOf(given), NO_RULES);
  return rows.map(({ tableId, oldId }) => `${opened.lost.nameOf(tableId)} ${oldId}`);
}

describe('rows are chosen', () => {
  test('all that were lost, by id, or by when they were lost', async () => {
    await using shop = await startShop();
    await shop.lose('Customer', 1);
    await shop.lose('Customer', 3);
    const [first, second] = ['2026-11-25T08:02:00Z', '2026-11-25T08:03:00Z'];

    expect(chosen(shop)).toEqual(['Customer 1', 'Customer 3']);
    expect(chosen(shop, { ids: [3] })).toEqual(['Customer 3']);
    expect(chosen(shop, { from: second })).toEqual(['Customer 3']);
    expect(chosen(shop, { until: first })).toEqual(['Customer 1']);
    expect(chosen(shop, { from: '2026-11-26T00:00:00Z' })).toEqual([]);
    expect(() => chosen(shop, { ids: [2, 3] })).toThrow(
      expect.objectContaining({ code: 'usage.invalid', message: 'Customer: no lost row had the _id 2' }) as Error,
    );
  });

  test('with the rows of other tables that refer to them, through any number of levels, and no others', async () => {
    const texts = (...names: readonly string[]) => names.map((name) => ({ name, type: 'Text' }));
    await using shop = await startShop([
      { name: 'Customer', columns: texts('Name'), rows: [{ Name: 'a' }, { Name: 'b' }] },
      { name: 'Order', columns: texts('Customer'), rows: [{ Customer: '1' }, { Customer: '2' }] },
      { name: 'Line', columns: texts('Order'), rows: [{ Order: '1' }, { Order: '2' }, { Order: '1' }] },
    ]);
    await shop.lose('Line', 1, 2);
    await shop.lose('Order', 1, 2);
    await shop.lose('Customer', 1);

    expect(chosen(shop, { with: ['Line', 'order'] })).toEqual(['Customer 1', 'Order 1', 'Line 1']);
    expect(chosen(shop, { with: ['Line'] })).toEqual(['Customer 1']);
    expect(() => chosen(shop, { with: ['Lines'] })).toThrow(
      expect.objectContaining({ code: 'usage.invalid' }) as Error,
    );
  });
});

test('a column by which rows are found again is unique, a text that can be written, and filled in every row', async () => {
  await using shop = await startShop();
  const columns = readColumns(shop.replica, shop.table('Customer').id);
  const nameId = shop.columnId('Customer', 'Name');
  const row = (name: string | null) => ({ tableId: 1, oldId: 1, values: new Map([[nameId, name]]), deletedAt: null });
  const without = (change: object) =>
    columns.map((column) => (column.id === nameId ? { ...column, ...change } : column));

  expect(uniqueColumn(columns, null, [row('a'), row('b')])).toBe('Name');
  expect(uniqueColumn(columns, null, [row('a'), row('')])).toBeNull();
  expect(uniqueColumn(columns, null, [row(null)])).toBeNull();
  for (const change of [
    { options: '' },
    { writable: false },
    { mask: { kind: 'hash' } },
    { type: 'Numeric' },
    { state: 'removed' },
  ])
    expect(uniqueColumn(without(change), null, [row('a')])).toBeNull();
  expect(uniqueColumn(without({ options: '' }), nameId, [row('a')])).toBe('Name');
});

describe('a plan', () => {
  async function plan(shop: Shop, given: Partial<PutbackChoice>) {
    using opened = await openPlace(shop);
    using source = lostIn(shop);
    const wanted = chooseRows(source.lost, choiceOf(given), NO_RULES);
    const made = await makePlan(opened.place, source.lost, {
      ...wanted,
      config: NO_RULES,
      folders: [],
      revisions: false,
    });
    const match = knownMatch(opened.replica, 'Customer', NO_RULES.tables);
    return { ...made, match };
  }

  test('creates what the origin lacks, leaves alone what has its id or its unique value there, and sends nothing', async () => {
    await using shop = await startShop();
    await shop.lose('Customer', 1, 2);
    const taken = shop.store.insert('Customer', { Name: 'Ada' });
    shop.sandbox.requests.clear();

    const { rows, unwritable, match } = await plan(shop, {});

    expect(rows.map(({ oldId, fate, reason }) => [oldId, fate, reason])).toEqual([
      [1, 'there', `row ${taken} at the origin has its Name`],
      [2, 'create', null],
    ]);
    expect(match).toBe('Name');
    expect(unwritable.get('Customer')).toContain('Id');
    for (const method of ['create', 'upsert', 'update', 'delete'])
      expect(shop.sandbox.requests.count({ method })).toBe(0);
  });

  test('links rows that stayed only to those that are created, and shows which references were guessed', async () => {
    await using shop = await startShop();
    await shop.lose('Customer', 1, 2);
    shop.store.insert('Customer', { Name: 'Ada' });

    const { orphans, guessed } = await plan(shop, {});

    // Orders 1 and 2 are of customer 1, who is there; order 3 is of customer 2.
    expect(orphans.map(({ oldId, fate }) => [oldId, fate])).toEqual([[3, 'create']]);
    expect(guessed.map(({ column }) => column.name)).toEqual(['Customer']);
  });

  test('says which rows that stayed cannot be linked again', async () => {
    await using shop = await startShop();
    await shop.lose('Customer', 2);
    shop.store.changeColumn('Order', 'Customer', { readOnly: true });

    expect((await plan(shop, {})).orphans).toMatchObject([
      { oldId: 3, fate: 'cannot', reason: 'Customer may not be written' },
    ]);
  });
});

test('the match column of the configuration comes before that of an earlier run', async () => {
  await using shop = await startShop();
  using opened = await openPlace(shop);

  expect(knownMatch(opened.replica, 'Customer', { find: () => ({ options: { match: 'City' } }) })).toBe('City');
  expect(knownMatch(opened.replica, 'Customer', { find: () => null })).toBeNull();
});
