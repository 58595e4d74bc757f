import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

/** Reads the store as any other SQLite client would. */
function look(sandbox: TestSandbox, query: string): readonly unknown[] {
  const client = new Database(sandbox.store.path, { readonly: true });
  try {
    return client.prepare(query).safeIntegers().all();
  } finally {
    client.close();
  }
}

const thing: TableSpec = {
  name: 'Big "Thing"',
  columns: [
    { name: 'A b', type: 'Text' },
    { name: 'N', type: 'Numeric' },
    { name: 'C', type: 'Checkbox' },
    { name: 'T', type: 'Timestamp' },
  ],
  rows: [{ 'A b': 'x', N: 7, C: true, T: '2026-01-01T00:00:00Z' }],
};

test('keeps every table under its own name with its columns', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  expect(look(sandbox, 'SELECT _sandbox_row, "Id", "A b", "N", "C", "T" FROM "Big ""Thing"""')).toEqual([
    { _sandbox_row: 1n, Id: '1', 'A b': 'x', N: 7n, C: 1n, T: '2026-01-01T00:00:00Z' },
  ]);
});

test.each([
  ['integers as INTEGER', 7, 'integer'],
  ['integers of 64 bits as INTEGER', 9223372036854775807n, 'integer'],
  ['longer integers as TEXT', 9223372036854775808n, 'text'],
  ['what a double holds as REAL', 0.1, 'real'],
  ['19 digits as TEXT', '1.234567890123456789', 'text'],
  ['a decimal text that a double holds as REAL', '2.50', 'real'],
])('keeps %s', async (_what, value, type) => {
  await using sandbox = await startTestSandbox({ tables: [{ ...thing, rows: [{ N: value }] }] });

  expect(look(sandbox, 'SELECT typeof("N") AS type FROM "Big ""Thing"""')).toEqual([{ type }]);
  expect(String(sandbox.store.rows(thing.name)[0]?.values['N'])).toBe(String(value).replace(/0$/, ''));
});

test.each(['sqlite_x', '_sandbox_tables', '_SANDBOX_x', ' ', 'a]b', 'a\nb', 'SELECT', 'émoji 🪑', "o'clock", 'rowid'])(
  'serves a table and a column named %j',
  async (name) => {
    await using sandbox = await startTestSandbox({
      tables: [{ name, columns: [{ name, type: 'Text' }], rows: [{ [name]: 'x' }] }],
    });

    const { text } = await call(sandbox, `${sandbox.store.table(name).alias}/select.json`);

    expect(JSON.parse(text)).toMatchObject([{ [name]: 'x' }]);
  },
);

test('keeps names that SQLite cannot tell apart under their aliases', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'Note',
        columns: [
          { name: 'a', type: 'Text' },
          { name: 'A', type: 'Text' },
        ],
        rows: [{ a: '1', A: '2' }],
      },
      { name: 'NOTE', columns: [], rows: [{}, {}] },
    ],
  });
  const upper = sandbox.store.table('NOTE');
  const column = sandbox.store.table('Note').columns.find(({ name }) => name === 'A');

  expect(look(sandbox, `SELECT "a", "${column?.alias ?? ''}" AS other FROM "Note"`)).toEqual([{ a: '1', other: '2' }]);
  expect(look(sandbox, `SELECT count(*) AS count FROM "${upper.alias}"`)).toEqual([{ count: 2n }]);
});

test('gives added names a number where a table has them already', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'T',
        columns: [
          { name: 'id', type: 'Text' },
          { name: 'Date Created', type: 'Text' },
        ],
      },
    ],
  });

  const { columns, key } = sandbox.store.table('T');

  expect(key.name).toBe('Id (2)');
  expect(columns.map(({ name, kind }) => `${name}: ${kind}`)).toEqual([
    'Id (2): Key',
    'id: Updatable',
    'Date Created: Updatable',
    'Record Owner: RecordOwner',
    'Created By: CreatedBy',
    'Date Created (2): DateCreated',
    'Last Modified By: LastModifiedBy',
    'Date Modified: DateModified',
  ]);
});

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

