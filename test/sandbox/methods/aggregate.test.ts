/**
 * Select with aggregation, as origin facts 1.2 describes it.
 */
import { describe, expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const order: TableSpec = {
  name: 'Order',
  columns: [
    { name: 'City', type: 'Text' },
    { name: 'Paid', type: 'Checkbox' },
    { name: 'Amount', type: 'Numeric' },
    { name: 'Due', type: 'Date' },
    { name: 'At', type: 'Timestamp' },
    { name: 'Opens', type: 'Time' },
    { name: 'Took', type: 'Duration' },
  ],
  rows: [
    {
      City: 'Oslo East',
      Paid: true,
      Amount: '0.1',
      Due: '2026-01-31',
      At: '2026-01-01T00:30:59Z',
      Opens: '08:15:30',
      Took: 3700,
    },
    { City: 'oslo west', Paid: false, Amount: '0.2', Due: '2026-02-01', At: '2025-12-31T23:10:00Z', Took: 60 },
    { City: 'Bergen', Paid: true, Amount: 1500, Due: '2026-02-08' },
    { City: null, Paid: true },
  ],
};

async function select(sandbox: TestSandbox, ...pairs: readonly (readonly [string, string])[]): Promise<unknown> {
  const query = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const { text, status } = await call(sandbox, `Order/select.json?${query}`);
  return status === 200 ? (JSON.parse(text) as unknown) : { status, ...(JSON.parse(text) as object) };
}

/** One column after the other. */
function columns(...names: readonly string[]): readonly (readonly [string, string])[] {
  return names.map((name) => ['column', name] as const);
}

test('counts rows in one question', async () => {
  await using sandbox = await startTestSandbox({ tables: [order] });

  expect(await select(sandbox, ...columns('Id//COUNT'), ['top', '1'])).toEqual([
    { 'Id//COUNT': 4 },
    { '@row.type': 'Grand', 'Id//COUNT': 4 },
  ]);
  expect(await select(sandbox, ...columns('Id//COUNT'), ['filter', '[Amount] > 1'])).toMatchObject([
    { 'Id//COUNT': 1 },
    {},
  ]);
  expect(await select(sandbox, ...columns('Id//COUNT'), ['filter', '[Amount] > 5000'])).toEqual([
    { 'Id//COUNT': 0 },
    { '@row.type': 'Grand', 'Id//COUNT': 0 },
  ]);
});

test('groups, with what is not there first, and everything last', async () => {
  await using sandbox = await startTestSandbox({ tables: [order] });

  expect(
    await select(sandbox, ...columns('Paid//EQ', 'Amount//SUM', 'Amount//AVG', 'City//MAX', 'Amount//COUNT')),
  ).toEqual([
    { Paid: false, 'Amount//SUM': 0.2, 'Amount//AVG': 0.2, 'City//MAX': 'oslo west', 'Amount//COUNT': 1 },
    { Paid: true, 'Amount//SUM': 1500.1, 'Amount//AVG': 750.05, 'City//MAX': 'Oslo East', 'Amount//COUNT': 2 },
    {
      '@row.type': 'Grand',
      Paid: null,
      'Amount//SUM': 1500.3,
      'Amount//AVG': 500.1,
      'City//MAX': 'oslo west',
      'Amount//COUNT': 3,
    },
  ]);
});

describe('groups of a type', () => {
  test.each<[string, readonly unknown[]]>([
    ['City//EQ', [null, 'Bergen', 'Oslo East', 'oslo west']],
    ['City//FW', [null, 'Bergen', 'Oslo']],
    ['City//FL', [null, 'B', 'O']],
    ['Amount//1', [null, 0, 1500]],
    ['Amount//.1', [null, 0.1, 0.2, 1500]],
    ['Amount//1K', [null, 0, 1000]],
    ['Due//MM', [null, '2026-01-01', '2026-02-01']],
    ['Due//QQ', [null, '2026-01-01']],
    ['Due//WK', [null, '2026-01-25', '2026-02-01', '2026-02-08']],
    ['Due//DM', [null, 1, 8, 31]],
    ['Due//MY', [null, 1, 2]],
    ['Took//HH', [null, 0, 3600]],
    ['Took//MI', [null, 60, 3660]],
    ['Opens//HH', [null, '08:00:00']],
    ['Opens//MI', [null, '08:15:00']],
  ])('%s', async (name, values) => {
    await using sandbox = await startTestSandbox({ tables: [order] });

    const found = (await select(sandbox, ...columns(name, 'Id//COUNT'))) as readonly Record<string, unknown>[];

    const [column = ''] = name.split('//');
    const dayOf = (value: unknown): unknown =>
      String(value).endsWith('T00:00:00+00:00')
        ? String(value).slice(0, 10)
        : String(value).startsWith('0001-01-01T')
          ? String(value).slice(11, 19)
          : value;
    expect(found.slice(0, -1).map((row) => dayOf(row[column]))).toEqual(values);
    expect(found.at(-1)).toMatchObject({ '@row.type': 'Grand', [column]: null, 'Id//COUNT': 4 });
  });

  test('of a Timestamp is that of the calling user’s day', async () => {
    await using sandbox = await startTestSandbox({ tables: [order] });

    const days = (await select(sandbox, ...columns('At//YY', 'Id//COUNT'))) as readonly Record<string, unknown>[];
    const hours = (await select(sandbox, ...columns('At//HH', 'Id//COUNT'))) as readonly Record<string, unknown>[];

    expect(days.map((row) => row['At'])).toEqual([null, '2026-01-01T00:00:00+00:00', null]);
    expect(hours.map((row) => row['At'])).toEqual([
      null,
      '2026-01-01T00:00:00+01:00',
      '2026-01-01T01:00:00+01:00',
      null,
    ]);
  });
});

test('measures spread as of a sample, or of all', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      { name: 'Order', columns: [{ name: 'N', type: 'Numeric' }], rows: [2, 4, 4, 4, 5, 5, 7, 9].map((N) => ({ N })) },
    ],
  });

  expect(await select(sandbox, ...columns('N//VARP', 'N//STDEVP', 'N//VAR', 'N//MIN'))).toMatchObject([
    { 'N//VARP': 4, 'N//STDEVP': 2, 'N//VAR': expect.closeTo(32 / 7, 9) as number, 'N//MIN': 2 },
    {},
  ]);
});

