/** Every delete leaves the last values of its row, also if a row of that id was deleted before. */
import { expect, test } from 'vitest';
import { storeDeleted, storeLastValues } from '../../../src/replica/bookkeeping/deleted-rows.ts';
import { openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const LATER = '2026-11-22T12:00:00Z';

async function start(): Promise<Bare> {
  const bare = await openBare();
  await bare.write((tx) => {
    storeDeleted(tx, bare.target(), { id: 5, values: '{"Count":9007199254740993}' }, { reason: 'origin', at: AT });
    storeDeleted(tx, bare.target(), { id: 5, values: '{"Count":2}' }, { reason: 'filtered', at: LATER });
  });
  return bare;
}

test('each delete of a row is kept, under the name that its table had', async () => {
  await using bare = await start();
  bare.execute(`UPDATE _rowsync_tables SET local_name = 'Letter'`);

  expect(bare.lines('SELECT * FROM sync_deleted ORDER BY id')).toEqual([
    [1, 'Note', 5, AT, 'origin', '{"Count":9007199254740993}'],
    [2, 'Note', 5, LATER, 'filtered', '{"Count":2}'],
  ]);
});

test('the values of one delete are replaced, and no others', async () => {
  await using bare = await start();

  await bare.write((tx) => storeLastValues(tx, 2, '{"count":2}'));

  expect(bare.lines('SELECT last_values FROM sync_deleted ORDER BY id')).toEqual([
    ['{"Count":9007199254740993}'],
    ['{"count":2}'],
  ]);
});
