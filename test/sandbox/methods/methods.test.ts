import { expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const people: TableSpec = {
  name: 'Person',
  columns: [
    { name: 'Name', type: 'Text' },
    { name: 'Team', type: 'Text' },
    { name: 'Age', type: 'Numeric' },
    { name: 'Team Label', type: 'Text', computed: { how: 'join', columns: ['Team'] } },
  ],
  rows: [
    { Name: 'Cid', Team: 'b', Age: 30 },
    { Name: 'ann', Team: 'a', Age: 4 },
    { Name: 'Bob', Team: 'b', Age: null },
    { Name: 'Dot', Team: 'A', Age: 200 },
  ],
};

type Json = Readonly<Record<string, unknown>>;

async function rows(sandbox: TestSandbox, path: string): Promise<readonly Json[]> {
  const answer = await call(sandbox, path);
  expect(answer).toMatchObject({ status: 200 });
  return JSON.parse(answer.text) as readonly Json[];
}

async function refusal(sandbox: TestSandbox, path: string): Promise<Json> {
  const answer = await call(sandbox, path);
  return { status: answer.status, ...(JSON.parse(answer.text) as Json) };
}

function fields(row: Json | undefined): readonly string[] {
  return Object.keys(row ?? {}).filter((field) => !field.startsWith('@row.'));
}

// Specification, sandbox: 4.4-2, 4.4-3
test.each(['', '?column=*', '?column='])('returns the columns that can be written for %j', async (query) => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const [row] = await rows(sandbox, `Person/select.json${query}`);

  expect(fields(row)).toEqual(['Id', 'Name', 'Team', 'Age', 'Record Owner']);
});

// Specification, sandbox: 4.4-1, 4.4-4
test('returns named columns in their order, and computed and system columns only when named', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const [named] = await rows(sandbox, 'Person/select.json?column=Date+Created&column=Team%20Label&column=Name');
  const [added] = await rows(sandbox, 'Person/select.json?column=Created%20By&column=*');

  expect(fields(named)).toEqual(['Date Created', 'Team Label', 'Name']);
  expect(fields(added)).toEqual(['Created By', 'Id', 'Name', 'Team', 'Age', 'Record Owner']);
});

// Specification, sandbox: 2.5-5
test('gives rows the color that a column with the option RowColor says, also to who does not see it', async () => {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Signal', type: 'Text', options: ['RowColor'] },
  ];
  const signals = ['#FF0000', null];
  const note = { name: 'Note', systemColumns: false, columns, rows: signals.map((Signal) => ({ Title: 'a', Signal })) };
  await using sandbox = await startTestSandbox({ tables: [note] });
  const hiddenColumns = [['Note', 'Signal']] as const;
  sandbox.store.setRole({ name: 'R', canWrite: true, hiddenTables: [], hiddenColumns });
  sandbox.store.changeUser({ role: 'R' });

  expect((await call(sandbox, 'Note/select.json')).text).toBe(
    '[{"@row.id":1,"@row.allow":"Edit, Delete","@row.color":"#FF0000","Id":"1","Title":"a"},' +
      '{"@row.id":2,"@row.allow":"Edit, Delete","Id":"2","Title":"a"}]',
  );
  expect((await call(sandbox, 'Note/retrieve.xml?id=1')).text).toContain(
    '<row id="1" allow="Edit Delete" color="#FF0000"><Id>1</Id><Title>a</Title></row>',
  );
});

test('finds tables and columns by alias and in any case, and answers with the real name', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });
  const { alias, columns } = sandbox.store.table('Person');
  const [, name] = columns;

  const byAlias = await rows(sandbox, `${alias}/select.json?column=${name?.alias ?? ''}`);
  const byCase = await rows(sandbox, 'pErSoN/select.json?column=nAmE&sort=NAME');

  expect(fields(byAlias[0])).toEqual(['Name']);
  expect(byCase.map((row) => row['Name'])).toEqual(['ann', 'Bob', 'Cid', 'Dot']);
});

