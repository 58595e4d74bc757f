/** What differs from the base is found row by row, whatever triggers saw; values count by their bytes. */
import { expect, test } from 'vitest';
import {
  areMarksReliable,
  dropEqualMarks,
  markDiffering,
  readAsSent,
  readDifferingIds,
  readForeignIds,
  readStrayIds,
  readVersions,
} from '../../src/replica/base-comparison.ts';
import { storeRowStates } from '../../src/replica/bookkeeping/row-states.ts';
import type { BatchRow } from '../../src/reconcile/push-settle.ts';
import type { Value } from '../../src/wire/schema.ts';
import { described, openBare, type Bare } from '../support/bare.ts';
import { AT } from '../support/two-way.ts';

/**
 * Note with these rows, here and in the base:
 *
 *    1 equal · 2 edited · 3 another right · 4 deleted here · 5 another spelling of a number · -2 new · 7 put here by
 *      another program
 */
async function start(): Promise<Bare> {
  const bare = await openBare([described('Title'), described('Count', 'Numeric')], { isTwoWay: true });
  bare.execute(`
    INSERT INTO _rowsync_base_1 VALUES (1, 'Edit', 'a', 1), (2, 'Edit', 'b', 1), (3, 'Edit', 'c', 1), (4, 'Edit', 'd', 1), (5, 'Edit', 'e', 1);
    INSERT INTO "Note" VALUES (1, 'Edit', 'a', 1), (2, 'Edit', 'B', 1), (3, NULL, 'c', 1), (5, 'Edit', 'e', '1.0'), (-2, NULL, 'new', NULL),
      (7, NULL, 'theirs', NULL)`);
  return bare;
}

const ALL = [-2, 1, 2, 3, 4, 5, 7, 99];
const marks = (bare: Bare): unknown[] => bare.lines('SELECT row_id, state FROM _rowsync_rows ORDER BY row_id');

function mark(bare: Bare, ids: readonly number[], state = 'edited'): Promise<void> {
  return bare.write((tx) => storeRowStates(tx, 1, ids, { state, at: AT }));
}

test('rows differ that are in one table only, or have another byte in any column; one that is in neither does not', async () => {
  await using bare = await start();

  expect(readDifferingIds(bare.replica, bare.target(), ALL)).toEqual([-2, 2, 3, 4, 5, 7]);
  expect(readDifferingIds(bare.replica, bare.target(), [1, 4])).toEqual([4]);
});

test('a row without any value differs where it is in one table only', async () => {
  await using bare = await start();
  bare.execute('INSERT INTO "Note" (_id) VALUES (50), (52); INSERT INTO _rowsync_base_1 (_id) VALUES (51), (52)');

  expect(readDifferingIds(bare.replica, bare.target(), [50, 51, 52])).toEqual([50, 51]);
});

test('both versions of a row are read, null where it is missing, in the order of the ids', async () => {
  await using bare = await start();
  const row = (id: number, title: string, count: Value, allow: string | null = 'Edit') => ({
    id,
    allow,
    values: [title, count],
  });

  expect(readVersions(bare.replica, bare.target(), [4, -2, 5, 99])).toEqual([
    { id: 4, base: row(4, 'd', 1), local: null },
    { id: -2, base: null, local: row(-2, 'new', null, null) },
    { id: 5, base: row(5, 'e', 1), local: row(5, 'e', 1) },
    { id: 99, base: null, local: null },
  ]);
  const known = new Map([[1, row(1, 'read before', 9)]]);
  expect(readVersions(bare.replica, bare.target(), [1], known)).toEqual([
    { id: 1, base: row(1, 'read before', 9), local: row(1, 'a', 1) },
  ]);
});

test('every row that differs gets a mark, and one that has a mark keeps it', async () => {
  await using bare = await start();
  await mark(bare, [2], 'refused');

  expect(await bare.write((tx) => markDiffering(tx, bare.target(), AT))).toBe(5);

  expect(marks(bare)).toEqual([
    [-2, 'edited'],
    [2, 'refused'],
    [3, 'edited'],
    [4, 'edited'],
    [5, 'edited'],
    [7, 'edited'],
  ]);
});

