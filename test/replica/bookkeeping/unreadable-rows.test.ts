/** Rows that cannot be read are kept with the reason until their page can be read, or they are gone. */
import { expect, test } from 'vitest';
import {
  countUnreadable,
  forgetUnreadable,
  storeUnreadable,
} from '../../../src/replica/bookkeeping/unreadable-rows.ts';
import { openBare, type Bare } from '../../support/bare.ts';

const FIRST = '2026-11-21T12:00:00Z';
const LATER = '2026-11-22T12:00:00Z';
const DONE = { column: 'Done', reason: 'no truth value' };

function store(
  bare: Bare,
  ids: readonly number[],
  unreadable: readonly { id: number; column: string; reason: string }[],
  at = FIRST,
) {
  return bare.write((tx) => storeUnreadable(tx, 1, { ids, unreadable }, at));
}

function lines(bare: Bare): unknown[] {
  return bare.lines(
    'SELECT row_id, column_name, reason, since FROM _rowsync_unreadable WHERE table_id = 1 ORDER BY row_id',
  );
}

test('a page clears the rows on it that can be read now, and no others', async () => {
  await using bare = await openBare();
  await store(
    bare,
    [1, 2, 3],
    [1, 2, 3].map((id) => ({ id, ...DONE })),
  );
  bare.execute(`INSERT INTO _rowsync_unreadable VALUES (2, 1, 'Done', 'of another table', '${FIRST}')`);

  await store(bare, [1, 2, 4], [{ id: 2, ...DONE }]);

  expect(lines(bare)).toEqual([
    [2, 'Done', 'no truth value', FIRST],
    [3, 'Done', 'no truth value', FIRST],
  ]);
  expect([countUnreadable(bare.replica, 1), countUnreadable(bare.replica, 2)]).toEqual([2, 1]);
});

test('a row that fails in another column says so, and keeps the time since which it cannot be read', async () => {
  await using bare = await openBare();
  await store(bare, [1], [{ id: 1, ...DONE }]);

  await store(bare, [1], [{ id: 1, column: 'Due', reason: 'no date' }], LATER);

  expect(lines(bare)).toEqual([[1, 'Due', 'no date', FIRST]]);
});

test('a row that is gone is no failure any more', async () => {
  await using bare = await openBare();
  await store(
    bare,
    [1, 2],
    [1, 2].map((id) => ({ id, ...DONE })),
  );

  await bare.write((tx) => forgetUnreadable(tx, 1, '[1,9]'));

  expect(lines(bare)).toEqual([[2, 'Done', 'no truth value', FIRST]]);
});