test('returns a column once, however often it is named', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const answer = await call(sandbox, 'Person/select.json?column=Age&column=*&column=age&top=1');

  expect(answer.text.match(/"Age":/g)).toHaveLength(1);
  expect(fields((JSON.parse(answer.text) as Json[])[0])).toEqual(['Age', 'Id', 'Name', 'Team', 'Record Owner']);
});

test('tells two columns that differ only in case apart', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'T',
        columns: [
          { name: 'name', type: 'Text' },
          { name: 'Name', type: 'Text' },
        ],
        rows: [{ name: 'low', Name: 'high' }],
      },
    ],
  });

  expect(await rows(sandbox, 'T/select.json?column=Name')).toMatchObject([{ Name: 'high' }]);
  expect(await rows(sandbox, 'T/select.json?column=name&column=Name')).toMatchObject([{ name: 'low', Name: 'high' }]);
});

// Specification, sandbox: 4.4-7, 4.4-9, 4.4-10, 4.4-11
test.each([
  ['sort=Name', ['ann', 'Bob', 'Cid', 'Dot']],
  ['sort=Name//DESC', ['Dot', 'Cid', 'Bob', 'ann']],
  ['sort=Name%2F%2Fdesc', ['Dot', 'Cid', 'Bob', 'ann']],
  ['sort=Age', ['Bob', 'ann', 'Cid', 'Dot']],
  ['sort=Age//ASC', ['Bob', 'ann', 'Cid', 'Dot']],
  ['sort=Team&sort=Age//DESC', ['Dot', 'ann', 'Cid', 'Bob']],
  ['sort=Team//DESC&sort=Name', ['Bob', 'Cid', 'ann', 'Dot']],
  ['sort=Team', ['ann', 'Dot', 'Cid', 'Bob']],
  ['sort=Team%20Label&sort=Name', ['ann', 'Dot', 'Bob', 'Cid']],
  ['', ['Cid', 'ann', 'Bob', 'Dot']],
])('sorts by %j, and by id where rows are equal', async (query, names) => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  const found = await rows(sandbox, `Person/select.json?column=Name&${query}`);

  expect(found.map((row) => row['Name'])).toEqual(names);
});

test('sorts exact decimals among the numbers', async () => {
  const values = ['1234567890.1234567891', 5, 1_234_567_891, -3, 9007199254740993n, null];
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'T', columns: [{ name: 'N', type: 'Numeric' }], rows: values.map((value) => ({ N: value })) }],
  });

  const { text } = await call(sandbox, 'T/select.json?column=N&sort=N');

  expect(text.match(/"N":[^}]*/g)).toEqual(
    ['null', '-3', '5', '1234567890.1234567891', '1234567891', '9007199254740993'].map((number) => `"N":${number}`),
  );
});

test('sorts timestamps by time, down to the fraction of a second, and finds the last one', async () => {
  const times = ['2026-01-31T12:00:00.5Z', '2026-01-31T12:00:00Z', null, '2026-01-31T12:00:00.25Z'];
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'T',
        columns: [
          { name: 'At', type: 'Timestamp' },
          { name: 'All', type: 'Text', defaultValue: '1' },
        ],
        rows: times.map((At) => ({ At })),
      },
      { name: 'All', columns: [], rows: [{}] },
    ],
  });
  const computed = { how: 'max', table: 'T', reference: 'All', column: 'At' } as const;
  sandbox.store.addColumn('All', { name: 'Last', type: 'Timestamp', computed });

  const ids = async (query: string) => (await rows(sandbox, `T/select.json?${query}`)).map((row) => row['@row.id']);

  expect(await ids('sort=At')).toEqual([3, 2, 4, 1]);
  expect(await ids('sort=At//DESC')).toEqual([1, 4, 2, 3]);
  expect(sandbox.store.rows('All')[0]?.values['Last']).toBe('2026-01-31T12:00:00.5Z');
});

