import fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  accountOf,
  EDIT_FATES,
  fateOf,
  sumOfAccounts,
  type EditFacts,
  type EditFate,
} from '../../../src/reconcile/account/push-account.ts';
import type { ConflictWinner } from '../../../src/reconcile/merge.ts';
import { ROW_STATES } from '../../../src/reconcile/row-state.ts';

test.each<[EditFate, EditFacts['state'], number | null, readonly ConflictWinner[]]>([
  ['arrived', null, null, []],
  ['arrived', 'clean', 400, []],
  ['won', null, null, ['local']],
  ['lost', null, null, ['local', 'origin']],
  ['asked', 'conflicted', null, ['nobody']],
  ['refused', 'refused', 403, []],
  ['refused', 'refused', 0, ['local']],
  ['unsendable', 'refused', null, []],
  ['inDoubt', 'inDoubt', null, []],
  ['unsent', 'edited', 403, []],
  ['unsent', 'sending', null, []],
])('an edit counts as %s: its row is %s, status %s, winners %j', (fate, state, status, winners) => {
  expect(fateOf({ state, status, winners: new Set<string>(winners) })).toBe(fate);
});

test.each<[EditFacts['state'], number | null, number]>([
  ['refused', 0, 1],
  ['refused', 429, 1],
  ['refused', 503, 1],
  ['refused', 400, 0],
  ['refused', 403, 0],
  ['refused', null, 0],
  ['edited', 503, 0],
])('of an edit whose row is %s with the status %s, %s may pass by itself', (state, status, passing) => {
  expect(accountOf([{ state, status, winners: new Set() }], 'the origin is away').passing).toBe(passing);
});

test('the columns add up to the edits at the beginning, for one table and for several', () => {
  const edits = fc.array(
    fc.record({
      state: fc.constantFrom(...ROW_STATES, null),
      status: fc.constantFrom(null, 0, 400, 429, 503),
      winners: fc.subarray<ConflictWinner>(['origin', 'local', 'nobody']).map((winners) => new Set(winners)),
    }),
  );
  fc.assert(
    fc.property(fc.array(edits), (tables) => {
      const accounts = tables.map((table) => accountOf(table, 'the origin is away'));
      for (const account of [...accounts, sumOfAccounts(accounts)]) {
        expect(EDIT_FATES.reduce((sum, fate) => sum + account[fate], 0)).toBe(account.began);
        expect(account.passing).toBeLessThanOrEqual(account.refused);
        expect(account.unsentReason === null).toBe(account.unsent === 0);
      }
      expect(sumOfAccounts(accounts).began).toBe(tables.flat().length);
    }),
  );
});