test('marks of the given states go where nothing differs, or the row is nowhere; those of other states and tables stay', async () => {
  await using bare = await start();
  await mark(bare, [1, 2, 4, 99]);
  await mark(bare, [98], 'sending');
  bare.execute(`INSERT INTO _rowsync_rows VALUES (2, 1, 'edited', 0)`);

  await bare.write((tx) => dropEqualMarks(tx, bare.target(), ['edited', 'refused']));

  expect(bare.lines('SELECT table_id, row_id, state FROM _rowsync_rows ORDER BY 1, 2')).toEqual([
    [1, 2, 'edited'],
    [1, 4, 'edited'],
    [1, 98, 'sending'],
    [2, 1, 'edited'],
  ]);
});

test('rows that the origin does not know are foreign under an id that is none of ours', async () => {
  await using bare = await start();
  bare.execute(`INSERT INTO "Note" (_id) VALUES (-1), (0), (8)`);
  await mark(bare, [-2, -1, 0, 1, 4, 7]);

  expect([...readForeignIds(bare.replica, bare.target())].toSorted((a, b) => a - b)).toEqual([-1, 0, 7]);
  // Without a mark they are found by their ids.
  expect(readStrayIds(bare.replica, bare.target(), [1, 4, 7, 8, 99])).toEqual([7, 8]);
});

function sent(
  id: number,
  ...cells: readonly (readonly [column: number, value: Value])[]
): Pick<BatchRow, 'id' | 'cells'> {
  return { id, cells: cells.map(([column, value]) => ({ column, value })) };
}

test('a row is as it was sent if its sent cells have these values, and the others those of the base', async () => {
  await using bare = await start();
  const asSent = (...rows: Parameters<typeof readAsSent>[2]): unknown =>
    readAsSent(bare.replica, bare.target(), rows).ids;

  expect(asSent(sent(2, [0, 'B']), sent(5, [1, 1]))).toEqual([2, 5]);
  expect(asSent(sent(2, [0, 'another'])), 'edited since').toEqual([]);
  expect(asSent(sent(2, [1, 1])), 'a cell that was not sent is edited').toEqual([]);
  expect(asSent(sent(3, [0, 'c'])), 'its right changed').toEqual([]);
  expect(asSent(sent(4, [0, 'd'])), 'deleted since').toEqual([]);
  expect(asSent(sent(7, [0, 'theirs'])), 'without a base').toEqual([]);
  // What another row of the batch sent must be as the base here.
  expect(asSent(sent(1), sent(2, [0, 'B']))).toEqual([1, 2]);
  expect(asSent(sent(1, [0, 'a']), sent(2, [1, 1]))).toEqual([1]);
  expect(readAsSent(bare.replica, bare.target(), [sent(2, [0, 'B']), sent(1, [1, 1])]).columns).toEqual(
    new Set([0, 1]),
  );
});

test('no row counts as it was sent where more columns were sent than one SELECT can compare', async () => {
  const columns = Array.from({ length: 1_000 }, (_, index) => described(`C${index}`));
  await using bare = await openBare(columns, { isTwoWay: true });
  bare.execute('INSERT INTO "Note" (_id) VALUES (1); INSERT INTO _rowsync_base_1 (_id) VALUES (1)');
  const cells = columns.map((_column, index) => [index, null] as const);
  const asSent = (count: number): unknown =>
    readAsSent(bare.replica, bare.target(), [sent(1, ...cells.slice(0, count))]).ids;

  expect([asSent(999), asSent(1_000)]).toEqual([[1], []]);
});

test.each([
  ['no index', '', true],
  ['an index', 'CREATE INDEX mine ON "Note" ("Title")', true],
  ['a unique index', 'CREATE UNIQUE INDEX mine ON "Note" ("Title")', false],
])('with %s, whether every edit has a mark', async (_what, statement, expected) => {
  await using bare = await start();
  bare.execute(statement);

  expect(areMarksReliable(bare.replica, bare.target())).toBe(expected);
});