// Specification, sandbox: 4.4-14
test('pages through a table without losing or repeating a row', async () => {
  const many = Array.from({ length: 1203 }, (_, index) => ({ Name: `n${index % 7}` }));
  await using sandbox = await startTestSandbox({ tables: [{ ...people, rows: many }] });

  const pages = await Promise.all(
    [0, 500, 1000, 1500].map((skip) => rows(sandbox, `Person/select.json?column=Name&sort=Name&skip=${skip}`)),
  );

  expect(pages.map((page) => page.length)).toEqual([500, 500, 203, 0]);
  expect(new Set(pages.flat().map((row) => row['@row.id'])).size).toBe(1203);
});

test.each([
  ['top=1', 1],
  ['top=500', 4],
  ['top=2&skip=3', 1],
  ['skip=0', 4],
  ['skip=4', 0],
  ['skip=999999999', 0],
  ['top=&skip=', 4],
])('takes %j', async (query, count) => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  expect(await rows(sandbox, `Person/select.json?${query}`)).toHaveLength(count);
});

// Specification, sandbox: 4.4-12
test.each([
  ['top=0', 'top'],
  ['top=501', 'top'],
  ['top=-1', 'top'],
  ['top=1.5', 'top'],
  ['top=1e2', 'top'],
  ['top=x', 'top'],
  ['top=99999999999999999999', 'top'],
  ['skip=-1', 'skip'],
  ['skip=x', 'skip'],
])('refuses %j with 400 and the name of the parameter', async (query, source) => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  expect(await refusal(sandbox, `Person/select.json?${query}`)).toMatchObject({ status: 400, error: 400, source });
});

test.each(['column=Nope', 'sort=Nope', 'sort=Nope//DESC', 'column=Name//SUM', 'column=Name&column=Nope'])(
  'refuses %j, a column that does not exist, with 400 and code 3100',
  async (query) => {
    await using sandbox = await startTestSandbox({ tables: [people] });

    expect(await refusal(sandbox, `Person/select.json?${query}`)).toMatchObject({
      status: 400,
      code: 3100,
      source: query.includes('SUM') ? 'Name//SUM' : 'Nope',
    });
  },
);

test('ignores parameters that it does not know, and empty ones', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  expect(await rows(sandbox, 'Person/select.json?desc=true&var[X]=1&filter=&workflow=1&&=&x')).toHaveLength(4);
});

test.each([
  ['as the vendor clients write it', 'A%252FB%2520c%253F/select.json'],
  ['as naive clients write it', 'A%2FB%2520c%3F/select.json'],
])('finds a table with a slash in its name %s', async (_what, path) => {
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'A/B%20c?', columns: [{ name: 'X', type: 'Text' }], rows: [{ X: '1' }] }],
  });

  expect(await rows(sandbox, path)).toHaveLength(1);
});

test('prefers the name as decoded once to the one decoded twice', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      { name: 'A/B', columns: [], rows: [] },
      { name: 'A%2FB', columns: [], rows: [{}] },
    ],
  });

  expect(await rows(sandbox, 'A%252FB/select.json')).toHaveLength(1);
});

// Specification, sandbox: 4.5-1, 4.5-2, 4.5-3
test('retrieves by id and by key, each row once', async () => {
  await using sandbox = await startTestSandbox({
    tables: [{ ...people, key: 'Name' }],
  });

  const byId = await rows(sandbox, 'Person/retrieve.json?column=Name&id=3&id=1&id=3&id=99');
  const byKey = await rows(sandbox, 'Person/retrieve.json?column=Age&key=Dot&key=ann&key=nobody');

  expect(new Set(byId.map((row) => row['@row.id']))).toEqual(new Set([1, 3]));
  expect(byId).toHaveLength(2);
  expect(new Set(byKey.map((row) => row['Age']))).toEqual(new Set([4, 200]));
});

// Specification, sandbox: 4.5-5
test('retrieves exactly 500, and no more', async () => {
  await using sandbox = await startTestSandbox({
    tables: [{ ...people, rows: Array.from({ length: 500 }, () => ({ Name: 'x' })) }],
  });
  const ids = (count: number): string => Array.from({ length: count }, (_, index) => `id=${index + 1}`).join('&');

  expect(await rows(sandbox, `Person/retrieve.json?${ids(500)}`)).toHaveLength(500);
  expect(await refusal(sandbox, `Person/retrieve.json?${ids(501)}`)).toMatchObject({ status: 400, source: 'id' });
});

