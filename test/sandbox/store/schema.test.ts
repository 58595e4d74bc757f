import { expect, test } from 'vitest';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';
import { look, thing } from './thing.ts';

test('goes on counting when the schema changes in the middle of a transaction', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  sandbox.store.change(() => {
    sandbox.store.insert(thing.name, {});
    sandbox.store.addColumn(thing.name, { name: 'New', type: 'Text' });
    sandbox.store.insert(thing.name, { New: 'x' });
  });

  expect(sandbox.store.rows(thing.name).map(({ values }) => values['Id'])).toEqual(['1', '2', '3']);
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
