/** What became of the rows that the origin listed. */
import { expect, test } from 'vitest';
import {
  discrepancyOf,
  pullAccount,
  sumOfAccounts,
  type ListedRows,
} from '../../../src/reconcile/account/pull-account.ts';

const ALL: ListedRows = { listed: 9, unreadable: 0, here: 9, kept: 0, strange: 0 };

test.each([
  ['every row is here', {}, { here: 9, missing: 0 }, null],
  ['two cannot be read', { here: 7, unreadable: 2 }, { here: 7, unreadable: 2, missing: 0 }, null],
  ['deletes are held', { kept: 3 }, { here: 9, kept: 3, missing: 0 }, null],
  ['one was lost', { here: 8 }, { missing: 1 }, '1 row of the 9 that the origin listed is missing here'],
  ['one was invented', { strange: 1 }, { strange: 1 }, '1 row here is not among the 9 that the origin listed'],
  [
    'both',
    { here: 7, strange: 2 },
    { missing: 2, strange: 2 },
    '2 rows of the 9 that the origin listed are missing here, and 2 rows here are not among the 9 that the origin listed',
  ],
])('the sum where %s', (_what, facts, columns, words) => {
  const account = pullAccount({ ...ALL, ...facts });

  expect(account).toMatchObject({ listed: 9, ...columns });
  expect(account.here + account.unreadable + account.missing).toBe(account.listed);
  expect(discrepancyOf(account)).toBe(words);
});

test('accounts of tables add up', () => {
  const account = pullAccount({ ...ALL, kept: 1 });

  expect(sumOfAccounts([account, account])).toEqual({
    listed: 18,
    here: 18,
    unreadable: 0,
    missing: 0,
    kept: 2,
    strange: 0,
  });
  expect(sumOfAccounts([])).toEqual({ listed: 0, here: 0, unreadable: 0, missing: 0, kept: 0, strange: 0 });
});
