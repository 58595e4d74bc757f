/**
 * Which stamps move with which change: one that moves too rarely makes an answer stale, one that moves too often costs
 * a page.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import type { Table } from '../../../src/sandbox/store/catalog.ts';
import { Versions } from '../../../src/sandbox/store/versions.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

const TABLES: readonly TableSpec[] = [
  { name: 'Customer', columns: [{ name: 'Name', type: 'Text' }] },
  {
    name: 'Order',
    columns: [
      { name: 'Customer', type: 'Text' },
      {
        name: 'Customer Name',
        type: 'Text',
        computed: { how: 'lookup', reference: 'Customer', table: 'Customer', column: 'Name' },
      },
    ],
  },
];

async function readTables(): Promise<{ readonly customer: Table; readonly order: Table }> {
  await using sandbox = await startTestSandbox({ tables: TABLES });
  return { customer: sandbox.store.table('Customer'), order: sandbox.store.table('Order') };
}

test('a row moves its table and itself, no other row and no other table', async () => {
  const { customer, order } = await readTables();
  const versions = new Versions();
  const read = (): readonly string[] => [
    versions.ofTables([customer.id]),
    versions.ofRows(customer, [1]),
    versions.ofRows(customer, [2]),
    versions.ofTables([order.id]),
  ];
  const before = read();

  versions.touchRow(customer.id, 1, [7]);

  expect(read().map((version, index) => version === before[index])).toEqual([false, false, true, true]);
});

test('rows show what they look up: a change of the other table moves them', async () => {
  const { customer, order } = await readTables();
  const versions = new Versions();
  const before = versions.ofRows(order, [1]);

  versions.touchRow(customer.id, 5, null, true);

  expect(versions.ofRows(order, [1])).not.toBe(before);
});

test('the order of rows is part of what they show', async () => {
  const { customer } = await readTables();
  const versions = new Versions();

  expect(versions.ofRows(customer, [1, 2])).not.toBe(versions.ofRows(customer, [2, 1]));
});

test('only computed columns depend on tables behind them', async () => {
  const { customer, order } = await readTables();
  const versions = new Versions();
  const plain = order.columns.filter(({ computed }) => computed === null);
  const before = [versions.ofComputed(order, plain), versions.ofComputed(order, order.columns)];

  versions.touchRow(customer.id, 1, [7]);

  expect(versions.ofComputed(order, plain)).toBe(before[0]);
  expect(versions.ofComputed(order, order.columns)).not.toBe(before[1]);
});

test('a change of the schema moves every version', async () => {
  const { customer } = await readTables();
  const versions = new Versions();
  const before = [versions.ofTables([]), versions.ofRows(customer, [1])];

  versions.touchSchema();

  expect([versions.ofTables([]), versions.ofRows(customer, [1])]).not.toEqual(before);
  expect(versions.ofTables([])).not.toBe(before[0]);
});

test('changes are listed from a position on, and null where they are too many to be kept', () => {
  const versions = new Versions();
  versions.touchRow(1, 10, [3]);
  const position = versions.position(1);
  versions.touchRow(1, 11, null);
  versions.touchRow(2, 12, null);

  expect(versions.changesSince(1, position)).toEqual([{ id: 11, columnIds: null }]);
  expect(versions.changesSince(1, versions.position(1))).toEqual([]);

  for (let id = 0; id < 1_000; id += 1) versions.touchRow(1, id, null);

  expect(versions.changesSince(1, position)).toBeNull();
  expect(versions.position(1)).toBe(1_002);
});

test('who follows rows hears the number of the table', () => {
  const versions = new Versions();
  const heard: number[] = [];
  versions.onRow = (tableId) => heard.push(tableId);

  versions.touchRow(4, 1, null, true);
  versions.touchSchema();
  versions.touchRow(5, 1, [2]);

  expect(heard).toEqual([4, 5]);
});
