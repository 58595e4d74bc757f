/** What is on its way is kept with every digit, and stays about its columns through renames. */
import { expect, test } from 'vitest';
import {
  forgetBatches,
  readBatches,
  readBatchTables,
  storeBatch,
  updateBatch,
} from '../../../src/replica/bookkeeping/batches.ts';
import { readColumns } from '../../../src/replica/bookkeeping/columns.ts';
import type { BatchRow } from '../../../src/reconcile/push-settle.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const FILE = { name: 'a.txt', path: '/a.txt', type: 'text/plain', bytes: 3, sha256: 'abc', before: null };
const ROWS: readonly BatchRow[] = [
  {
    id: -2,
    kind: 'insert',
    cells: [
      { column: 0, value: 'it’s "new"' },
      { column: 1, value: 2n ** 62n },
      { column: 2, value: true },
    ],
    answer: null,
  },
  { id: 3, kind: 'update', cells: [{ column: 0, value: null, file: FILE }], answer: null },
  { id: 4, kind: 'delete', cells: [], answer: null },
];

const COLUMNS = [described('A'), described('B', 'Numeric'), described('C', 'Checkbox')];

function table({ replica }: Bare, id = 1) {
  return { id, columns: readColumns(replica, id) };
}

test('a batch comes back as it was stored', async () => {
  await using bare = await openBare(COLUMNS);

  const ids = await bare.write((tx) => [
    storeBatch(tx, table(bare), { method: 'upsert', sentAt: AT, rows: ROWS }),
    storeBatch(tx, table(bare), { method: 'delete', sentAt: AT, rows: [] }),
  ]);

  expect(readBatches(bare.replica, table(bare))).toEqual([
    { id: ids[0], method: 'upsert', sentAt: AT, rows: ROWS },
    { id: ids[1], method: 'delete', sentAt: AT, rows: [] },
  ]);
  expect(readBatchTables(bare.replica)).toEqual([1]);
});

test('its cells are found by the number of their column: two columns that swap their places keep their values', async () => {
  await using bare = await openBare(COLUMNS);
  await bare.write((tx) => storeBatch(tx, table(bare), { method: 'upsert', sentAt: AT, rows: ROWS }));
  const [a, b, c] = readColumns(bare.replica, 1);
  const swapped = { id: 1, columns: [b, a, c].filter((column) => column !== undefined) };

  const [batch] = readBatches(bare.replica, swapped);

  expect(batch?.rows[0]?.cells.map(({ column, value }) => [column, value])).toEqual([
    [1, 'it’s "new"'],
    [0, 2n ** 62n],
    [2, true],
  ]);
});

test('answers are kept with their rows, and those that prove nothing are left out', async () => {
  await using bare = await openBare(COLUMNS);
  const [first, second] = ROWS;
  const rows = [
    { ...first, answer: { as: 'accepted', id: 9, refusal: null } },
    { ...second, answer: { as: 'lost', id: null, refusal: null } },
  ] as BatchRow[];
  await bare.write((tx) => {
    const id = storeBatch(tx, table(bare), { method: 'upsert', sentAt: AT, rows: ROWS });
    updateBatch(tx, table(bare), id, rows);
  });
  const kept = (): unknown => readBatches(bare.replica, table(bare))[0]?.rows.map(({ id, answer }) => [id, answer]);

  const before = kept();
  bare.execute(`UPDATE _rowsync_batches SET rows = replace(rows, '"accepted"', '"what an earlier version said"')`);

  expect(before).toEqual([
    [-2, { as: 'accepted', id: 9, refusal: null }],
    [3, null],
  ]);
  expect(kept()).toEqual([
    [-2, null],
    [3, null],
  ]);
});

test('a batch goes with the last of its rows, and those of another table stay', async () => {
  await using bare = await openBare(COLUMNS);
  await bare.makeTable(2, 'Task', COLUMNS);
  const store = { method: 'update', sentAt: AT, rows: ROWS } as const;
  const [one, other] = await bare.write((tx) => [
    storeBatch(tx, table(bare), store),
    storeBatch(tx, table(bare), store),
    storeBatch(tx, table(bare, 2), store),
  ]);
  await bare.write((tx) => updateBatch(tx, table(bare), one ?? 0, []));
  expect(readBatches(bare.replica, table(bare)).map(({ id }) => id)).toEqual([other]);

  await bare.write((tx) => forgetBatches(tx, 1));

  expect(readBatchTables(bare.replica)).toEqual([2]);
});

test('the number of a batch is not given again: what is known of the earlier one must not meet the next', async () => {
  await using bare = await openBare(COLUMNS);
  const store = () => bare.write((tx) => storeBatch(tx, table(bare), { method: 'create', sentAt: AT, rows: ROWS }));
  const first = await store();
  await bare.write((tx) => forgetBatches(tx, 1));

  expect(await store()).toBe(first + 1);
});
