/** What is kept of columns: as the origin describes them, in their order, under numbers that no other column gets. */
import { expect, test } from 'vitest';
import {
  areRulesChanged,
  describeColumns,
  forgetColumnLine,
  readColumns,
  storeColumnName,
  storeColumnState,
  storeNewColumns,
  type ColumnRecord,
} from '../../../src/replica/bookkeeping/columns.ts';
import { storeBatch } from '../../../src/replica/bookkeeping/batches.ts';
import type { ColumnDescriptor } from '../../../src/wire/schema.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

function column(name: string, position: number, change: Partial<ColumnDescriptor> = {}) {
  return { descriptor: described(name, 'Text', { id: position + 1, ...change }), localName: name, position };
}

/** The columns of Note in short. */
function names({ replica }: Bare): readonly string[] {
  return readColumns(replica, 1).map(({ localName, state }) => `${localName} ${state}`);
}

function seqOf({ replica }: Bare, name: string): number {
  return readColumns(replica, 1).find(({ localName }) => localName === name)?.seq ?? 0;
}

test('a column is read as it was described', async () => {
  await using bare = await openBare([]);
  const descriptor = described('Price', 'Numeric', {
    id: 7,
    alias: 'f_1',
    width: 12,
    dataOptions: ['Required', 'Unique'],
    kind: 'Key',
    readOnly: true,
    mask: { kind: 'hash', pattern: 'Pri*' } as never,
  });

  await bare.write((tx) => storeNewColumns(tx, 1, [{ descriptor, localName: 'price', position: 3 }], AT));

  expect(readColumns(bare.replica, 1)).toEqual([
    {
      seq: 1,
      id: 7,
      name: 'Price',
      alias: 'f_1',
      localName: 'price',
      type: 'Numeric',
      spelling: 'Numeric',
      state: 'live',
      writable: false,
      width: 12,
      options: 'Required, Unique',
      kind: 'Key',
      position: 3,
      mask: { kind: 'hash', pattern: 'Pri*' },
    },
  ]);
  expect(bare.rows('SELECT stored_as, writable, mask, since FROM sync_columns')).toEqual([
    { stored_as: 'ANY', writable: 0, mask: 'hash', since: AT },
  ]);
});

test('an autonumber that may be written counts as read-only in the view, since no edit changes it', async () => {
  await using bare = await openBare([described('Id', 'Autonumber'), described('Title')]);

  expect(bare.rows('SELECT "column", writable FROM sync_columns ORDER BY origin_id')).toEqual([
    { column: 'Id', writable: 0 },
    { column: 'Title', writable: 1 },
  ]);
  expect(readColumns(bare.replica, 1)[0]?.writable).toBe(true);
});

test('columns come in the order of the origin, also those that it no longer describes', async () => {
  await using bare = await openBare([described('A'), described('B'), described('C')]);
  await bare.write((tx) => {
    describeColumns(tx, 1, [column('A', 2, { id: 1 }), column('B', 1, { id: 2 }), column('C', 0, { id: 3 })]);
    storeColumnState(tx, seqOf(bare, 'B'), 'removed', '2026-12-01T00:00:00Z');
  });

  expect(names(bare)).toEqual(['C live', 'B removed', 'A live']);
  expect(bare.rows(`SELECT since FROM sync_columns WHERE state = 'removed'`)).toEqual([
    { since: '2026-12-01T00:00:00Z' },
  ]);
});

test('a new description changes a live column, and none that was removed or is of another table', async () => {
  await using bare = await openBare([described('A'), described('B')]);
  await bare.makeTable(2, 'Task', [described('A')]);
  await bare.write((tx) => {
    storeColumnState(tx, seqOf(bare, 'B'), 'removed', AT);
    describeColumns(tx, 1, [column('A', 0, { name: 'Alpha', width: 5 }), column('B', 1, { name: 'Beta', width: 5 })]);
  });

  expect(readColumns(bare.replica, 1).map(({ name, width }) => [name, width])).toEqual([
    ['Alpha', 5],
    ['B', null],
  ]);
  expect(readColumns(bare.replica, 2).map(({ name, width }) => [name, width])).toEqual([['A', null]]);
});

test('the same array comes back while nothing changes, and another one once another client changes a line', async () => {
  await using bare = await openBare([described('A')]);
  const before = readColumns(bare.replica, 1);
  await bare.write((tx) => describeColumns(tx, 1, [column('A', 0)]));
  expect(readColumns(bare.replica, 1)).toBe(before);

  bare.execute(`INSERT INTO "Note" ("A") VALUES ('x')`);
  expect(readColumns(bare.replica, 1)).toBe(before);
  bare.execute(`UPDATE _rowsync_columns SET name = 'Alpha'`);

  expect(readColumns(bare.replica, 1).map(({ name }) => name)).toEqual(['Alpha']);
});

test('a name here changes by itself, and a line that is forgotten leaves the others', async () => {
  await using bare = await openBare([described('A'), described('B')]);

  await bare.write((tx) => {
    storeColumnName(tx, seqOf(bare, 'A'), 'a_1');
    forgetColumnLine(tx, seqOf(bare, 'B'));
  });

  expect(names(bare)).toEqual(['a_1 live']);
});

test.each<readonly [string, (bare: Bare, seq: number) => Promise<unknown>]>([
  [
    'a conflict',
    async (bare, seq) =>
      bare.execute(`INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, column_seq, winner, at, state)
        VALUES (1, 'Note', 1, 'cell', ${seq}, 'origin', '${AT}', 'decided')`),
  ],
  [
    'the history',
    async (bare, seq) =>
      bare.execute(`INSERT INTO _rowsync_history_names (table_id, column_seq, name) VALUES (1, ${seq}, 'B (pruned)')`),
  ],
  [
    'a batch on its way',
    (bare, seq) =>
      bare.write((tx) =>
        storeBatch(
          tx,
          { id: 1, columns: [{ seq, name: 'B', localName: 'B' }] },
          {
            method: 'update',
            sentAt: AT,
            rows: [{ id: 1, kind: 'update', cells: [{ column: 0, value: 'x' }], answer: null }],
          },
        ),
      ),
  ],
])('the number of a column that is gone is not given again while %s names it', async (_what, keep) => {
  await using bare = await openBare([described('A'), described('B')]);
  const seq = seqOf(bare, 'B');
  await keep(bare, seq);
  await bare.write((tx) => forgetColumnLine(tx, seq));

  await bare.write((tx) => storeNewColumns(tx, 1, [column('C', 1), column('D', 2)], AT));

  expect([seqOf(bare, 'C'), seqOf(bare, 'D')]).toEqual([seq + 1, seq + 2]);
});

test.each<readonly [string, Partial<ColumnRecord>, boolean]>([
  ['another width', { width: 3 }, true],
  ['another option', { options: 'Required' }, true],
  ['another right', { writable: false }, true],
  ['another name', { name: 'Other', alias: 'f_9', position: 8 }, false],
  ['nothing', {}, false],
])('%s: whether the origin takes other values', async (_what, change, expected) => {
  await using bare = await openBare([described('A'), described('B')]);
  const known = readColumns(bare.replica, 1);

  expect(
    areRulesChanged(
      known,
      known.map((each, index) => (index === 1 ? { ...each, ...change } : each)),
    ),
  ).toBe(expected);
  // A column that is new has no former rule.
  expect(areRulesChanged(known.slice(1), known)).toBe(false);
});