// Specification, sandbox: 2.1-7, 4.5-4
test.each([
  ['id=1&key=1', 'id'],
  ['', 'key'],
  ['id=', 'key'],
  ['id=x', 'id'],
  ['id=-1', 'id'],
  ['id=1.5', 'id'],
])('refuses to retrieve %j', async (query, source) => {
  await using sandbox = await startTestSandbox({ tables: [people] });

  expect(await refusal(sandbox, `Person/retrieve.json?${query}`)).toMatchObject({ status: 400, error: 400, source });
});

test('shows a role only what it may see, and what it may do', async () => {
  await using sandbox = await startTestSandbox({ tables: [people, { name: 'Secret', columns: [] }] });
  sandbox.store.setRole({
    name: 'Reader',
    canWrite: false,
    hiddenTables: ['Secret'],
    hiddenColumns: [['Person', 'Age']],
  });
  sandbox.store.changeUser({ role: 'Reader' });

  const database = JSON.parse((await call(sandbox, 'describe.json')).text) as { tables: { recordName: string }[] };
  const table = JSON.parse((await call(sandbox, 'Person/describe.json')).text) as {
    allowAdd: boolean;
    columns: { name: string; readOnly: boolean }[];
  };
  const [row] = await rows(sandbox, 'Person/select.json');

  expect(database.tables.map(({ recordName }) => recordName)).toEqual(['Person']);
  expect(table.allowAdd).toBe(false);
  expect(table.columns.map(({ name }) => name)).not.toContain('Age');
  expect(table.columns.every(({ readOnly }) => readOnly)).toBe(true);
  expect(row).toMatchObject({ '@row.allow': '' });
  expect(fields(row)).toEqual(['Id', 'Name', 'Team', 'Record Owner']);
  expect(await refusal(sandbox, 'Secret/select.json')).toMatchObject({ status: 403, code: 3000 });
  expect(await refusal(sandbox, 'Person/select.json?column=Age')).toMatchObject({ status: 403, code: 3101 });
  expect(await refusal(sandbox, 'Person/select.json?sort=Age')).toMatchObject({ status: 403, code: 3101 });
});

test('computes lookups, counts, sums and maxima from rows of the moment', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      { name: 'Order', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'one' }, { Title: 'two' }] },
      {
        name: 'Line',
        columns: [
          { name: 'Order', type: 'Text' },
          { name: 'Amount', type: 'Numeric' },
          {
            name: 'Order Title',
            type: 'Text',
            computed: { how: 'lookup', reference: 'Order', table: 'Order', column: 'Title' },
          },
        ],
        rows: [{ Order: '1', Amount: 2 }, { Order: '1', Amount: 3 }, { Order: '9' }],
      },
    ],
  });
  const summary = { table: 'Line', reference: 'Order' } as const;
  sandbox.store.addColumn('Order', { name: 'Lines', type: 'Numeric', computed: { how: 'count', ...summary } });
  sandbox.store.addColumn('Order', {
    name: 'Sum',
    type: 'Numeric',
    computed: { how: 'sum', ...summary, column: 'Amount' },
  });
  sandbox.store.addColumn('Order', {
    name: 'Most',
    type: 'Numeric',
    computed: { how: 'max', ...summary, column: 'Amount' },
  });

  sandbox.store.update('Order', 1, { Title: 'uno' });

  const lines = await rows(sandbox, 'Line/select.json?column=Order%20Title');
  expect(lines.map((row) => row['Order Title'])).toEqual(['uno', 'uno', null]);
  expect(await rows(sandbox, 'Order/select.json?column=Lines&column=Sum&column=Most')).toMatchObject([
    { Lines: 2, Sum: 5, Most: 3 },
    { Lines: 0, Sum: 0, Most: null },
  ]);
});
