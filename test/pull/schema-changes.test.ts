/** What is told of changes in the tables and columns of the origin: each once. */
import { expect, test } from 'vitest';
import { columnChanges, schemaChangeText, tableChanges } from '../../src/pull/schema-changes.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { startFixture } from '../support/replica.ts';

const known = (id: number, name: string, isDescribed = true) => ({ id, name, isDescribed });

test.each([
  { what: 'the first look', before: [], now: [known(1, 'A')], texts: [] },
  { what: 'nothing', before: [known(1, 'A')], now: [known(1, 'A')], texts: [] },
  {
    what: 'a new table',
    before: [known(1, 'A')],
    now: [known(1, 'A'), known(2, 'B')],
    texts: ['B: a new table of the origin'],
  },
  {
    what: 'a rename',
    before: [known(1, 'A')],
    now: [known(1, 'B')],
    texts: ['B: the origin renamed the table, which was called A'],
  },
  {
    what: 'a table that is gone',
    before: [known(1, 'A'), known(2, 'B')],
    now: [known(1, 'A')],
    texts: ['B: the origin no longer shows the table'],
  },
  {
    what: 'a table that was gone already',
    before: [known(1, 'A'), known(2, 'B', false)],
    now: [known(1, 'A')],
    texts: [],
  },
  {
    what: 'a table that is back under another name',
    before: [known(1, 'A', false)],
    now: [known(1, 'B')],
    texts: ['B: the origin shows the table again', 'B: the origin renamed the table, which was called A'],
  },
])('tables: $what', ({ before, now, texts }) => {
  expect(tableChanges(before, now).map(schemaChangeText)).toEqual(texts);
});

const column = (id: number, name: string, state: 'live' | 'removed' | 'aside' = 'live') => ({
  id,
  name,
  type: 'Text' as const,
  state,
});

test.each([
  { what: 'a table that had none', before: [], now: [column(1, 'A')], texts: [] },
  {
    what: 'a new one',
    before: [column(1, 'A')],
    now: [column(1, 'A'), column(2, 'B')],
    texts: ['T.B: a new column of the origin'],
  },
  {
    what: 'a rename',
    before: [column(1, 'A')],
    now: [column(1, 'B')],
    texts: ['T.B: the origin renamed the column, which was called A'],
  },
  {
    what: 'one that is gone',
    before: [column(1, 'A'), column(2, 'B')],
    now: [column(1, 'A')],
    texts: ['T.B: the origin no longer shows the column'],
  },
  { what: 'one that was gone', before: [column(1, 'A'), column(2, 'B', 'removed')], now: [column(1, 'A')], texts: [] },
  {
    what: 'one that is back',
    before: [column(1, 'A', 'removed')],
    now: [column(1, 'A')],
    texts: ['T.A: the origin shows the column again'],
  },
  {
    what: 'another type',
    before: [column(1, 'A', 'aside'), column(1, 'A')],
    now: [{ ...column(1, 'A'), type: 'Numeric' }],
    texts: ['T.A: the origin changed the type of the column from Text to Numeric'],
  },
])('columns: $what', ({ before, now, texts }) => {
  expect(columnChanges('T', before, now, new Set()).map(schemaChangeText)).toEqual(texts);
});

const goods = (name: string): TableSpec => ({
  name,
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Price', type: 'Numeric' },
  ],
  rows: [{ Title: 'a', Price: 1 }],
  systemColumns: false,
});

test('a pull tells what it saw change, and the next one does not', async () => {
  await using fixture = await startFixture({ tables: [goods('Good'), goods('Other'), goods('Third')] });
  const { store } = fixture.sandbox;
  const first = await fixture.pull();
  store.renameColumn('Good', 'Title', 'Name');
  store.addColumn('Good', { name: 'Stock', type: 'Numeric' });
  store.renameTable('Other', 'Another');
  store.dropTable('Third');

  const reports = [await fixture.pull(), await fixture.pull()];

  expect([first, ...reports].map(({ schemaChanges }) => schemaChanges.toSorted())).toEqual([
    [],
    [
      'Another: the origin renamed the table, which was called Other',
      'Good.Name: the origin renamed the column, which was called Title',
      'Good.Stock: a new column of the origin',
      'Third: the origin no longer shows the table',
    ],
    [],
  ]);
});