test('goes on counting when the schema changes in the middle of a transaction', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  sandbox.store.change(() => {
    sandbox.store.insert(thing.name, {});
    sandbox.store.addColumn(thing.name, { name: 'New', type: 'Text' });
    sandbox.store.insert(thing.name, { New: 'x' });
  });

  expect(sandbox.store.rows(thing.name).map(({ values }) => values['Id'])).toEqual(['1', '2', '3']);
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

test('keeps deleted rows in the bin unless they are purged', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ ...thing, rows: [{ N: 9007199254740993n }, {}] }] });

  expect(sandbox.store.delete(thing.name, 1)).toBe(true);
  expect(sandbox.store.delete(thing.name, 2, { purge: true })).toBe(true);
  expect(sandbox.store.delete(thing.name, 1)).toBe(false);

  const bin = look(sandbox, 'SELECT row_id, deleted_by, cells FROM _sandbox_deleted') as { cells: string }[];
  expect(bin).toMatchObject([{ row_id: 1n, deleted_by: 'Alice Martin <alice.martin@example.com>' }]);
  expect(bin[0]?.cells).toContain('"9007199254740993"');
});

test('keeps the bytes of files, one revision after another', async () => {
  const file = (text: string): { name: string; mediaType: string; bytes: Buffer } => ({
    name: 'a;b.txt',
    mediaType: 'text/plain',
    bytes: Buffer.from(text),
  });
  await using sandbox = await startTestSandbox({
    tables: [{ name: 'T', columns: [{ name: 'F', type: 'Attachment' }], rows: [{ F: file('one') }] }],
  });

  sandbox.store.update('T', 1, { F: file('two') });

  expect(sandbox.store.rows('T')[0]?.values['F']).toMatch(/^a;b\.txt;2;[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(look(sandbox, 'SELECT revision, CAST(bytes AS TEXT) AS text FROM _sandbox_files ORDER BY revision')).toEqual([
    { revision: 1n, text: 'one' },
    { revision: 2n, text: 'two' },
  ]);
});

test('undoes several changes as one when a later one fails', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });
  const before = await call(sandbox, `${sandbox.store.table(thing.name).alias}/select.json`);

  expect(() => {
    sandbox.store.change(() => {
      sandbox.store.insert(thing.name, {});
      sandbox.store.addColumn(thing.name, { name: 'New', type: 'Text' });
      sandbox.store.insert(thing.name, { Nope: 1 });
    });
  }).toThrow(/has a column "Nope"/);

  const after = await call(sandbox, `${sandbox.store.table(thing.name).alias}/select.json`);
  expect(after.text).toBe(before.text);
  expect(sandbox.store.insert(thing.name, {})).toBe(2);
});

test.each([
  ['a text in a checkbox', { C: 'yes' }],
  ['a text that is no decimal', { N: 'x' }],
  ['a number that is not finite', { N: Number.NaN }],
  ['a column that does not exist', { Nope: 1 }],
  ['the name of a column in another case', { n: 1 }],
])('refuses %s', async (_what, cells) => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  expect(() => sandbox.store.insert(thing.name, cells)).toThrow(/Broken assumption/);
  expect(sandbox.store.count(thing.name)).toBe(1);
});

test('renames tables and columns, also by case alone, and keeps ids, aliases and rows', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing, { name: 'Other', columns: [] }] });
  const { store } = sandbox;
  const { id, alias } = store.table(thing.name);

  store.renameTable(thing.name, 'thing');
  store.renameTable('thing', 'Thing');
  store.renameColumn('Thing', 'A b', 'title');
  store.renameColumn('Thing', 'title', 'TITLE');
  store.renameTable('Other', 'THING');

  expect(store.table('Thing')).toMatchObject({ id, alias });
  expect(look(sandbox, 'SELECT "TITLE" FROM "Thing"')).toEqual([{ TITLE: 'x' }]);
  expect(JSON.parse((await call(sandbox, 'Thing/select.json?column=TITLE')).text)).toMatchObject([{ TITLE: 'x' }]);
  expect(store.table('THING').id).not.toBe(id);
});

test('swaps the names of two columns', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'T',
        columns: [
          { name: 'A', type: 'Text' },
          { name: 'B', type: 'Text' },
        ],
        rows: [{ A: '1', B: '2' }],
      },
    ],
  });

  sandbox.store.change(() => {
    sandbox.store.renameColumn('T', 'A', 'C');
    sandbox.store.renameColumn('T', 'B', 'A');
    sandbox.store.renameColumn('T', 'C', 'B');
  });

  expect(sandbox.store.rows('T')[0]?.values).toMatchObject({ A: '2', B: '1' });
});

