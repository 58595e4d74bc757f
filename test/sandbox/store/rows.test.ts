import { expect, test } from 'vitest';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { thing } from './thing.ts';

test('stamps rows with who and when', async () => {
  const clock = testClock();
  await using sandbox = await startTestSandbox({ tables: [thing], clock });
  const colleague = sandbox.store.catalog.users[1];
  clock.advance(60_000);

  sandbox.store.update(thing.name, 1, { N: 8 }, colleague);
  sandbox.store.update(thing.name, 1, { N: 8 });
  const id = sandbox.store.insert(thing.name, { 'Date Created': '2020-01-01T00:00:00Z' }, colleague);

  const [first, second] = sandbox.store.rows(thing.name);
  expect(first?.values).toMatchObject({
    'Created By': 'Alice Martin <alice.martin@example.com>',
    'Date Created': '2026-01-01T00:00:00Z',
    'Last Modified By': 'Jonas Weber <jonas.weber@example.com>',
    'Date Modified': '2026-01-01T00:01:00Z',
  });
  expect(second).toMatchObject({
    id,
    values: { 'Record Owner': 'Jonas Weber <jonas.weber@example.com>', 'Date Created': '2020-01-01T00:00:00Z' },
  });
});

test('creates rows of one table a second apart when asked', async () => {
  const createdFromMs = Date.UTC(2020, 0, 1);
  await using sandbox = await startTestSandbox({ tables: [{ ...thing, rows: [{}, {}, {}], createdFromMs }] });

  expect(sandbox.store.rows(thing.name).map(({ values }) => values['Date Created'])).toEqual([
    '2020-01-01T00:00:00Z',
    '2020-01-01T00:00:01Z',
    '2020-01-01T00:00:02Z',
  ]);
});

test('never gives a row id or an autonumber twice', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });
  const { store } = sandbox;

  store.delete(thing.name, store.insert(thing.name, {}));
  const next = store.insert(thing.name, {});
  store.insert(thing.name, { Id: '41' });
  store.insert(thing.name, {});

  expect(next).toBe(3);
  expect(store.rows(thing.name).map(({ values }) => values['Id'])).toEqual(['1', '3', '41', '42']);
});

test('numbers by a template', async () => {
  const format = 'PO# {0000}';
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'T', key: 'No', columns: [{ name: 'No', type: 'Autonumber', format }], rows: [{}, {}] }],
  });

  expect(sandbox.store.rows('T').map(({ values }) => values['No'])).toEqual(['PO# 0001', 'PO# 0002']);
});

test('fills in defaults where no value was given, and takes null as a value', async () => {
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'T', columns: [{ name: 'N', type: 'Numeric', defaultValue: 3 }], rows: [{}, { N: null }] }],
  });

  expect(sandbox.store.rows('T').map(({ values }) => values['N'])).toEqual([3, null]);
});
