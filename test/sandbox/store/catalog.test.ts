import { expect, test } from 'vitest';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';
import { look, thing } from './thing.ts';

test('keeps every table under its own name with its columns', async () => {
  await using sandbox = await startTestSandbox({ tables: [thing] });

  expect(look(sandbox, 'SELECT _sandbox_row, "Id", "A b", "N", "C", "T" FROM "Big ""Thing"""')).toEqual([
    { _sandbox_row: 1n, Id: '1', 'A b': 'x', N: 7n, C: 1n, T: '2026-01-01T00:00:00Z' },
  ]);
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