test('adds, drops and retypes columns and tables', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });
  const { store } = sandbox;

  store.addColumn(thing.name, { name: 'Extra', type: 'Numeric', defaultValue: '1.50' });
  store.changeColumn(thing.name, 'N', { type: 'Text', options: ['Unique'], width: 9 });
  store.changeColumn(thing.name, 'A b', { type: 'Numeric' });
  store.dropColumn(thing.name, 'C');
  store.addTable({ name: 'New', columns: [{ name: 'X', type: 'Location' }], rows: [{ X: '1,2' }] });
  store.addTable({ name: 'Gone', columns: [] });
  store.dropTable('Gone');

  expect(store.rows(thing.name)[0]?.values).toMatchObject({ Extra: 1.5, N: '7', 'A b': null });
  expect(store.table(thing.name).columns.find(({ name }) => name === 'N')).toMatchObject({
    type: 'Text',
    options: ['Unique'],
    width: 9,
  });
  expect(store.table(thing.name).columns.map(({ name }) => name)).not.toContain('C');
  expect(JSON.parse((await call(sandbox, 'New/select.json?column=X')).text)).toMatchObject([{ X: '1,2' }]);
  expect(store.catalog.tables.map(({ name }) => name)).toEqual([thing.name, 'New']);
});

test('takes the default of a column along to another type', async () => {
  const columns = [
    { name: 'Was Text', type: 'Text', defaultValue: 'none' },
    { name: 'Was Number', type: 'Numeric', defaultValue: 5 },
    { name: 'Digits', type: 'Text', defaultValue: '7' },
  ];
  await using sandbox = await startTestSandbox({ tables: [{ name: 'T', columns }] });
  sandbox.store.changeColumn('T', 'Was Text', { type: 'Numeric' });
  sandbox.store.changeColumn('T', 'Was Number', { type: 'Text' });
  sandbox.store.changeColumn('T', 'Digits', { type: 'Numeric' });

  sandbox.store.insert('T', {});

  expect(sandbox.store.rows('T')[0]?.values).toMatchObject({ 'Was Text': null, 'Was Number': '5', Digits: 7 });
});

test('drops computed columns together with what they look at', async () => {
  const lookup = { how: 'lookup', reference: 'P', table: 'Parent', column: 'Name' } as const;
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'Parent',
        columns: [
          { name: 'Name', type: 'Text' },
          { name: 'Full', type: 'Text', computed: { how: 'join', columns: ['Name'] } },
        ],
      },
      {
        name: 'Child',
        columns: [
          { name: 'P', type: 'Text' },
          { name: 'P Name', type: 'Text', computed: lookup },
        ],
        rows: [{}],
      },
      {
        name: 'Pet',
        columns: [
          { name: 'P', type: 'Text' },
          { name: 'P Name', type: 'Text', computed: lookup },
        ],
        rows: [{}],
      },
    ],
  });
  const names = (table: string): readonly string[] => sandbox.store.table(table).columns.map(({ name }) => name);

  sandbox.store.dropColumn('Child', 'P');
  sandbox.store.dropColumn('Parent', 'Name');
  sandbox.store.addColumn('Pet', { name: 'P Id', type: 'Text', computed: { ...lookup, column: 'Id' } });
  sandbox.store.dropTable('Parent');

  expect(names('Child')).not.toContain('P Name');
  expect(names('Pet')).not.toContain('P Name');
  expect(names('Pet')).not.toContain('P Id');
  expect(await call(sandbox, 'Pet/select.json')).toMatchObject({ status: 200 });
});

test('refuses to retype a column that a computed one reads', async () => {
  const computed = { how: 'join', columns: ['A'] } as const;
  const columns = [
    { name: 'A', type: 'Text' },
    { name: 'Joined', type: 'Text', computed },
  ];
  await using sandbox = await startTestSandbox({ tables: [{ name: 'T', columns }] });

  expect(() => sandbox.store.changeColumn('T', 'A', { type: 'Numeric' })).toThrow('keeps its type');
  sandbox.store.changeColumn('T', 'A', { width: 3 });
  expect(sandbox.store.table('T').columns.find(({ name }) => name === 'A')).toMatchObject({ type: 'Text', width: 3 });
});

test('refuses to drop the key', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  expect(() => sandbox.store.dropColumn(thing.name, 'Id')).toThrow(/key column stays/);
});

test('turns its user into another one without new credentials', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  sandbox.store.changeUser({ id: 99, email: 'new@example.com', role: 'Staff', timezone: 'UTC' });

  const answer = await call(sandbox, 'user.json');
  expect(JSON.parse(answer.text)).toMatchObject({ id: 99, email: 'new@example.com', role: 'Staff', timezone: 'UTC' });
});

test('serves sixty columns', async () => {
  const columns = Array.from({ length: 60 }, (_, index) => ({ name: `Column ${index}`, type: 'Text' }));
  const cells = Object.fromEntries(columns.map(({ name }, index) => [name, `v${index}`]));
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Wide', columns, rows: [cells] }] });

  expect(JSON.parse((await call(sandbox, 'Wide/select.json')).text)).toMatchObject([cells]);
});