test('pages and sorts groups', async () => {
  await using sandbox = await startTestSandbox({ tables: [order] });

  const found = await select(
    sandbox,
    ...columns('City//FL', 'Id//COUNT'),
    ['sort', 'City//DESC'],
    ['top', '1'],
    ['skip', '1'],
  );

  expect(found).toEqual([
    { City: 'B', 'Id//COUNT': 1 },
    { '@row.type': 'Grand', City: null, 'Id//COUNT': 4 },
  ]);
});

test.each([
  ['a column without a group', columns('City', 'Id//COUNT'), 'City'],
  ['a suffix that the type does not have', columns('City//SUM'), 'City//SUM'],
  ['a suffix that nothing has', columns('City//NOPE'), 'City//NOPE'],
  ['a suffix in lower case', columns('City//count'), 'City//count'],
  ['a sort by an aggregate', [...columns('City//EQ', 'Id//COUNT'), ['sort', 'Amount'] as const], 'sort'],
  ['a column that does not exist', columns('Nope//COUNT'), 'Nope'],
])('refuses %s', async (_what, pairs, source) => {
  await using sandbox = await startTestSandbox({ tables: [order] });

  expect(await select(sandbox, ...pairs)).toMatchObject({ status: 400, source });
});

test('says the same in XML', async () => {
  await using sandbox = await startTestSandbox({ tables: [order] });

  const { text } = await call(sandbox, 'Order/select.xml?column=Paid%2F%2FEQ&column=Id%2F%2FCOUNT');

  expect(text).toContain('<row><Paid>false</Paid><Id_x002f__x002f_COUNT>1.000000</Id_x002f__x002f_COUNT></row>');
  expect(text).toContain('<row type="Grand"><Paid i:nil="true"/>');
});
