/** Reading with statements that were made elsewhere: no digit and no byte is lost, and blocks have every item once. */
import { expect, test } from 'vitest';
import { sql } from '../../src/base/sql.ts';
import {
  BLOCK_ROWS,
  blocks,
  blocksAbove,
  queryAny,
  queryFirst,
  queryNumber,
  queryNumbers,
  queryRows,
  queryText,
  queryTexts,
  readRawText,
  withFlags,
} from '../../src/replica/query.ts';
import { described, openBare } from '../support/bare.ts';

test('rows keep every digit of an integer, and the order of their columns', async () => {
  await using bare = await openBare();

  const rows = queryRows(bare.replica, sql`SELECT 9007199254740993, 1.5, 'a', NULL WHERE 1 = ?`, [1]);

  expect(rows).toStrictEqual([[9007199254740993n, 1.5, 'a', null]]);
});

test('the first column is a number or a text, and where there is no row, null or false says so', async () => {
  await using bare = await openBare();
  const { replica } = bare;

  expect(queryNumbers(replica, sql`SELECT 3 UNION ALL SELECT 1 + @more`, [{ more: 1 }])).toStrictEqual([3, 2]);
  expect(queryNumber(replica, sql`SELECT count(*) FROM _rowsync_tables`)).toBe(1);
  expect(queryTexts(replica, sql`SELECT name FROM _rowsync_tables`)).toEqual(['Note']);
  expect(queryText(replica, sql`SELECT name FROM _rowsync_tables`)).toBe('Note');
  expect(queryText(replica, sql`SELECT NULL`)).toBeNull();
  expect(queryText(replica, sql`SELECT name FROM _rowsync_tables WHERE 0`)).toBeNull();
  expect(queryFirst(replica, sql`SELECT 1 AS one WHERE 0`)).toBeNull();
  expect([queryAny(replica, sql`SELECT NULL`), queryAny(replica, sql`SELECT 1 WHERE 0`)]).toEqual([true, false]);
});

test('flags are true for 1 only, and the other columns stay as they are', () => {
  expect(withFlags({ id: 1, isOpen: 1, isDue: 0, isKnown: null }, 'isOpen', 'isDue', 'isKnown')).toEqual({
    id: 1,
    isOpen: true,
    isDue: false,
    isKnown: false,
  });
});

test('a text that is no UTF-8 gives its bytes; one that contains U+FFFD itself, or none, gives nothing', async () => {
  await using bare = await openBare([described('Title')]);
  bare.execute(
    `INSERT INTO "Note" (_id, "Title") VALUES (1, CAST(x'636166E9' AS TEXT)), (2, 'a\uFFFDb'), (3, 'plain')`,
  );
  const titles = bare.rows('SELECT "Title" AS title FROM "Note" ORDER BY _id') as { title: string }[];

  const raw = titles.map(({ title }, index) =>
    readRawText(bare.replica, title, { tableName: 'Note', name: 'Title', id: index + 1 }),
  );

  expect(raw).toEqual(['636166e9', null, null]);
  expect(readRawText(bare.replica, 5, { tableName: 'Note', name: 'Title', id: 1 })).toBeNull();
  expect(readRawText(bare.replica, '\uFFFD', { tableName: 'Note', name: 'Title', id: 99 })).toBeNull();
});

test.each([0, 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS])(
  '%d items are in blocks, each once, in order',
  (count) => {
    const items = Array.from({ length: count }, (_, index) => index);

    const found = [...blocks(items)];

    expect(found.flat()).toEqual(items);
    expect(found.every(({ length }) => length > 0 && length <= BLOCK_ROWS)).toBe(true);
  },
);

test('blocks above a number begin below every id, and end where nothing is left', () => {
  const ids = [-7, -2, 1, 5, 6];
  const asked: number[] = [];
  const read = (after: number): readonly { readonly id: number }[] => {
    asked.push(after);
    return ids
      .filter((id) => id > after)
      .slice(0, 2)
      .map((id) => ({ id }));
  };

  const found = [...blocksAbove(read, ({ id }) => id)];

  expect(found.map((block) => block.map(({ id }) => id))).toEqual([[-7, -2], [1, 5], [6]]);
  expect(asked).toEqual([Number.MIN_SAFE_INTEGER, -2, 5, 6]);
});
